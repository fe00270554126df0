"""`bench flood` and `bench ping`: what a cluster carries, how fast, and at what cost."""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from statistics import median

from antiphon.tools.bench.crew import Crew, Reports, begin_of
from antiphon.tools.bench.plan import TURN_NS, Plan, Window
from antiphon.tools.bench.reception import BenchFailed
from antiphon.tools.bench.strain import Watch
from antiphon.tools.bench.target import Target, cpu_seconds

Figures = dict[str, object]
Say = Callable[[str], None]
"""Shows how far it is."""


def silent(_: str) -> None:
    """Where one line says which run it is; how far it is would only flicker."""


def run_traffic(plan: Plan, target: Target, say: Say) -> Figures:
    (found,) = run_side_by_side([(plan, target)], say)
    return found


def run_side_by_side(places: Sequence[tuple[Plan, Target]], say: Say) -> list[Figures]:
    """At once. Floods that are to be compared take turns, so that a machine that becomes slower
    is slower for all of them."""
    load = os.getloadavg()[0]
    say("starting clients")
    with ExitStack() as stack:
        crews = [stack.enter_context(Crew(plan, target.addresses)) for plan, target in places]
        plan = places[0][0]
        begin = begin_of(plan)
        (window, *_) = [crew.go(begin) for crew in crews]
        _sleep_until(window.begin, "warming up", say)
        before = [cpu_seconds(target.pids) for _, target in places]
        stolen = _stolen_by_turns(window) if plan.turns > 1 else []
        _sleep_until(window.end, "measuring", say)
        cpu = [
            cpu_seconds(target.pids) - used
            for (_, target), used in zip(places, before, strict=True)
        ]
        reports = [crew.reports(lambda: say("waiting for the last messages")) for crew in crews]
    found: list[Figures] = []
    for (plan, target), report, used in zip(places, reports, cpu, strict=True):
        _check_orders(report)
        figures_of = figures(plan, report, used, len(target.pids))
        if plan.turns > 1:
            figures_of["stolen"] = stolen[plan.turn :: plan.turns]
            if len(_rates(report)) < len(stolen) // plan.turns:
                raise BenchFailed("a turn without a message; have fewer things run beside it")
        found.append({**figures_of, "load_average": round(load, 2)})
    return found


def _stolen_by_turns(window: Window) -> list[float]:
    """What the host took in each of them, in per cent of what the processors were wanted for."""
    found = []
    for end in range(window.begin + TURN_NS, window.end + 1, TURN_NS):
        watch = Watch()
        _sleep_until(end, "measuring", silent)
        found.append(watch.strain().stolen_percent)
    return found


def _sleep_until(when: int, what: str, say: Say) -> None:
    while (left := (when - time.monotonic_ns()) / 1e9) > 0:
        say(f"{what}, {left:.0f} s to go")
        time.sleep(min(left, 0.5))


def _check_orders(reports: Reports) -> None:
    if len({one.order for one in reports.received}) > 1:
        raise BenchFailed("receivers got the same messages in different orders")


def figures(plan: Plan, reports: Reports, cpu: float, daemons: int) -> Figures:
    """One flat object. The slowest receiver counts, and all of them for deliveries; CPU is the
    mean of the daemons', and for a delivery all of it."""
    slowest = min(reports.received, key=lambda one: one.messages / one.nanoseconds)
    rate = slowest.messages / (slowest.nanoseconds / 1e9)
    # By the clock of the window: where many sessions share a loop, one may wait for most of it
    # and then take its messages at once, and that is nobody's rate.
    delivered = sum(one.messages for one in reports.received) / plan.seconds
    carried = rate * plan.seconds
    rates = _rates(reports)
    if plan.turns > 1:
        if not rates:
            raise BenchFailed("no turn was in the measured time; measure longer")
        carried, rate = slowest.messages, median(rates)
        delivered *= plan.turns
    latencies = sorted(taken for one in reports.received for taken in one.latencies)
    trips = sorted(taken for one in reports.sent for taken in one.round_trips)

    def cost(messages: float) -> float | None:
        return round(cpu * 1e6 / messages, 3) if daemons else None

    found: Figures = {
        "messages_per_second": round(rate),
        "megabytes_per_second": round(rate * plan.size / 1e6, 3),
        "latency_p50_us": _microseconds(latencies, 0.50),
        "latency_p99_us": _microseconds(latencies, 0.99),
        "daemon_cpu_us_per_message": cost(carried * daemons),
        "deliveries_per_second": round(delivered),
        "daemon_cpu_us_per_delivery": cost(sum(one.messages for one in reports.received)),
        "messages": min(one.all_messages for one in reports.received),
        "lost": max(one.lost for one in reports.received),
    }
    if plan.rate:
        found["round_trip_p50_us"] = _microseconds(trips, 0.50)
        found["round_trip_p99_us"] = _microseconds(trips, 0.99)
        found["rate"] = plan.rate
    if plan.turns > 1:
        found["rates"] = rates
    return found | {
        "senders": plan.senders,
        "receivers": plan.receivers,
        "groups": plan.groups,
        "size": plan.size,
        "service": ",".join(service.name.lower() for service in plan.services),
        "seconds": plan.seconds,
        "warmup": plan.warmup,
        "api": plan.api,
        "client": plan.client,
        "await_each": plan.await_each,
        "receive_each": plan.receive_each,
    }


def _rates(reports: Reports) -> list[float]:
    """Of each turn, at the slowest receiver."""
    by_receiver = [one.rates for one in reports.received]
    if len(set(map(len, by_receiver))) > 1:
        raise BenchFailed("a receiver got nothing in a turn; have fewer things run beside it")
    return [min(turn) for turn in zip(*by_receiver, strict=True)]


def _microseconds(ordered: Sequence[int], part: float) -> float | None:
    found = percentile(ordered, part)
    return None if found is None else round(found / 1000, 1)


def percentile(ordered: Sequence[int], part: float) -> int | None:
    """The least of these, sorted, that so large a part of them does not exceed."""
    if not ordered:
        return None
    return ordered[max(0, min(len(ordered) - 1, -int(-part * len(ordered) // 1) - 1))]
