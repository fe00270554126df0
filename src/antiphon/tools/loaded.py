"""Daemons near their limit for long: memory and latency must not grow, nobody may be suspected.

The saturated rate is found by a short flood; then agreed messages go at four fifths of it.
"""

import time
from collections.abc import Sequence
from secrets import token_hex
from statistics import mean

import click
import msgspec

from antiphon.tools.bench.crew import Crew, begin_of
from antiphon.tools.bench.plan import Plan, Window
from antiphon.tools.bench.reception import BenchFailed
from antiphon.tools.bench.target import Target, own_daemons
from antiphon.tools.bench.traffic import percentile, run_traffic, silent
from antiphon.tools.endurance import FLAT, SAMPLES, Figures, resident_kib

DAEMONS = 3
SIZE = 1_000
PART = 0.8
"""Of the saturated rate."""

PROBE_SECONDS = 10.0
P99_GROWTH_MAX = 1.3
"""The last third against the middle third."""


class Third(msgspec.Struct, frozen=True):
    """Of a run."""

    kib: list[float]
    """Resident memory of each daemon, the mean."""

    p99_ms: float
    """Of latency, all receivers together."""


def loaded(seconds: float, daemons: int = DAEMONS) -> tuple[bool, Figures]:
    with own_daemons(daemons) as (target, _):
        try:
            flood = _plan(daemons, min(PROBE_SECONDS, seconds / 3))
            told = run_traffic(flood, target, silent)
            saturated = float(str(told["messages_per_second"]))
            pace = PART * saturated
            click.echo(f"{saturated:,.0f} messages a second at most, {pace:,.0f} from here on")
            thirds, rate = _run(_plan(daemons, seconds, pace), target)
        except BenchFailed as error:
            # Also what a receiver says of a view that the network caused.
            click.echo(f"loaded: {error}")
            return False, {}
    complaints = judge(thirds)
    for complaint in complaints:
        click.echo(f"loaded: {complaint}")
    found: Figures = {"saturated": saturated, "pace": round(pace), "carried": round(rate)}
    for name, third in zip(("first", "middle", "last"), thirds, strict=True):
        found[f"kib_each_{name}"] = round(max(third.kib))
        found[f"p99_ms_{name}"] = round(third.p99_ms, 2)
    return not complaints, found


def _plan(daemons: int, seconds: float, pace: float = 0.0) -> Plan:
    prefix = f"loaded-{token_hex(3)}"
    return Plan(receivers=daemons, size=SIZE, seconds=seconds, pace=pace, prefix=prefix)


def _run(plan: Plan, target: Target) -> tuple[list[Third], float]:
    """And how many messages a second came to the slowest receiver."""
    with Crew(plan, target.addresses) as crew:
        kib = _memory_within(crew.go(begin_of(plan)), target.pids)
        received = crew.reports(lambda: None).received
    rate = min(one.messages / (one.nanoseconds / 1e9) for one in received)
    return in_thirds(kib, [one.latencies for one in received]), rate


def _memory_within(window: Window, pids: Sequence[int]) -> list[list[int]]:
    samples: list[list[int]] = [[] for _ in pids]
    for number in range(SAMPLES):
        due = window.begin + (window.end - window.begin) * number // SAMPLES
        time.sleep(max(0, due - time.monotonic_ns()) / 1e9)
        for pid, found in zip(pids, samples, strict=True):
            found.append(resident_kib(pid))
    return samples


def in_thirds(kib: Sequence[Sequence[int]], latencies: Sequence[Sequence[int]]) -> list[Third]:
    """From samples of each daemon, and nanoseconds of each receiver: at a steady rate a third of
    the messages is a third of the time."""
    found = []
    for third in range(3):
        taken = sorted(one for times in latencies for one in _part(times, third))
        p99 = percentile(taken, 0.99)
        means = [mean(_part(samples, third)) for samples in kib]
        found.append(Third(means, 0.0 if p99 is None else p99 / 1e6))
    return found


def _part(samples: Sequence[int], third: int) -> Sequence[int]:
    length = len(samples) // 3
    return samples[third * length : (third + 1) * length]


def judge(thirds: Sequence[Third]) -> list[str]:
    """What grew from the middle third to the last. In the first, memory is still filling up."""
    _, middle, last = thirds
    found = []
    for number, (before, after) in enumerate(zip(middle.kib, last.kib, strict=True), 1):
        if after > FLAT * before:
            found.append(
                f"daemon {number} grew from {before:,.0f} to {after:,.0f} KiB, "
                f"more than {FLAT} times"
            )
    if last.p99_ms > P99_GROWTH_MAX * middle.p99_ms:
        found.append(
            f"p99 of latency grew from {middle.p99_ms:.2f} to {last.p99_ms:.2f} ms, "
            f"more than {P99_GROWTH_MAX} times"
        )
    return found
