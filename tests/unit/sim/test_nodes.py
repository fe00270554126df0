"""The real node in the simulated world: it runs, and the same seed gives the same run."""

import os
import subprocess
import sys
from pathlib import Path

import antiphon
from antiphon.core.trace import Kind
from antiphon.sim.faults import Run, run
from antiphon.sim.nodes import make_nodes
from antiphon.sim.script import parse_script

SCRIPT = """
seed 3
daemons 4
sessions 2
network loss=0.02 duplicate=0.02 reorder=0.02 corrupt=0.02 bandwidth=10mbit
workload rate=30 until=3s
at 1s cut 1 2 | 3 4
at 1500ms inject garbage * > 2 x3
at 2s crash 1
at 2500ms heal
quiet 3s
until 5s
"""


def play() -> Run:
    script = parse_script(SCRIPT)
    return run(script, make_nodes(script))


def test_all_share_a_configuration_at_the_end() -> None:
    played = play()
    assert played.bugs == [] and played.messages > 100
    last = {row.node: row for row in played.records if row.kind == Kind.INSTALL}
    assert len({row.config for row in last.values()}) == 1
    reach = [row for row in played.records if row.kind == Kind.REACH]
    assert [row.members for row in reach] == [last[row.node].members for row in reach]
    assert len(reach) == 4


def test_the_same_seed_gives_the_same_run_under_any_hash_seed() -> None:
    here = play().digest()
    code = "from tests.unit.sim.test_nodes import play; print(play().digest())"
    root = Path(__file__).parents[3]
    path = os.pathsep.join([str(Path(antiphon.__file__).parents[1]), str(root)])
    for hash_seed in ("0", "1", "4711"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path}
        there = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True
        )
        assert there.stdout.strip() == here, there.stderr
