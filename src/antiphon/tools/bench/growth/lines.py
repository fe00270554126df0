"""What the runs of an experiment come to: a line for each point, and claims that hold or not.

Rates of a shared machine differ by half from minute to minute. So each turn has all points, a
point is compared with the first of its series in the same turn, and the median ratio counts. Where
turns are so short that the host of a virtual machine disturbs some and not others, the calmer half
of them counts.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

import msgspec

from antiphon.tools.bench.growth.experiment import Claim, Experiment, Point
from antiphon.tools.bench.outcome import Cell, Outcome, Table, ratio
from antiphon.tools.bench.traffic import Figures

Runs = Mapping[Point, Sequence[Figures]]
"""A run of each turn."""

COLUMNS = {
    "messages_per_second": "messages/s",
    "rate_by_first": "by the first",
    "deliveries_per_second": "deliveries/s",
    "latency_p50_ms": "p50 ms",
    "latency_p99_ms": "p99 ms",
    "cost_us": "CPU µs/message",
    "cost_by_first": "by the first",
    "delivery_cost_us": "CPU µs/delivery",
}


class Line(msgspec.Struct, frozen=True):
    """Medians of the runs of a point."""

    point: Point
    messages_per_second: float
    rate_by_first: float
    deliveries_per_second: float
    """At all receivers together."""

    latency_p50_ms: float | None
    latency_p99_ms: float | None
    cost_us: float
    """Of a daemon's processor for each message, the mean of the daemons."""

    cost_by_first: float | None
    """None if the first had no time that could be counted."""

    delivery_cost_us: float
    """Of all daemons' processors for each message at each receiver."""


def lines_of(experiment: Experiment, runs: Runs) -> list[Line]:
    firsts = {point.series: point for point in reversed(experiment.points)}
    return [_line(point, runs[point], runs[firsts[point.series]]) for point in experiment.points]


def _line(point: Point, runs: Sequence[Figures], firsts: Sequence[Figures]) -> Line:
    rates = [_number(run, "messages_per_second") for run in runs]
    costs = [_number(run, "daemon_cpu_us_per_message") for run in runs]
    first_costs = [_number(run, "daemon_cpu_us_per_message") for run in firsts]
    rate_by_first = _rate_by_first(_turns(runs), _turns(firsts))
    assert rate_by_first is not None  # without messages there are no figures
    return Line(
        point=point,
        messages_per_second=median(rates),
        rate_by_first=rate_by_first,
        deliveries_per_second=median(_number(run, "deliveries_per_second") for run in runs),
        latency_p50_ms=_milliseconds(runs, "latency_p50_us"),
        latency_p99_ms=_milliseconds(runs, "latency_p99_us"),
        cost_us=median(costs),
        cost_by_first=_middle(map(ratio, costs, first_costs)),
        delivery_cost_us=median(_number(run, "daemon_cpu_us_per_delivery") for run in runs),
    )


class Turn(NamedTuple):
    rate: float
    stolen: float
    """Per cent of the processors that the host took meanwhile."""


def _turns(runs: Sequence[Figures]) -> list[Turn]:
    """Of all runs; one that had the machine for itself is one."""
    found: list[Turn] = []
    for run in runs:
        rates, stolen = run.get("rates", [run["messages_per_second"]]), run.get("stolen", [0.0])
        assert isinstance(rates, list) and isinstance(stolen, list)
        found += [Turn(*one) for one in zip(rates, stolen, strict=True)]
    return found


def _rate_by_first(turns: Sequence[Turn], firsts: Sequence[Turn]) -> float | None:
    """The median of the ratios of turns. If the host took something, then of that half from which
    it took least: what it takes from one turn and not from the other is no difference of theirs."""
    pairs = [
        (ratio(one.rate, first.rate), one.stolen + first.stolen)
        for one, first in zip(turns, firsts, strict=True)
    ]
    most = median(stolen for _, stolen in pairs)
    return _middle(found for found, stolen in pairs if stolen <= most)


def _number(run: Figures, key: str) -> float:
    found = run[key]
    assert isinstance(found, int | float)
    return float(found)


def _milliseconds(runs: Sequence[Figures], key: str) -> float | None:
    """A short run may have looked at no message."""
    middle = _middle(_number(run, key) for run in runs if run[key] is not None)
    return None if middle is None else middle / 1000


def _middle(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def outcome_of(experiment: Experiment, lines: Sequence[Line]) -> Outcome:
    rows: list[tuple[Cell, ...]] = [
        (line.point.label, *(getattr(line, name) for name in COLUMNS)) for line in lines
    ]
    columns = (experiment.grows, *COLUMNS.values())
    outcome = Outcome([Table(experiment.summary, columns, rows)])
    for claim in experiment.claims:
        for line in lines:
            if line.point.at == claim.at:
                _judge(outcome, experiment, claim, line)
    return outcome


def _judge(outcome: Outcome, experiment: Experiment, claim: Claim, line: Line) -> None:
    found = line.rate_by_first if claim.by == "rate_by_first" else line.cost_by_first
    first = experiment.points[0].label
    what = "rate" if claim.by == "rate_by_first" else "cost of a message"
    bound = f"at least {claim.least:.0%}" if claim.least else f"at most {claim.most:.0%}"
    outcome.state(
        experiment.rows,
        f"{experiment.grows}: the {what} at {line.point.label} is {bound} of that at {first}",
        found is not None and claim.least <= found <= claim.most,
        "not measured" if found is None else f"{found:.1%}",
    )
