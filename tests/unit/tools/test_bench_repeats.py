"""Runs of a comparison in which daemons lost each other."""

import pytest

from antiphon.tools.bench.crew import failure_of
from antiphon.tools.bench.peers.repeats import TRIES_MAX, Repeats
from antiphon.tools.bench.plan import Failed
from antiphon.tools.bench.reception import BenchFailed, DaemonsParted

PARTED = Failed("receiver0: the daemons lost each other", parted=True)
WRONG = Failed("receiver1: message 3 of sender 0, not 2")


def measure(repeats: Repeats, outcomes: list[float | BenchFailed]) -> float:
    def run() -> float:
        outcome = outcomes.pop(0)
        if isinstance(outcome, BenchFailed):
            raise outcome
        return outcome

    return repeats.measure(run)


def test_such_a_run_is_repeated_told_and_counted() -> None:
    told: list[str] = []
    repeats = Repeats(told.append)
    assert measure(repeats, [1.0]) == 1.0 and repeats.count == 0 and not told
    assert measure(repeats, [DaemonsParted("lost"), 2.0]) == 2.0
    assert repeats.count == 1 and told == ["measured again: lost"]


def test_daemons_that_always_lose_each_other_end_the_bench() -> None:
    outcomes: list[float | BenchFailed] = [DaemonsParted("lost") for _ in range(TRIES_MAX)]
    with pytest.raises(DaemonsParted):
        measure(Repeats(lambda _: None), [*outcomes, 1.0])


def test_a_fault_is_not_repeated() -> None:
    repeats = Repeats(lambda _: None)
    with pytest.raises(BenchFailed, match="wrong"):
        measure(repeats, [BenchFailed("wrong"), 1.0])
    assert repeats.count == 0


def test_daemons_are_to_blame_only_if_nobody_saw_a_fault() -> None:
    assert type(failure_of([PARTED, PARTED])) is DaemonsParted
    found = failure_of([PARTED, WRONG])
    assert type(found) is BenchFailed and str(found) == f"{PARTED.why}; {WRONG.why}"
