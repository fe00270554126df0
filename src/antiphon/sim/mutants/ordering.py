"""Bugs in the order of delivery: each service loses what makes it that service."""

from collections.abc import Callable
from typing import Any

import msgspec

from antiphon.core.bundle import Bundle
from antiphon.core.service import Service
from antiphon.protocol.node import Node
from antiphon.protocol.stream.assembly import Assembly
from antiphon.protocol.stream.delivery import Delivery
from antiphon.protocol.stream.ring import Ring
from antiphon.sim.mutants.planting import changed, mutants_of, on_delivery, on_ring, swap


def safe_as_agreed(node: Node) -> None:
    """A safe message is delivered in its turn, whoever holds it."""

    def change(delivery: Delivery) -> None:
        def advance(original: Any, taken: list[Bundle]) -> bool:
            stable, delivery.stable = delivery.stable, delivery.line
            moved: bool = original(taken)
            delivery.stable = stable
            return moved

        swap(delivery, "_advance", advance)

    on_delivery(node, change)


def stable_when_held_here(node: Node) -> None:
    """What this daemon holds itself counts as held by all."""

    def change(delivery: Delivery) -> None:
        swap(delivery, "make_stable", lambda original, stamp: original(delivery.line))

    on_delivery(node, change)


def stable_after_one_visit(node: Node) -> None:
    """The token's value counts at once, though members after us may still lower it."""

    def change(ring: Ring) -> None:
        aru = ring._site_aru

        def visit(original: Any, value: int) -> int:
            original(value)
            aru.value = max(aru.value, value)
            return aru.value

        swap(aru, "visit", visit)

    on_ring(node, change)


def fifo_without_chain(node: Node) -> None:
    """A fifo message is delivered on arrival."""
    _early_as_if(node, Service.FIFO, previous=0)


def fifo_by_direct_predecessor(node: Node) -> None:
    """A fifo message waits for the one before it only, which may itself have run ahead."""
    _early_if(
        node,
        Service.FIFO,
        lambda delivery, bundle: (
            bundle.previous <= delivery.sources[bundle.segment].passed
            or bundle.previous in delivery.sources[bundle.segment].ahead
        ),
    )


def causal_without_past(node: Node) -> None:
    """A causal message waits for its own session only."""
    _early_as_if(node, Service.CAUSAL, early_past=0, early_pasts=(), order_past=0)


def agreed_on_arrival(node: Node) -> None:
    """An agreed message does not wait for its turn."""
    _early_if(node, Service.AGREED, lambda delivery, bundle: True)


def agreed_passes_safe(node: Node) -> None:
    """An agreed message does not wait for a safe one before it that is not yet stable."""
    _early_if(node, Service.AGREED, lambda delivery, bundle: bundle.stamp <= delivery.line)


def _early_as_if(node: Node, service: Service, **fields: Any) -> None:
    """Messages of this service run ahead by the true rule, but as if they said something else."""

    def change(delivery: Delivery) -> None:
        def early(original: Any, bundle: Bundle, *rest: Any) -> bool:
            told = bundle
            if bundle.service == service:
                told = changed(bundle, **fields)
            return bool(original(told, *rest))

        swap(delivery, "_early", early)

    on_delivery(node, change)


def _early_if(node: Node, service: Service, rule: Callable[[Delivery, Bundle], bool]) -> None:
    """Messages of this service run ahead by this rule; group changes stay in place."""

    def change(delivery: Delivery) -> None:
        def add(original: Any, bundle: Bundle) -> bool:
            new: bool = original(bundle)
            if new and bundle.service == service and not bundle.control:
                delivery._waiting[bundle.position] = bundle
            return new

        def early(original: Any, bundle: Bundle, *rest: Any) -> bool:
            if bundle.service == service:
                return rule(delivery, bundle)
            return bool(original(bundle, *rest))

        swap(delivery, "add", add)
        swap(delivery, "_early", early)

    on_delivery(node, change)


def queue_overtaken(node: Node) -> None:
    """What a session submits passes what it submitted just before, if that still waits."""
    outbox = node.stream._outbox

    def push(original: Any, bundle: Bundle, priority: int) -> None:
        original(bundle, priority)
        waiting = outbox._queues[bundle.session].bundles
        if len(waiting) > 2:
            waiting[-1], waiting[-2] = waiting[-2], waiting[-1]

    swap(outbox, "push", push)


def order_past_not_passed_on(node: Node) -> None:
    """What was ordered before a message that ran ahead here is not in the past of ours."""
    remember_without(node, "order_past")


def remember_without(node: Node, field: str) -> None:
    """What is delivered leaves this of its past behind."""

    def change(delivery: Delivery) -> None:
        def remember(original: Any, bundle: Bundle) -> None:
            original(changed(bundle, **{field: 0}))

        swap(delivery, "remember", remember)

    on_delivery(node, change)


def own_past_forgotten(node: Node) -> None:
    """What the session itself sent is in the past of its next message only once delivered."""

    def change(ring: Ring) -> None:
        def stamp(original: Any, *arguments: Any) -> None:
            ring.stamping._past.clear()
            original(*arguments)

        swap(ring.stamping, "stamp", stamp)

    on_ring(node, change)


def unreliable_twice(node: Node) -> None:
    """A doubled packet brings an unreliable message again."""

    def change(ring: Ring) -> None:
        swap(ring._duplicates, "first_time", lambda original, *arguments: True)

    on_ring(node, change)


def unreliable_waits(node: Node) -> None:
    """An unreliable message that is complete waits until the next reliable one comes."""

    def change(ring: Ring) -> None:
        waiting: list[Any] = []

        def deliver_unreliable(original: Any, now: int, bundle: Bundle, effects: Any) -> None:
            original(now, bundle, effects)
            waiting.append(effects.pop())

        def deliver(original: Any, effects: list[Any]) -> None:
            original(effects)
            effects += waiting
            waiting.clear()

        swap(ring, "_deliver_unreliable", deliver_unreliable)
        swap(ring, "_deliver", deliver)

    on_ring(node, change)


def unreliable_in_part(node: Node) -> None:
    """An unreliable message with a part missing is delivered with noise in its place."""

    def change(ring: Ring) -> None:
        swap(ring._assembly, "add", _add_with_noise(ring._assembly))

    on_ring(node, change)


def _add_with_noise(assembly: Assembly) -> Any:
    def add(original: Any, now: int, sender: Any, piece: Any, *segment: int) -> Bundle | None:
        bundle: Bundle | None = original(now, sender, piece, *segment)
        partial = assembly._unreliable.get((sender, piece.session, piece.number))
        if bundle is not None or partial is None or partial.last is None:
            return bundle
        size = max(map(len, partial.parts.values()))
        for index in range(partial.last.index):
            if index not in partial.parts:
                hole = msgspec.structs.replace(piece, flags=0, index=index, data=b"\xff" * size)
                bundle = original(now, sender, hole, *segment)
        return bundle

    return add


MUTANTS = mutants_of(
    "ordering",
    safe_as_agreed,
    stable_when_held_here,
    stable_after_one_visit,
    fifo_without_chain,
    fifo_by_direct_predecessor,
    agreed_on_arrival,
    agreed_passes_safe,
    causal_without_past,
    queue_overtaken,
    order_past_not_passed_on,
    own_past_forgotten,
    unreliable_twice,
    unreliable_waits,
    unreliable_in_part,
)
