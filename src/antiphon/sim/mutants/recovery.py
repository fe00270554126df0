"""Bugs in what becomes of a configuration's messages when it ends."""

from typing import Any

from antiphon.core.bundle import Bundle
from antiphon.core.effects import Holdings
from antiphon.protocol.node import Node
from antiphon.protocol.stream.delivery import Delivery
from antiphon.protocol.stream.recovery import UNLIMITED, Plan
from antiphon.protocol.stream.ring import Ring
from antiphon.sim.mutants.planting import changed, mutants_of, on_delivery, on_plan, swap, whenever


def freeze_ignored(node: Node) -> None:
    """Packets of the old configuration are taken even after its holdings were reported."""
    stream = node.stream

    def ring_of(original: Any, config: Any) -> Ring | None:
        ring = stream._ring
        return ring if ring is not None and ring.configuration.id == config else None

    swap(stream, "_ring_of", ring_of)


def nothing_fetched(node: Node) -> None:
    """Recovery does not fetch what only others hold."""

    def change(plan: Plan) -> None:
        swap(plan, "missing", lambda original, delivery: {})

    on_plan(node, change)


def no_pledge(node: Node) -> None:
    """A member that is ready does not keep what it promised to deliver."""

    def finish(original: Any) -> Any:
        ring = node.stream._ring
        sources = ring.delivery.sources if ring is not None else []
        before = [source.pledged.copy() for source in sources]
        effects = original()
        for source, pledged in zip(sources, before, strict=True):
            source.pledged = pledged
        return effects

    swap(node.stream, "_finish_recovery", finish)


def early_not_reported(node: Node) -> None:
    """The holdings do not say what was delivered ahead of the order."""

    def freeze(original: Any, attempt: Any) -> Any:
        effects = original(attempt)
        for effect in effects:
            if isinstance(effect, Holdings):
                effect.streams = tuple(stream._replace(early=()) for stream in effect.streams)
        return effects

    swap(node.stream, "_freeze", freeze)


def delivered_not_reported(node: Node) -> None:
    """What a daemon has delivered it does not keep for those who lack it."""
    stream = node.stream

    def freeze(original: Any, attempt: Any) -> Any:
        if stream._ring is not None:
            delivery = stream._ring.delivery
            for source in delivery.sources:
                for sequence in [one for one in source.held if one <= source.passed]:
                    del source.held[sequence]
        return original(attempt)

    swap(stream, "_freeze", freeze)


def unstable_safe_in_regular_part(node: Node) -> None:
    """At the end a safe message that not all hold is delivered as if the others were there."""

    def change(plan: Plan) -> None:
        swap(plan, "regular", lambda original, bundle: bundle.stamp <= plan.complete_to)

    on_plan(node, change)


def loss_of_members_ignored(node: Node) -> None:
    """Everything is delivered in the regular part, though members are lost."""

    def change(plan: Plan) -> None:
        plan.complete_to = plan.stable_to = UNLIMITED

    on_plan(node, change)


def dropped_behind_hole(node: Node) -> None:
    """Behind a possible hole even the messages of those who come along are dropped."""

    def change(plan: Plan) -> None:
        def survives(original: Any, bundle: Bundle) -> bool:
            early = bundle.sequence in plan.early[bundle.segment]
            return bundle.stamp <= plan.complete_to or early

        swap(plan, "survives", survives)

    on_plan(node, change)


def kept_behind_hole(node: Node) -> None:
    """Behind a possible hole nothing is dropped."""

    def change(plan: Plan) -> None:
        swap(plan, "survives", lambda original, bundle: True)

    on_plan(node, change)


def last_in_order_of_arrival(node: Node) -> None:
    """What is left at the end is delivered in the order in which it came."""

    def change(delivery: Delivery) -> None:
        def undelivered(original: Any) -> list[Bundle]:
            left = {bundle.position for bundle in original()}
            held = [one for source in delivery.sources for one in source.held.values()]
            return [bundle for bundle in held if bundle.position in left]

        swap(delivery, "undelivered", undelivered)

    on_delivery(node, change)


def last_delivered_again(node: Node) -> None:
    """What ran ahead of the order is delivered once more at the end."""

    def change(delivery: Delivery) -> None:
        def undelivered(original: Any) -> list[Bundle]:
            held = [one for source in delivery.sources for one in source.held.values()]
            left = [bundle for bundle in held if bundle.position > delivery.cursor]
            return sorted(left, key=lambda bundle: bundle.position)

        swap(delivery, "undelivered", undelivered)

    on_delivery(node, change)


def fragments_in_order_of_arrival(node: Node) -> None:
    """The fragments of a fetched message are joined in the order in which they came."""

    def change(pull: Any) -> None:
        def take(original: Any, holder: Any, data: Any) -> Bundle | None:
            bundle: Bundle | None = original(holder, data)
            place = (data.segment, data.order[0])
            parts = pull._parts.get(place, {})
            arrived[place] = list(parts.values()) or arrived.get(place, [])
            if bundle is not None and data.fragments > 1:
                bundle.body = b"".join([*arrived[place], data.data])
            return bundle

        arrived: dict[tuple[int, int], list[bytes]] = {}
        swap(pull, "take", take)

    whenever(node.stream, "_pull", change)


def unstable_sent_again(node: Node) -> None:
    """What was not stable when a configuration ended is sent once more in the next."""
    stream = node.stream

    def install(original: Any, *arguments: Any) -> Any:
        ring = stream._ring
        held = ring.delivery.own.held.values() if ring is not None else ()
        again = [
            changed(bundle, sequence=0)
            for bundle in held
            if ring is not None and bundle.sender == node.me and not bundle.control
            if bundle.stamp > ring.delivery.stable
        ]
        for bundle in again:
            stream._outbox.push(bundle, 0)
        return original(*arguments)

    swap(stream, "_install", install)


MUTANTS = mutants_of(
    "recovery",
    freeze_ignored,
    nothing_fetched,
    no_pledge,
    early_not_reported,
    delivered_not_reported,
    unstable_safe_in_regular_part,
    loss_of_members_ignored,
    dropped_behind_hole,
    kept_behind_hole,
    last_in_order_of_arrival,
    last_delivered_again,
    fragments_in_order_of_arrival,
    unstable_sent_again,
)
