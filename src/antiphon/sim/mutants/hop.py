"""Bugs in the links between sites."""

from collections.abc import Callable
from typing import Any

from antiphon.protocol.links.hop import Hop
from antiphon.protocol.node import Node
from antiphon.sim.mutants.planting import mutants_of, swap


def acks_what_it_lacks(node: Node) -> None:
    """An end says that it has received everything that it has heard of."""

    def change(link: Hop) -> None:
        def state(original: Any, now: int, runs_max: int) -> Any:
            ack = original(now, runs_max)
            ack.received, ack.runs = link.receiving.highest, ()
            return ack

        swap(link, "_state", state)

    _on_links(node, change)


def gaps_forgotten(node: Node) -> None:
    """What is missing when it would be asked for counts as received."""

    def change(link: Hop) -> None:
        def take_due(original: Any, now: int) -> Any:
            for sequence in original(now)[0]:
                del link.receiving.missing[sequence]
            return [], False

        swap(link.receiving, "take_due", take_due)

    _on_links(node, change)


def nacks_unanswered(node: Node) -> None:
    """Nothing is sent again."""

    def change(link: Hop) -> None:
        swap(link.sending, "request", lambda original, *arguments: False)

    _on_links(node, change)


def _on_links(node: Node, change: Callable[[Hop], None]) -> None:
    """Each configuration has links of its own; those over TCP have no such bugs."""

    def link_to(original: Any, *arguments: Any) -> Any:
        link = original(*arguments)
        if isinstance(link, Hop):
            change(link)
        return link

    swap(node.links, "_link_to", link_to)


MUTANTS = mutants_of(
    "hop",
    acks_what_it_lacks,
    gaps_forgotten,
    nacks_unanswered,
    sites=True,
)
