"""Runs a daemon with a bug planted on purpose, to see that a chaos run would notice.

Like `antiphon daemon`, but it first plants the mutant that the environment names. Only the
chaos harness starts it: the daemon itself has no switch for that.
"""

import os
import sys
from pathlib import Path

from antiphon.daemon.config.config import load
from antiphon.daemon.process import Daemon
from antiphon.sim.mutants import MUTANTS

VARIABLE = "ANTIPHON_CHAOS_MUTANT"


def main() -> None:
    path, name = Path(sys.argv[1]), sys.argv[2]
    daemon = Daemon(load(path), name, path)
    MUTANTS[os.environ[VARIABLE]].plant(daemon.driver.node)
    daemon.run()


if __name__ == "__main__":
    main()
