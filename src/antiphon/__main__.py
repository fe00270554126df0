"""python -m antiphon: the command line."""

from antiphon.tools.cli import main

if __name__ == "__main__":
    main(prog_name="antiphon")
