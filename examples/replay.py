"""A program that misses nothing: it reads the log of a kept group from where it last was.

    python examples/replay.py --connect 4803@localhost --state replay.offset

Needs a group that daemons keep; in their file:  [[retain]]  group = "orders"
Several addresses after --connect are tried until one can go on. With --say it sends an order first,
keyed, so that running it again does no harm. Ends with the log.
"""

import argparse
import sys
from pathlib import Path

from antiphon import LogGap, SessionError, blocking

GROUP = "orders"


def replay(address: str, state: Path) -> None:
    with blocking.connect(address) as session:
        log = session.log(GROUP)
        after = state.read_text() if state.exists() else str(log.earliest())
        for message in log.messages(after):
            print(f"{message.offset.sequence} {message.payload.decode()}", flush=True)
            # Having done with it: from here on another run goes on behind it, at any daemon.
            state.write_text(str(message.offset))


def say(address: str, texts: list[str]) -> None:
    with blocking.connect(address) as session:
        for number, text in enumerate(texts):
            session.multicast(GROUP, text.encode(), key=("example", number))


def main(options: argparse.Namespace) -> None:
    told = ""
    for address in options.connect:
        try:
            say(address, options.say)
            return replay(address, options.state)
        except LogGap as gap:
            told = f"{address} has a gap: {gap.what}"  # another daemon may have the range
        except SessionError as error:
            told = str(error)
    sys.exit(f"replay: {told}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connect", nargs="+", default=["4803@localhost"], metavar="ADDRESS")
    parser.add_argument("--state", type=Path, default=Path("replay.offset"))
    parser.add_argument("--say", nargs="*", default=[], metavar="TEXT")
    main(parser.parse_args())
