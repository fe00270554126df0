"""Bugs in what is kept of groups: its names, its bytes, and what is left out."""

from typing import Any

from antiphon.core.service import Service
from antiphon.protocol.node import Node
from antiphon.sim.mutants.planting import mutants_of, swap


def hole_not_named(node: Node) -> None:
    """What lies behind a hole is counted on, as if everybody had it."""

    def keep(original: Any, bundle: Any, body: Any, skipped: int, lineage: int) -> Any:
        return original(bundle, body, skipped, 0)

    swap(node.groups.keeping, "keep", keep)


def safe_not_kept(node: Node) -> None:
    """Only agreed messages go to the log."""

    def keep(original: Any, bundle: Any, *told: Any) -> Any:
        return [] if bundle.service == Service.SAFE else original(bundle, *told)

    swap(node.groups.keeping, "keep", keep)


def kept_with_local_bytes(node: Node) -> None:
    """An entry says who wrote it."""

    def cut(original: Any, group: str, rule: Any, bundle: Any, *told: Any) -> Any:
        bundle.number += node.me.daemon
        kept = original(group, rule, bundle, *told)
        bundle.number -= node.me.daemon
        return kept

    swap(node.groups.keeping, "_keep", cut)


def pruned_though_kept(node: Node) -> None:
    """Sites without members of a kept group do not get its messages."""
    swap(node.groups.keeping, "wants", lambda original, *told: False)


def repeats_taken(node: Node) -> None:
    """A keyed message is taken however often it comes."""
    swap(node.groups.keeping, "repeats", lambda original, body, count: 0)


def marks_not_exchanged(node: Node) -> None:
    """Each side of a merge remembers only its own producers."""

    def join(original: Any, told: Any) -> None:
        own = {state.group: state.marks for state in node.groups.keeping.states()}
        original(tuple(state._replace(marks=own.get(state.group, ())) for state in told))

    swap(node.groups.keeping, "join", join)


MUTANTS = (
    *mutants_of("kept", hole_not_named, safe_not_kept, kept_with_local_bytes),
    *mutants_of("kept", repeats_taken, marks_not_exchanged),
    *mutants_of("kept", pruned_though_kept, sites=True),
)
