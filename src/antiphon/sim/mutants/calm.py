"""Bugs of a calm ring, where safe messages do not wait for the token."""

from typing import Any

from antiphon.core.ids import DaemonId
from antiphon.protocol.node import Node
from antiphon.protocol.stream.ring import Ring
from antiphon.protocol.stream.token import UsableAru
from antiphon.sim.mutants.planting import mutants_of, on_ring, swap


def one_word_for_all(node: Node) -> None:
    """What one member says that it holds counts as held by all."""

    def change(ring: Ring) -> None:
        prompt = ring._prompt
        if prompt is None:
            return

        def hear(original: Any, member: DaemonId, stamp: int) -> None:
            original(member, stamp)
            prompt.held = max(prompt.held, stamp)

        swap(prompt, "hear", hear)

    on_ring(node, change)


def a_stay_is_a_rotation(node: Node) -> None:
    """A token that stayed and is visited again counts as one that has been round."""

    def change(ring: Ring) -> None:
        for aru in (ring._link_aru, ring._site_aru):
            swap(aru, "leave", _visit(aru))

    on_ring(node, change)


def _visit(aru: UsableAru) -> Any:
    return lambda original, value: aru.visit(value)


MUTANTS = mutants_of("ring", one_word_for_all, a_stay_is_a_rotation)
