"""`bench peers`: our rates against the bars that the C systems set, on this machine and today.

Corosync is measured by turns with us; what it reaches, against what it reached when the bars were
set, says how fast the machine is now, and raises or lowers the bars. NATS and ZeroMQ have their
turns, too: they promise less, and no bar is theirs, but many know how fast they are.
"""

import os
from collections.abc import Sequence
from functools import partial
from secrets import token_hex
from statistics import median
from typing import Literal

import msgspec

from antiphon.core.service import Service
from antiphon.tools.bench.peers.repeats import Repeats
from antiphon.tools.bench.peers.systems import COROSYNC, Systems
from antiphon.tools.bench.plan import Plan
from antiphon.tools.bench.target import own_daemons
from antiphon.tools.bench.traffic import Say, run_traffic, silent
from antiphon.tools.compiled import is_compiled


class Bar(msgspec.Struct, frozen=True):
    """Set by agreed messages of one sender, for every service that orders and any senders."""

    size: int
    daemons: int
    spread: int
    """Messages a second of Spread 5.0.1, a receiver at each daemon."""

    factor: int
    corosync: int
    """What Corosync 3.1 reached on the same machine, three nodes."""


BARS = (
    Bar(100, 1, 40_000, 15, 75_200),
    Bar(1_000, 1, 38_500, 7, 30_400),
    Bar(8_192, 1, 13_500, 3, 5_300),
    Bar(65_536, 1, 2_300, 2, 650),
    Bar(100, 3, 32_000, 12, 75_200),
    Bar(1_000, 3, 19_000, 5, 30_400),
    Bar(8_192, 3, 3_950, 4, 5_300),
    Bar(65_536, 3, 580, 4, 650),
)

TRUSTED = (0.6, 1.6)
"""A machine that is slower or faster than that by Corosync is not the one that was measured."""


class Row(msgspec.Struct, frozen=True):
    bar: Bar
    service: Service = Service.AGREED
    senders: int = 1
    client: Literal["asyncio", "blocking", "await each", "receive each"] = "asyncio"
    """The bars are for the first."""

    encrypted: bool = False
    """What daemons say to each other; then a part of the bar is enough."""


OTHER_CLIENTS = tuple(
    Row(bar, client=client)
    for bar in BARS
    if (bar.size, bar.daemons) == (100, 3)
    for client in ("blocking", "await each", "receive each")
)
ENCRYPTED = tuple(Row(bar, encrypted=True) for bar in BARS if bar.daemons > 1)
SHORT = (*map(Row, BARS), *ENCRYPTED, *OTHER_CLIENTS)
FULL = (
    *(
        Row(bar, service, senders)
        for bar in BARS
        for service in (Service.AGREED, Service.SAFE)
        for senders in (1, 3)
    ),
    *ENCRYPTED,
    *OTHER_CLIENTS,
)
ENCRYPTED_PART = 0.7
"""Of a bar, for daemons that encrypt."""


class Line(msgspec.Struct, frozen=True):
    """Medians of the runs."""

    size: int
    daemons: int
    service: str
    senders: int
    client: str
    encrypted: bool
    corosync: int
    machine: float
    """Corosync's rate by its former one."""

    bar: int | None
    ours: int
    reached: float | None
    """Our rate by the bar."""

    latency_p50_ms: float
    latency_p99_ms: float
    trusted: bool


class Comparison(msgspec.Struct, frozen=True):
    lines: list[Line]
    systems: dict[str, dict[int, int]]
    """Messages a second of the others by size, one sender and three receivers."""

    without: dict[str, str]
    """Why a system is not among them."""

    load_average: float
    """The highest before a run."""

    compiled: bool
    """Whether daemons and clients were."""


def run_peers(
    rows: Sequence[Row], runs: int, seconds: float, say: Say, repeats: Repeats
) -> Comparison:
    ours: dict[Row, list[dict[str, float]]] = {}
    load = 0.0
    with Systems(say) as systems:
        for run in range(runs):
            for size in dict.fromkeys(row.bar.size for row in rows):
                systems.flood(size, seconds)
                for row in (one for one in rows if one.bar.size == size):
                    say(f"run {run + 1} of {runs}, {size} bytes: {row.bar.daemons} daemons")
                    load = max(load, os.getloadavg()[0])
                    found = repeats.measure(partial(_flood, row, seconds))
                    ours.setdefault(row, []).append(found)
    theirs = systems.medians
    return Comparison(
        [_line(row, theirs[COROSYNC][row.bar.size], ours[row]) for row in rows],
        {name: {size: round(rate) for size, rate in by.items()} for name, by in theirs.items()},
        systems.without,
        round(load, 2),
        is_compiled(),
    )


def _flood(row: Row, seconds: float) -> dict[str, float]:
    plan = Plan(
        senders=row.senders,
        receivers=row.bar.daemons,
        size=row.bar.size,
        services=(row.service,),
        seconds=seconds,
        api="blocking" if row.client == "blocking" else "asyncio",
        await_each=row.client == "await each",
        receive_each=row.client == "receive each",
        prefix=f"bench-{token_hex(3)}",
    )
    with own_daemons(row.bar.daemons, encrypted=row.encrypted) as (target, _):
        found = run_traffic(plan, target, silent)
    wanted = ("messages_per_second", "latency_p50_us", "latency_p99_us")
    return {name: float(str(found[name])) for name in wanted}


def _line(row: Row, theirs: float, runs: list[dict[str, float]]) -> Line:
    bar = row.bar
    machine = theirs / bar.corosync
    wanted = bar.factor * bar.spread * machine if row.client == "asyncio" else None
    if wanted is not None and row.encrypted:
        wanted *= ENCRYPTED_PART
    middle = {name: median(run[name] for run in runs) for name in runs[0]}
    rate = middle["messages_per_second"]
    return Line(
        bar.size,
        bar.daemons,
        row.service.name.lower(),
        row.senders,
        row.client,
        row.encrypted,
        round(theirs),
        round(machine, 2),
        None if wanted is None else round(wanted),
        round(rate),
        None if wanted is None else round(rate / wanted, 2),
        round(middle["latency_p50_us"] / 1_000, 1),
        round(middle["latency_p99_us"] / 1_000, 1),
        TRUSTED[0] <= machine <= TRUSTED[1],
    )
