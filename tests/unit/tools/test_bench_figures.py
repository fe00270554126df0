"""The figures of a bench, from the reports of its processes, and what the command refuses."""

import os
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import UsageError
from antiphon.core.service import Service
from antiphon.tools.bench.crew import Reports
from antiphon.tools.bench.plan import TURN_NS, Plan, Received, Sent
from antiphon.tools.bench.reception import BenchFailed
from antiphon.tools.bench.target import cpu_seconds
from antiphon.tools.bench.traffic import figures, percentile
from antiphon.tools.bench_command import bench

SECOND_NS = 1_000_000_000


def received(messages: int, latencies: list[int] | None = None, **more: Any) -> Received:
    whole = {"nanoseconds": SECOND_NS, "all_messages": messages, "lost": 0, "order": 0} | more
    return Received(messages=messages, latencies=latencies or [], **whole)


def test_the_slowest_receiver_counts() -> None:
    reports = Reports([Sent(4000)], [received(3000), received(2000), received(2500)])
    found = figures(Plan(size=500, seconds=2.0), reports, cpu=0.08, daemons=2)
    assert found["messages_per_second"] == 2000
    assert found["megabytes_per_second"] == 1.0
    assert found["daemon_cpu_us_per_message"] == 10.0
    assert found["messages"] == 2000


def test_all_receivers_count_for_deliveries() -> None:
    """In the whole window, also at a receiver that took all it got in a moment of it."""
    reports = Reports([Sent(4000)], [received(3000), received(2000), received(3000, nanoseconds=9)])
    found = figures(Plan(seconds=2.0), reports, cpu=0.08, daemons=2)
    assert found["deliveries_per_second"] == 4000
    assert found["daemon_cpu_us_per_delivery"] == 10.0


def test_the_time_between_the_first_and_the_last_message_counts() -> None:
    reports = Reports([Sent(1)], [received(3000, nanoseconds=2 * SECOND_NS)])
    assert figures(Plan(), reports, 0.0, 1)["messages_per_second"] == 1500


def test_of_floods_by_turns_the_middle_turn_counts_and_only_its_own_time() -> None:
    plan = Plan(turns=2, seconds=6.0)
    one = received(600, rates=[100.0, 400.0, 300.0])
    other = received(540, rates=[200.0, 200.0, 320.0])
    found = figures(plan, Reports([Sent(700)], [one, other]), cpu=0.0108, daemons=2)
    assert found["rates"] == [100.0, 200.0, 300.0] and found["messages_per_second"] == 200
    assert found["daemon_cpu_us_per_message"] == 10.0
    assert found["deliveries_per_second"] == round(2 * 1140 / 6)


def test_a_turn_that_is_missing_is_no_measurement() -> None:
    plan = Plan(turns=2)
    with pytest.raises(BenchFailed, match="measure longer"):
        figures(plan, Reports([Sent(1)], [received(1)]), 0.0, 1)
    with pytest.raises(BenchFailed, match="nothing in a turn"):
        figures(plan, Reports([Sent(1)], [received(1, rates=[1.0]), received(1)]), 0.0, 1)


@given(
    now=st.integers(1, 1 << 50),
    turns=st.integers(1, 6),
    turn=st.integers(0, 5),
)
def test_the_clock_tells_whose_turn_it_is(now: int, turns: int, turn: int) -> None:
    plans = [Plan(turns=turns, turn=one) for one in range(turns)]
    began = [plan.turn_began(now) for plan in plans]
    assert len({one // TURN_NS for one in began}) == turns, "each second is one flood's"
    assert all(now - plans[0].round_ns < one <= now for one in began)
    mine = plans[turn % turns]
    assert mine.turn_began(began[turn % turns]) == began[turn % turns]


def test_latencies_of_all_receivers_count_together() -> None:
    receivers = [received(1, [1000 * n for n in range(1, 51)]), received(1, [51_000] * 50)]
    found = figures(Plan(), Reports([Sent(1)], receivers), 0.0, 1)
    assert (found["latency_p50_us"], found["latency_p99_us"]) == (50.0, 51.0)


def test_without_daemons_here_there_is_no_figure_of_their_cpu() -> None:
    found = figures(Plan(), Reports([Sent(1)], [received(1)]), 0.0, 0)
    assert found["daemon_cpu_us_per_message"] is None


def test_round_trips_are_told_when_pinging_only() -> None:
    reports = Reports([Sent(1, [5000])], [received(1, [2000])])
    assert figures(Plan(rate=100.0), reports, 0.0, 1)["round_trip_p50_us"] == 5.0
    assert "round_trip_p50_us" not in figures(Plan(), reports, 0.0, 1)


def test_the_object_is_flat_and_says_what_was_done() -> None:
    plan = Plan(senders=2, groups=3, services=(Service.SAFE,))
    found = figures(plan, Reports([Sent(1)], [received(1)]), 0.0, 1)
    assert not any(isinstance(value, list | dict | tuple) for value in found.values())
    assert (found["senders"], found["groups"], found["service"]) == (2, 3, "safe")


@given(st.lists(st.integers(0, 1000), min_size=1), st.sampled_from([0.5, 0.99, 1.0]))
def test_a_percentile_is_the_least_that_so_many_do_not_exceed(
    values: list[int], part: float
) -> None:
    ordered = sorted(values)
    found = percentile(ordered, part)
    assert found in ordered
    needed = part * len(ordered)
    assert sum(value <= found for value in ordered) >= needed
    assert sum(value < found for value in ordered) < needed


def test_nothing_has_no_percentile() -> None:
    assert percentile([], 0.5) is None


def test_cpu_grows_with_work() -> None:
    before = cpu_seconds([os.getpid()])
    rounds = 0
    while cpu_seconds([os.getpid()]) < before + 0.02:
        rounds += 1
        assert rounds < 1_000_000, "worked much and used nothing"
    assert cpu_seconds([os.getpid(), os.getpid()]) >= 2 * (before + 0.02)


def test_a_payload_without_room_for_its_head_is_refused() -> None:
    with pytest.raises(UsageError, match="16 or more"):
        Plan(size=15)


@pytest.mark.parametrize(
    "words",
    [
        ["flood", "--size", "15"],
        ["flood", "--service", "best"],
        ["flood", "--api", "blocking", "--await-each"],
        ["flood", "--api", "blocking", "--receive-each"],
        ["flood", "--connect", "nowhere:at:all"],
        ["ping", "--rate", "0"],
        ["membership", "--daemons", "1"],
        ["verify", "--connect", "4803"],
    ],
)
def test_what_cannot_be_done_is_wrong_usage(words: list[str]) -> None:
    assert CliRunner().invoke(bench, words).exit_code == 2
