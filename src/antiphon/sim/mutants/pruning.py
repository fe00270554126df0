"""Bugs in who gets a message of another site, and in the changes of groups that decide it."""

from typing import Any

from antiphon.core.bundle import Bundle
from antiphon.protocol.node import Node
from antiphon.protocol.stream.delivery import Delivery
from antiphon.protocol.stream.reaching import Reaching
from antiphon.protocol.stream.ring import Ring
from antiphon.protocol.stream.source import Source
from antiphon.sim.mutants.planting import mutants_of, on_delivery, on_ring, swap


def chain_skipped(node: Node) -> None:
    """A bundle counts as the next of its chain, whatever lies between."""

    def change(delivery: Delivery) -> None:
        for source in delivery.sources:
            swap(source, "add", _next_in_chain(source))

    on_delivery(node, change)


def _next_in_chain(source: Source) -> Any:
    def add(original: Any, bundle: Bundle, before: int | None) -> bool:
        return bool(original(bundle, None if before is None else source.chained))

    return add


def heads_ignored(node: Node) -> None:
    """What a report says counts at once, though the chain has not come to its head."""

    def change(delivery: Delivery) -> None:
        def learn(original: Any, segment: int, count: int, floor: int, head: int) -> None:
            original(segment, count, floor, 0)

        swap(delivery, "learn", learn)

    on_delivery(node, change)


def last_site_left_out(node: Node) -> None:
    """A message is not for the highest of the sites that want it."""

    def mask(reaching: Reaching) -> Any:
        def smaller(original: Any, bundle: Bundle) -> int:
            wanted: int = original(bundle)
            others = wanted & ~(1 << reaching._mine)
            return wanted if not others else wanted & ~(1 << others.bit_length() - 1)

        return smaller

    _on_reaching(node, "mask", mask)


def joins_not_learned(node: Node) -> None:
    """Which sites want a group is read when a configuration begins, and never again."""

    def learn(reaching: Reaching) -> Any:
        def once(original: Any, name: Any, daemons: Any) -> None:
            if name not in reaching._of_group:
                original(name, daemons)

        return once

    _on_reaching(node, "learn", learn)


def _on_reaching(node: Node, name: str, make: Any) -> None:
    def change(ring: Ring) -> None:
        swap(ring.stamping.reaching, name, make(ring.stamping.reaching))

    on_ring(node, change)


def intent_not_awaited(node: Node) -> None:
    """A group change is made before everybody knows that it comes."""

    def change(ring: Ring) -> None:
        swap(ring.stamping, "may", lambda original, bundle: bundle.control or original(bundle))

    on_ring(node, change)


def sent_while_announced(node: Node) -> None:
    """Messages are stamped though a change of their group is announced."""

    def change(ring: Ring) -> None:
        swap(ring.stamping._gates, "hold", lambda original, bundle: False)

    on_ring(node, change)


MUTANTS = mutants_of(
    "pruning",
    chain_skipped,
    heads_ignored,
    last_site_left_out,
    joins_not_learned,
    intent_not_awaited,
    sent_while_announced,
    sites=True,
)
