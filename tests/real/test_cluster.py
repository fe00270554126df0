"""Clusters of real daemons end with whoever started them."""

import subprocess
import sys
from pathlib import Path

from tests.real.waiting import until

PROGRAM = """
import sys, time
from pathlib import Path
from antiphon.tools.cluster import LocalCluster

with LocalCluster(1, Path(sys.argv[1])) as cluster:
    print(cluster.daemons[0].pid, flush=True)
    time.sleep(60)
"""


def test_daemons_end_with_an_owner_that_was_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        daemon = Path("/proc") / owner.stdout.readline().strip()
        assert daemon.exists()
        owner.kill()
    until(lambda: not _runs(daemon))


def _runs(process: Path) -> bool:
    """A process that has ended but was not waited for is a zombie."""
    try:
        return ") Z " not in (process / "stat").read_text()
    except FileNotFoundError:
        return False
