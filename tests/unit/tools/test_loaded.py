"""What grew under load is found, and what only swings is not."""

import pytest

from antiphon.core.errors import UsageError
from antiphon.tools.bench.plan import Plan
from antiphon.tools.loaded import Third, in_thirds, judge

MIDDLE = Third([40_000.0, 50_000.0, 60_000.0], 10.0)
FIRST = Third([1.0, 1.0, 1.0], 99.0)


def judged(kib: list[float], p99_ms: float) -> list[str]:
    return judge([FIRST, MIDDLE, Third(kib, p99_ms)])


def test_what_stays_is_fine() -> None:
    assert judged([40_000.0, 50_000.0, 60_000.0], 10.0) == []


def test_memory_may_grow_by_five_hundredths_and_p99_by_three_tenths() -> None:
    assert judged([42_000.0, 52_500.0, 63_000.0], 13.0) == []


def test_what_shrinks_is_fine() -> None:
    assert judged([30_000.0, 30_000.0, 30_000.0], 1.0) == []


def test_one_daemon_that_grows_is_named() -> None:
    (found,) = judged([40_000.0, 52_600.0, 60_000.0], 10.0)
    assert found == "daemon 2 grew from 50,000 to 52,600 KiB, more than 1.05 times"


def test_latency_that_grows_is_told() -> None:
    (found,) = judged([40_000.0, 50_000.0, 60_000.0], 13.1)
    assert found == "p99 of latency grew from 10.00 to 13.10 ms, more than 1.3 times"


def test_everything_that_grows_is_told() -> None:
    assert len(judged([50_000.0, 60_000.0, 70_000.0], 20.0)) == 4


def test_thirds_are_of_each_daemon_and_of_all_receivers() -> None:
    kib = [[1, 3, 10, 30, 100, 300], [2, 2, 2, 2, 2, 2]]
    latencies = [[1_000_000] * 3, [2_000_000, 5_000_000, 2_000_000]]
    assert in_thirds(kib, latencies) == [
        Third([2.0, 2.0], 2.0),
        Third([20.0, 2.0], 5.0),
        Third([200.0, 2.0], 2.0),
    ]


def test_p99_of_a_third_is_not_its_worst() -> None:
    latencies = [[1_000_000] * 995 + [9_000_000] * 5] * 3
    p99s = [third.p99_ms for third in in_thirds([[1, 1, 1]], [sum(latencies, [])])]
    assert p99s == [1.0, 1.0, 1.0]


def test_a_blocking_sender_keeps_no_pace() -> None:
    with pytest.raises(UsageError, match="use asyncio"):
        Plan(pace=1_000.0, api="blocking")
