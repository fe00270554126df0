"""A few seeds of the swarms keep every promise, and are the same under every hash seed."""

import os
import subprocess
import sys

import pytest

from antiphon.sim.reach import all_pairs
from antiphon.sim.sites_reach import site_pairs
from antiphon.tools.sim_command import run_seed
from antiphon.tools.sim_report import failure_text

SEEDS = [(False, seed) for seed in range(30)] + [(True, seed) for seed in range(1, 13)]
DIGESTS = (["--seed", "12"], ["--sites", "--seed", "2"])


@pytest.mark.parametrize(("sites", "seed"), SEEDS)
def test_a_seed_keeps_every_promise(sites: bool, seed: int) -> None:
    outcome, met = run_seed(sites, True, None, seed)
    assert not outcome.failed, failure_text(outcome)
    assert set(met) <= {*all_pairs(), *site_pairs()}
    assert outcome.messages >= 200
    assert outcome.configurations >= 4


@pytest.mark.parametrize("which", DIGESTS)
def test_a_seed_is_the_same_under_every_hash_seed(which: list[str]) -> None:
    command = [sys.executable, "-m", "antiphon", "sim", "digest", *which]
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
