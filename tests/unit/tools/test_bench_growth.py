"""What runs of `bench growth` come to: ratios within turns, lines, and claims that can fail."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec
import pytest

from antiphon.tools.bench.growth import turns
from antiphon.tools.bench.growth.catalogue import EXPERIMENTS
from antiphon.tools.bench.growth.experiment import Claim, Experiment, Panel, Point
from antiphon.tools.bench.growth.lines import COLUMNS, Line, lines_of, outcome_of
from antiphon.tools.bench.growth.plot import draw
from antiphon.tools.bench.outcome import Statement
from antiphon.tools.bench.plan import Plan
from antiphon.tools.bench.target import Target
from antiphon.tools.bench.traffic import Figures, Say, silent

FEW, MANY = Point(1, Plan(receivers=2)), Point(64, Plan(receivers=10))
PANELS = (Panel("messages_per_second", "rate"), Panel("cost_us", "cost"))
CLAIMS = (Claim(64, "rate_by_first", least=0.95), Claim(64, "cost_by_first", most=1.1))
EXPERIMENT = Experiment("made-up", "a summary", "things", (FEW, MANY), PANELS, CLAIMS)


def run(rate: float, cost: float = 2.0, latency: float | None = 1500.0) -> Figures:
    return {
        "messages_per_second": rate,
        "daemon_cpu_us_per_message": cost,
        "deliveries_per_second": 2 * rate,
        "daemon_cpu_us_per_delivery": cost / 4,
        "latency_p50_us": latency,
        "latency_p99_us": None if latency is None else 2 * latency,
    }


def by_turns(*rates: float, stolen: Sequence[float] = ()) -> Figures:
    return run(0) | {"rates": [*rates], "stolen": [*(stolen or [0.0] * len(rates))]}


def lines(few: Sequence[Figures], many: Sequence[Figures]) -> list[Line]:
    return lines_of(EXPERIMENT, {FEW: few, MANY: many})


def statements(few: Sequence[Figures], many: Sequence[Figures]) -> list[Statement]:
    return outcome_of(EXPERIMENT, lines(few, many)).statements


def test_ratios_are_of_one_turn() -> None:
    """The machine is twice as fast in the second turn, and a tenth of it in the third."""
    first, second = lines(
        [run(1000), run(2000), run(100)],
        [run(900), run(1800), run(90)],
    )
    assert (first.messages_per_second, first.rate_by_first) == (1000, 1.0)
    assert second.messages_per_second == 900
    assert second.rate_by_first == pytest.approx(0.9)


def test_floods_by_turns_are_compared_turn_by_turn() -> None:
    """However many turns a run has: the second run has the slower machine, and more noise."""
    first, second = lines(
        [by_turns(1000.0, 2000.0), by_turns(100.0)],
        [by_turns(900.0, 1820.0), by_turns(500.0)],
    )
    assert first.rate_by_first == 1.0 and second.rate_by_first == pytest.approx(0.91)


def test_the_turns_from_which_the_host_took_least_count() -> None:
    """Whatever they show: here it took from the second flood, then from the first."""
    few = by_turns(1000.0, 1000.0, 1000.0, 400.0, stolen=[0.0, 0.0, 0.5, 60.0])
    many = by_turns(900.0, 300.0, 940.0, 900.0, stolen=[1.0, 70.0, 0.0, 0.0])
    _, second = lines([few], [many])
    assert second.rate_by_first == pytest.approx(0.92)


def test_if_the_host_took_nothing_every_turn_counts() -> None:
    _, second = lines([by_turns(*[1000.0] * 3)], [by_turns(910.0, 920.0, 930.0)])
    assert second.rate_by_first == pytest.approx(0.92)


def test_a_turn_that_is_far_off_does_not_count() -> None:
    _, second = lines([run(1000)] * 3, [run(990), run(1), run(1000)])
    assert second.rate_by_first == pytest.approx(0.99)


def test_costs_are_compared_as_rates_are() -> None:
    _, second = lines([run(1, 2.0), run(1, 20.0), run(1, 4.0)], [run(1, 5.0), run(1, 50.0), run(3)])
    assert (second.cost_us, second.cost_by_first) == (5.0, 2.5)
    assert (second.deliveries_per_second, second.delivery_cost_us) == (2, 1.25)


def test_each_series_has_a_first_point() -> None:
    other = [Point(at, Plan(), series="other") for at in (1, 64)]
    both = Experiment("two", "series", "things", (FEW, MANY, *other), PANELS)
    runs = {FEW: [run(100)], MANY: [run(50)], other[0]: [run(1000)], other[1]: [run(800)]}
    found = lines_of(both, runs)
    assert [line.rate_by_first for line in found] == [1.0, 0.5, 1.0, 0.8]
    assert [line.point.label for line in found] == ["1", "64", "other, 1", "other, 64"]


@pytest.mark.parametrize(
    ("rate", "cost", "holds"),
    [
        (950, 2.2, [True, True]),
        (949, 2.2, [False, True]),
        (950, 2.21, [True, False]),
        (2000, 0.1, [True, True]),
    ],
)
def test_claims_hold_or_not(rate: float, cost: float, holds: list[bool]) -> None:
    found = statements([run(1000)], [run(rate, cost)])
    assert [one.holds for one in found] == holds


def test_claims_say_what_they_saw() -> None:
    rate, cost = statements([run(1000)], [run(949, 2.5)])
    assert rate.text == "things: the rate at 64 is at least 95% of that at 1"
    assert rate.numbers == "94.9%"
    assert cost.text == "things: the cost of a message at 64 is at most 110% of that at 1"
    assert cost.numbers == "125.0%"


def test_a_cost_that_could_not_be_counted_proves_nothing() -> None:
    rate, cost = statements([run(1000, 0.0)], [run(1000, 0.0)])
    assert rate.holds and not cost.holds and cost.numbers == "not measured"


def test_a_run_too_short_for_latencies_has_the_other_figures() -> None:
    first, second = lines([run(1000, latency=None)], [run(1000)])
    assert first.latency_p50_ms is None
    assert (second.latency_p50_ms, second.latency_p99_ms) == (1.5, 3.0)


def test_the_table_has_a_row_for_each_point() -> None:
    [table] = outcome_of(EXPERIMENT, lines([run(1000)], [run(500, 3.0)])).tables
    assert len(table.columns) == 1 + len(COLUMNS)
    assert [row[:3] for row in table.rows] == [("1", 1000, 1.0), ("64", 500, 0.5)]


def test_what_is_larger_is_left_out_and_its_claims_with_it() -> None:
    small = EXPERIMENT.up_to(63)
    assert small.points == (FEW,)
    assert outcome_of(small, lines_of(small, {FEW: [run(1)]})).statements == []
    assert EXPERIMENT.up_to(64) == EXPERIMENT.up_to(None) == EXPERIMENT
    # There is nothing to compare with but for the first, and names are not large.
    assert EXPERIMENTS["sessions"].up_to(1).points[0].at == 1
    assert EXPERIMENTS["records"].up_to(1) == EXPERIMENTS["records"]


def test_every_claim_is_of_a_point_that_is_compared() -> None:
    for experiment in EXPERIMENTS.values():
        series = {point.series for point in experiment.points}
        later = {point.at for point in experiment.points[1:]}
        assert {claim.at for claim in experiment.claims} <= later
        assert not experiment.claims or len(series) == 1, "a claim is about one series"
        assert len(set(experiment.points)) == len(experiment.points)


def test_placing_moves_the_same_clients() -> None:
    """SP-18: daemons are all that differs; both loads have both placings."""
    for load in ("flood", "ping"):
        one, each = (point for point in EXPERIMENTS["placing"].points if point.series == load)
        assert one.plan == each.plan and (one.daemons, each.daemons) == (1, each.plan.receivers)


def test_points_are_measured_by_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Point] = []

    def measure(point: Point, seconds: float) -> Figures:
        asked.append(point)
        return run(1000.0 * len(asked))

    monkeypatch.setattr(turns, "_run", measure)
    found = turns.run_turns(EXPERIMENT, 2, 1.0, silent)
    assert asked == [FEW, MANY, FEW, MANY]
    assert [one["messages_per_second"] for one in found[MANY]] == [2000.0, 4000.0]


def test_points_that_are_measured_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has daemons of its own, and a place among the turns; a run has them once in their order
    and once the other way round."""
    seen: list[list[tuple[Plan, Target]]] = []

    @contextmanager
    def daemons(count: int, level: str, extra: str) -> Iterator[tuple[Target, None]]:
        yield Target([f"{level}:{count}"], []), None

    def measure(places: list[tuple[Plan, Target]], say: Say) -> list[Figures]:
        seen.append(places)
        return [run(1000.0 * plan.turn) for plan, _ in places]

    monkeypatch.setattr(turns, "own_daemons", daemons)
    monkeypatch.setattr(turns, "run_side_by_side", measure)
    together = msgspec.structs.replace(EXPERIMENT, side_by_side=True)
    found = turns.run_turns(together, 1, 1.5, silent)
    assert [one["messages_per_second"] for one in found[MANY]] == [1000.0, 0.0]
    assert [one["messages_per_second"] for one in found[FEW]] == [0.0, 1000.0]
    first, second = seen[0]
    assert [(plan.turn, plan.turns, plan.seconds) for plan, _ in seen[0]] == [
        (0, 2, 12),
        (1, 2, 12),
    ]
    assert first[0].receivers == 2 and second[0].receivers == 10
    assert first[0].prefix != second[0].prefix and len(seen) == 2


def test_all_experiments_are_drawn() -> None:
    pytest.importorskip("matplotlib")
    found = {
        name: lines_of(one, {point: [run(1000)] for point in one.points})
        for name, one in EXPERIMENTS.items()
    }
    svg = draw(found, EXPERIMENTS)
    assert svg.startswith("<?xml") and "var(--" not in svg
    for experiment in EXPERIMENTS.values():
        for panel in experiment.panels:
            assert f"{experiment.name}: {panel.title}" in svg
    assert "three daemons" in svg
