"""The runs of an experiment: turn by turn, each point once in a turn, with daemons of its own."""

from secrets import token_hex

import msgspec

from antiphon.tools.bench.growth.experiment import Experiment, Point
from antiphon.tools.bench.target import own_daemons
from antiphon.tools.bench.traffic import Figures, Say, run_traffic, silent


def run_turns(
    experiment: Experiment, turns: int, seconds: float, say: Say
) -> dict[Point, list[Figures]]:
    found: dict[Point, list[Figures]] = {point: [] for point in experiment.points}
    for turn in range(turns):
        for point in experiment.points:
            say(f"{point.label}, {turn + 1} of {turns}")
            found[point].append(_run(point, seconds))
    return found


def _run(point: Point, seconds: float) -> Figures:
    plan = msgspec.structs.replace(point.plan, seconds=seconds, prefix=f"growth-{token_hex(3)}")
    with own_daemons(point.daemons, point.level, extra=point.extra) as (target, _):
        return run_traffic(plan, target, silent)
