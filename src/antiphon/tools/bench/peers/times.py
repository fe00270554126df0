"""What the C systems are compared by besides their rates: latency at a low rate, how long a change
of the membership takes, and what daemons cost that do nothing.

How soon a machine that does little wakes up differs from day to day as rates do: Corosync's latency
just before ours and just after, against its former one, raises or lowers the bars. What the host
took away for more than a moment says nothing about us, and is measured again."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from secrets import token_hex
from statistics import mean
from typing import NamedTuple, TypeVar

import msgspec

from antiphon.core.service import Service
from antiphon.tools.bench.membership import run_membership
from antiphon.tools.bench.peers.corosync import corosync
from antiphon.tools.bench.peers.repeats import Repeats
from antiphon.tools.bench.plan import Plan
from antiphon.tools.bench.strain import Strain, calmest
from antiphon.tools.bench.target import cpu_seconds, own_daemons
from antiphon.tools.bench.traffic import Figures, Say, run_traffic, silent

T = TypeVar("T")

RATE = 100
SIZE = 100
LATENCY_BARS = {
    (1, Service.AGREED): (0.20, 0.45),
    (3, Service.AGREED): (0.52, 3.4),
    (3, Service.SAFE): (0.73, 4.0),
}
"""Milliseconds of Spread 5.0.1, p50 and p99, by daemons and service."""

COROSYNC_MS = 0.55
"""p50 of Corosync's then, at the nodes that the sender is not at."""

HALF_BAR_MS = 20.0
"""p99 of latency at half of the saturated rate."""

STOLEN_PERCENT_MAX = 2.0
TRIES_MAX = 3
"""A latency that was measured while the host took more of the processors is measured again."""

CHANGE_BAR_MS = 1_000.0
CHANGES = {"kill": "a killed daemon to the view without it", "restart": "its start to the merger"}
IDLE_DAEMONS = 3
IDLE_SECONDS = 5.0


class Time(msgspec.Struct, frozen=True):
    what: str
    ours: float
    bar: float | None
    unit: str
    stolen_percent: float | None = None
    """By the host, of the processors while latencies were measured."""

    @property
    def holds(self) -> bool:
        return self.bar is None or self.ours <= self.bar


class Saturated(NamedTuple):
    """As much as there can be."""

    daemons: int
    size: int
    messages_per_second: float


def run_times(
    rates: Sequence[Saturated], seconds: float, repeat: int, say: Say, repeats: Repeats
) -> list[Time]:
    found: list[Time] = []
    for rate in rates:
        say(f"latency at half the rate, {rate.daemons} daemons, {rate.size} bytes")
        what = f"agreed, {rate.daemons} daemons, {rate.size} bytes, half the saturated rate, p99"
        taken, strain = _calmest(partial(_half, rate, seconds), repeats)
        found.append(Time(what, round(taken, 1), HALF_BAR_MS, "ms", strain.stolen_percent))
    theirs = [_ping_corosync(seconds, say)]
    ours = {}
    for daemons, service in LATENCY_BARS:
        say(f"latency of {service.name.lower()} messages, {daemons} daemons")
        ours[daemons, service] = _calmest(partial(_ping, daemons, service, seconds), repeats)
    theirs.append(_ping_corosync(seconds, say))
    found += latencies(mean(theirs), ours)
    with own_daemons(IDLE_DAEMONS) as (target, cluster):
        say(f"{IDLE_DAEMONS} daemons that do nothing")
        before = cpu_seconds(target.pids)
        time.sleep(IDLE_SECONDS)
        share = (cpu_seconds(target.pids) - before) / IDLE_SECONDS / IDLE_DAEMONS
        found.append(Time("an idle daemon's processor", round(100 * share, 2), None, "%"))
        told = run_membership(cluster, repeat, say)
    for drill, what in CHANGES.items():
        median = _number(told, f"{drill}_median_ms")
        found.append(Time(f"{what}, median of {repeat}", median, CHANGE_BAR_MS, "ms"))
    return found


def _calmest(measure: Callable[[], T], repeats: Repeats) -> tuple[T, Strain]:
    return calmest(partial(repeats.measure, measure), STOLEN_PERCENT_MAX, TRIES_MAX)


def latencies(
    corosync_ms: float, ours: Mapping[tuple[int, Service], tuple[Figures, Strain]]
) -> list[Time]:
    """Against the bars of the day."""
    machine = corosync_ms / COROSYNC_MS
    what = f"Corosync, {RATE} messages a second, p50, {machine:.2f} of what it was"
    found = [Time(what, round(corosync_ms, 3), None, "ms")]
    for (daemons, service), (told, strain) in ours.items():
        for part, bar in zip(("p50", "p99"), LATENCY_BARS[daemons, service], strict=True):
            what = f"{service.name.lower()}, {daemons} daemons, {RATE} messages a second, {part}"
            taken = round(_number(told, f"latency_{part}_us") / 1_000, 3)
            found.append(Time(what, taken, round(bar * machine, 3), "ms", strain.stolen_percent))
    return found


def _ping_corosync(seconds: float, say: Say) -> float:
    """It runs only now: its token never rests for long."""
    with corosync(say) as cluster:
        say("latency of Corosync")
        return cluster.ping(SIZE, seconds, RATE)


def _ping(daemons: int, service: Service, seconds: float) -> Figures:
    plan = Plan(
        receivers=daemons,
        services=(service,),
        size=SIZE,
        rate=float(RATE),
        seconds=seconds,
        prefix=f"bench-{token_hex(3)}",
    )
    with own_daemons(daemons) as (target, _):
        return run_traffic(plan, target, silent)


def _half(rate: Saturated, seconds: float) -> float:
    """Milliseconds."""
    plan = Plan(
        receivers=rate.daemons,
        size=rate.size,
        pace=rate.messages_per_second / 2,
        seconds=seconds,
        prefix=f"bench-{token_hex(3)}",
    )
    with own_daemons(rate.daemons) as (target, _):
        return _number(run_traffic(plan, target, silent), "latency_p99_us") / 1_000


def _number(told: Figures, name: str) -> float:
    return float(str(told[name]))
