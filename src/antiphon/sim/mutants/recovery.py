"""Bugs in what becomes of a configuration's messages when it ends."""

from typing import Any

import msgspec

from antiphon.core.bundle import Bundle
from antiphon.core.effects import Holdings, Recover
from antiphon.core.ranges import RangeSet
from antiphon.protocol.node import Node
from antiphon.protocol.stream.delivery import Delivery
from antiphon.protocol.stream.recovery import Plan
from antiphon.protocol.stream.ring import Ring
from antiphon.sim.mutants.planting import mutants_of, on_delivery, on_plan, swap, whenever


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
        swap(plan, "missing", lambda original, complete, held: RangeSet())

    on_plan(node, change)


def no_pledge(node: Node) -> None:
    """A member that is ready does not keep what it promised to deliver."""

    def finish(original: Any) -> Any:
        ring = node.stream._ring
        before = ring.delivery.pledged.copy() if ring is not None else RangeSet()
        effects = original()
        if ring is not None:
            ring.delivery.pledged = before
        return effects

    swap(node.stream, "_finish_recovery", finish)


def early_not_reported(node: Node) -> None:
    """The holdings do not say what was delivered ahead of the order."""

    def freeze(original: Any, attempt: Any) -> Any:
        effects = original(attempt)
        for effect in effects:
            if isinstance(effect, Holdings):
                effect.early = ()
        return effects

    swap(node.stream, "_freeze", freeze)


def delivered_not_reported(node: Node) -> None:
    """What a daemon has delivered it does not keep for those who lack it."""
    stream = node.stream

    def freeze(original: Any, attempt: Any) -> Any:
        if stream._ring is not None:
            delivery = stream._ring.delivery
            for sequence in [one for one in delivery.held if one <= delivery.cursor]:
                del delivery.held[sequence]
        return original(attempt)

    swap(stream, "_freeze", freeze)


def unstable_safe_in_regular_part(node: Node) -> None:
    """At the end a safe message that not all hold is delivered as if the others were there."""

    def change(plan: Plan) -> None:
        swap(plan, "regular", lambda original, bundle: bundle.sequence <= plan.complete_to)

    on_plan(node, change)


def loss_of_members_ignored(node: Node) -> None:
    """Everything is delivered in the regular part, though members are lost."""

    def recover(original: Any, now: int, recover: Recover) -> Any:
        recover.whole = True
        return original(now, recover)

    swap(node.stream, "_recover", recover)


def dropped_behind_hole(node: Node) -> None:
    """Behind a possible hole even the messages of those who come along are dropped."""

    def change(plan: Plan) -> None:
        def survives(original: Any, bundle: Bundle) -> bool:
            return bundle.sequence <= plan.complete_to or bundle.sequence in plan.early

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
            left = {bundle.sequence for bundle in original()}
            return [delivery.held[sequence] for sequence in delivery.held if sequence in left]

        swap(delivery, "undelivered", undelivered)

    on_delivery(node, change)


def last_delivered_again(node: Node) -> None:
    """What ran ahead of the order is delivered once more at the end."""

    def change(delivery: Delivery) -> None:
        def undelivered(original: Any) -> list[Bundle]:
            held = sorted(delivery.held)
            return [delivery.held[sequence] for sequence in held if sequence > delivery.cursor]

        swap(delivery, "undelivered", undelivered)

    on_delivery(node, change)


def fragments_in_order_of_arrival(node: Node) -> None:
    """The fragments of a fetched message are joined in the order in which they came."""

    def change(pull: Any) -> None:
        def take(original: Any, data: Any) -> Bundle | None:
            bundle: Bundle | None = original(data)
            parts = pull._parts.get(data.order[0], {})
            arrived[data.order[0]] = list(parts.values()) or arrived.get(data.order[0], [])
            if bundle is not None and data.fragments > 1:
                bundle.body = b"".join([*arrived[data.order[0]], data.data])
            return bundle

        arrived: dict[int, list[bytes]] = {}
        swap(pull, "take", take)

    whenever(node.stream, "_pull", change)


def large_message_continued(node: Node) -> None:
    """A message that was partly sent is continued in the next configuration."""
    outbox = node.stream._outbox

    def restart(original: Any) -> None:
        sent = [(one, one.sent_bytes, one.sent_pieces) for one in outbox._queues.values()]
        original()
        for queue, size, pieces in sent:
            queue.sent_bytes, queue.sent_pieces = size, pieces

    swap(outbox, "restart", restart)


def unstable_sent_again(node: Node) -> None:
    """What was not stable when a configuration ended is sent once more in the next."""
    stream = node.stream

    def install(original: Any, *arguments: Any) -> Any:
        ring = stream._ring
        held = ring.delivery.held.values() if ring is not None else ()
        again = [
            msgspec.structs.replace(bundle, sequence=0)
            for bundle in held
            if ring is not None and bundle.sender == node.me and not bundle.control
            if bundle.sequence > ring.delivery.stable
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
    large_message_continued,
    unstable_sent_again,
)
