"""Bars rise and fall with the machine."""

from typing import Any

import pytest

from antiphon.core.service import Service
from antiphon.tools.bench.peers.compare import BARS, FULL, SHORT, Bar, Line, Row, _line
from antiphon.tools.bench.peers.times import COROSYNC_MS, latencies
from antiphon.tools.bench.strain import Strain, Watch, calmest

BAR = Bar(100, 3, 32_000, 12, 75_200)


def line(theirs: float, *rates: float, **of_row: Any) -> Line:
    runs = [
        {"messages_per_second": rate, "latency_p50_us": 1_500, "latency_p99_us": 9_000}
        for rate in rates
    ]
    return _line(Row(BAR, **of_row), theirs, runs)


def test_on_the_same_machine_the_bar_is_what_it_was() -> None:
    found = line(75_200, 384_000, 1, 500_000)
    assert (found.machine, found.bar, found.ours, found.reached) == (1.0, 384_000, 384_000, 1.0)
    assert (found.latency_p50_ms, found.latency_p99_ms) == (1.5, 9.0)


@pytest.mark.parametrize(("theirs", "trusted"), [(40_000, False), (50_000, True), (130_000, False)])
def test_a_machine_that_is_too_different_is_not_trusted(theirs: float, trusted: bool) -> None:
    assert line(theirs, 100_000).trusted is trusted


def test_a_slower_machine_lowers_the_bar() -> None:
    assert line(37_600, 192_000).reached == 1.0


def test_every_size_has_both_bars() -> None:
    assert {(bar.size, bar.daemons) for bar in BARS} == {
        (size, daemons) for size in (100, 1_000, 8_192, 65_536) for daemons in (1, 3)
    }


@pytest.mark.parametrize("client", ["blocking", "await each", "receive each"])
def test_other_ways_to_send_are_told_without_a_bar(client: str) -> None:
    found = line(75_200, 50_000, client=client)
    assert (found.client, found.ours, found.bar, found.reached) == (client, 50_000, None, None)


@pytest.mark.parametrize("rows", [SHORT, FULL])
def test_they_are_measured_with_small_messages_and_three_daemons(rows: tuple[Row, ...]) -> None:
    others = [row for row in rows if row.client != "asyncio"]
    assert [row.client for row in others] == ["blocking", "await each", "receive each"]
    assert {(row.bar.size, row.bar.daemons, row.senders) for row in others} == {(100, 3, 1)}


def ping(p50_us: float, p99_us: float) -> dict[str, object]:
    return {"latency_p50_us": p50_us, "latency_p99_us": p99_us}


def test_a_machine_that_wakes_up_later_raises_the_bars_of_latency() -> None:
    ours = {(1, Service.AGREED): (ping(400, 901), Strain(0.0, 0.5))}
    corosync, p50, p99 = latencies(2 * COROSYNC_MS, ours)
    assert (corosync.ours, corosync.bar) == (2 * COROSYNC_MS, None)
    assert (p50.ours, p50.bar, p50.holds) == (0.4, 0.4, True)
    assert (p99.ours, p99.bar, p99.holds) == (0.901, 0.9, False)
    assert (p50.stolen_percent, p99.stolen_percent) == (0.5, 0.5)


@pytest.mark.parametrize(
    ("stolen", "chosen"), [([0.5, 9.0], 0), ([9.0, 3.0, 7.0, 0.0], 1), ([9.0, 1.0, 0.0], 1)]
)
def test_what_the_host_disturbed_is_measured_again(
    stolen: list[float], chosen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    strains = iter([Strain(0.0, percent) for percent in stolen])
    monkeypatch.setattr(Watch, "strain", lambda _: next(strains))
    tries = iter(range(len(stolen)))
    assert calmest(lambda: next(tries), 2.0, 3) == (chosen, Strain(0.0, stolen[chosen]))
