"""Every seed is worked on once, in one process or in several."""

import os

import pytest

from antiphon.sim.pool import over


def square(number: int) -> tuple[int, int]:
    return number * number, os.getpid()


def fail(number: int) -> int:
    raise ValueError(f"seed {number}")


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_seed_once(jobs: int) -> None:
    found = list(over(range(20), square, jobs))
    assert sorted(value for value, _ in found) == [number * number for number in range(20)]
    elsewhere = {process for _, process in found} - {os.getpid()}
    assert bool(elsewhere) == (jobs > 1)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failure_comes_through(jobs: int) -> None:
    with pytest.raises(ValueError, match="seed"):
        list(over(range(3), fail, jobs))
