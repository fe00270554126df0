"""A few seeds of the swarm keep every promise, and are the same under every hash seed."""

import os
import subprocess
import sys

import pytest

from antiphon.sim.swarm import draw
from antiphon.sim.trial import play
from antiphon.tools.sim_report import failure_text

SEEDS = range(30)
DIGEST_SEED = 12


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_keeps_every_promise(seed: int) -> None:
    _, outcome = play(draw(seed))
    assert not outcome.failed, failure_text(outcome)
    assert outcome.messages >= 200
    assert outcome.configurations >= 4


def test_a_seed_is_the_same_under_every_hash_seed() -> None:
    command = [sys.executable, "-m", "antiphon", "sim", "digest", "--seed", str(DIGEST_SEED)]
    running = [
        subprocess.Popen(
            command,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            stdout=subprocess.PIPE,
            text=True,
        )
        for hash_seed in ("0", "1", "31337")
    ]
    digests = [process.communicate()[0].strip() for process in running]
    assert all(process.returncode == 0 for process in running)
    assert len(digests[0]) == 64
    assert len(set(digests)) == 1
