"""The runs of an experiment: turn by turn, each point once in a turn, with daemons of its own."""

from collections.abc import Sequence
from contextlib import ExitStack
from secrets import token_hex

import msgspec

from antiphon.tools.bench.growth.experiment import Experiment, Point
from antiphon.tools.bench.plan import Plan
from antiphon.tools.bench.target import Target, own_daemons
from antiphon.tools.bench.traffic import Figures, Say, run_side_by_side, run_traffic, silent

SURE = '[timeouts]\ntoken_loss = "2s"\nhear = "4s"\n'
"""No daemon dies here, and up to forty processes share the machine: one that waits for a processor,
or writes to fifty clients what came in one turn, is not to be taken for dead."""

TURNS_PER_SECOND = 4
"""Where all points are there at once, for each second that is asked for."""


def run_turns(
    experiment: Experiment, turns: int, seconds: float, say: Say
) -> dict[Point, list[Figures]]:
    found: dict[Point, list[Figures]] = {point: [] for point in experiment.points}
    for turn in range(turns):
        if experiment.side_by_side:
            say(f"side by side, {turn + 1} of {turns}")
            # Both ways round: no point is more often before another than after it.
            for order in (experiment.points, experiment.points[::-1]):
                for point, figures in zip(order, _run_all(order, seconds), strict=True):
                    found[point].append(figures)
            continue
        for point in experiment.points:
            say(f"{point.label}, {turn + 1} of {turns}")
            found[point].append(_run(point, seconds))
    return found


def _run_all(points: Sequence[Point], seconds: float) -> list[Figures]:
    """Each is measured longer than one that is alone: many short turns are worth more."""
    count = len(points)
    long = count * max(1, round(TURNS_PER_SECOND * seconds))
    with ExitStack() as stack:
        places: list[tuple[Plan, Target]] = []
        for turn, point in enumerate(points):
            started = own_daemons(point.daemons, point.level, extra=SURE + point.extra)
            target, _ = stack.enter_context(started)
            plan = _plan(point, long)
            places.append((msgspec.structs.replace(plan, turns=count, turn=turn), target))
        return run_side_by_side(places, silent)


def _run(point: Point, seconds: float) -> Figures:
    plan = _plan(point, seconds)
    with own_daemons(point.daemons, point.level, extra=SURE + point.extra) as (target, _):
        return run_traffic(plan, target, silent)


def _plan(point: Point, seconds: float) -> Plan:
    return msgspec.structs.replace(point.plan, seconds=seconds, prefix=f"growth-{token_hex(3)}")
