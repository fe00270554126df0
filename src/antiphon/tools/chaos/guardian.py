"""The guardian of a run's namespaces: waits for the end of its maker, then removes them.

Its standard input is a pipe that only the maker holds open, so its end is seen even if the
maker was killed.
"""

import sys

from antiphon.tools.chaos.namespaces import made_by, remove


def main() -> None:
    maker = int(sys.argv[1])
    sys.stdin.buffer.read()
    remove(made_by(maker))


if __name__ == "__main__":
    main()
