"""Bugs in what sites know of each other: order, stability, and recovery over several streams."""

from typing import Any

from antiphon.protocol.node import Node
from antiphon.protocol.stream.recovery import Plan
from antiphon.protocol.stream.ring import Ring
from antiphon.sim.mutants.ordering import remember_without
from antiphon.sim.mutants.planting import mutants_of, on_plan, on_ring, swap
from antiphon.wire.reports import StreamReport


def held_by_hearsay(node: Node) -> None:
    """A leader reports as held by its site what it has only heard of."""

    def change(ring: Ring) -> None:
        def told(report: StreamReport) -> None:
            report.held = report.floor

        _on_reports(ring, told)

    on_ring(node, change)


def floor_too_high(node: Node) -> None:
    """A leader promises that nothing comes below a stamp which it has not reached."""

    def change(ring: Ring) -> None:
        def told(report: StreamReport) -> None:
            report.floor += 3

        _on_reports(ring, told)

    on_ring(node, change)


def _on_reports(ring: Ring, told: Any) -> None:
    if ring.abroad is None or ring.abroad.gateway is None:
        return

    def report(original: Any, now: int, ours: StreamReport) -> Any:
        told(ours)
        return original(now, ours)

    swap(ring.abroad.gateway, "report", report)


def stable_by_one_report(node: Node) -> None:
    """What one other site holds counts as held by all of them."""

    def change(ring: Ring) -> None:
        abroad = ring.abroad

        def renew(original: Any) -> None:
            reports = abroad._reports.values() if abroad is not None else ()
            held = max([report.held for report in reports], default=0)
            ring.delivery.make_stable(min(ring._site_aru.value, held))

        if abroad is not None:
            swap(ring, "_renew_stable", renew)

    on_ring(node, change)


def idle_sites_silent(node: Node) -> None:
    """A site that has nothing to send does not say how far it is."""

    def change(ring: Ring) -> None:
        def has_work(original: Any) -> bool:
            waiting = ring._outbox.waiting(ring.settled, ring.stamping.may)
            return bool(original()) and (waiting or not ring.stamping.several)

        swap(ring, "_has_work", has_work)

    on_ring(node, change)


def whole_by_one_member(node: Node) -> None:
    """A stream counts as whole if one daemon of its site comes along."""
    stream = node.stream

    def change(plan: Plan) -> None:
        ring = stream._ring
        segments = ring.configuration.segments if ring is not None else ()
        if len(segments) > 1 and all(set(part) & set(plan.together) for part in segments):
            plan.complete_to = plan.stable_to = 1 << 62

    on_plan(node, change)


def early_past_not_passed_on(node: Node) -> None:
    """What ran ahead before a message that we delivered is not in the past of ours.

    Inside a site it shows seldom: the token brings what ran ahead before anybody asks for it.
    """
    remember_without(node, "early_past")


def far_not_fetched(node: Node) -> None:
    """What only other sites hold is not fetched when a configuration ends."""

    def change(plan: Plan) -> None:
        def missing(original: Any, delivery: Any) -> Any:
            found = original(delivery)
            for index in list(found):
                for sequence in list(found[index]):
                    if not any(sequence in streams[index] for _, streams in plan._near):
                        found[index].remove_run(sequence, sequence)
                if not found[index]:
                    del found[index]
            return found

        swap(plan, "missing", missing)

    on_plan(node, change)


MUTANTS = mutants_of(
    "abroad",
    held_by_hearsay,
    floor_too_high,
    stable_by_one_report,
    idle_sites_silent,
    whole_by_one_member,
    early_past_not_passed_on,
    far_not_fetched,
    sites=True,
)
