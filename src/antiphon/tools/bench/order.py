"""`bench order`: one ring for all daemons against a site for each, which order by stamps alone.

The first waits for the right to send and then orders at once (TR-60); the second sends at once
and waits for a word from everybody (TR-57). The same daemons and loads, by turns.
"""

from collections.abc import Sequence
from secrets import token_hex
from statistics import median

import msgspec

from antiphon.tools.bench.plan import Plan
from antiphon.tools.bench.target import own_daemons
from antiphon.tools.bench.traffic import Figures, Say, run_traffic, silent

IDLE_RATE = 20.0
RING = "ring"
ALL_ACK = "all-ack"


class Load(msgspec.Struct, frozen=True):
    """How many daemons have a sender, and how busy it is."""

    name: str
    senders: int
    rate: float


def loads(daemons: int) -> tuple[Load, ...]:
    return (
        Load("idle", 1, IDLE_RATE),
        Load("even", daemons, 0.0),
        Load("one-sided", 1, 0.0),
    )


class Line(msgspec.Struct, frozen=True):
    """Medians of the runs of one load."""

    load: str
    ordering: str
    messages_per_second: float
    latency_p50_us: float
    latency_p99_us: float


def run_order(
    daemons: int, size: int, seconds: float, repeat: int, say: Say
) -> tuple[list[Line], float]:
    """The lines, and the highest load of the machine in between."""
    found: dict[tuple[str, str], list[Figures]] = {}
    for turn in range(repeat):
        for ordering, sites in ((RING, 1), (ALL_ACK, daemons)):
            with own_daemons(daemons, sites=sites) as (target, _):
                for load in loads(daemons):
                    say(f"{ordering}, {load.name}, {turn + 1} of {repeat}")
                    figures = run_traffic(_plan(load, daemons, size, seconds), target, silent)
                    found.setdefault((load.name, ordering), []).append(figures)
    lines = [
        Line(load, ordering, *(_middle(runs, key) for key in Line.__struct_fields__[2:]))
        for (load, ordering), runs in sorted(found.items())
    ]
    return lines, max(_number(one["load_average"]) for runs in found.values() for one in runs)


def _plan(load: Load, daemons: int, size: int, seconds: float) -> Plan:
    return Plan(
        senders=load.senders,
        receivers=daemons,
        size=size,
        seconds=seconds,
        rate=load.rate,
        prefix=f"order-{token_hex(3)}",
    )


def _middle(runs: Sequence[Figures], key: str) -> float:
    return median(_number(one[key]) for one in runs)


def _number(value: object) -> float:
    assert isinstance(value, int | float)
    return float(value)
