"""Bugs in groups: views, who is in them, and who gets which message."""

from typing import Any

from antiphon.core.bundle import Bundle
from antiphon.core.effects import Delivered, SubmitState
from antiphon.core.trace import Cause
from antiphon.protocol.node import Node
from antiphon.protocol.stream.ring import Ring
from antiphon.sim.mutants.planting import mutants_of, on_ring, swap
from antiphon.wire.body import read_body
from antiphon.wire.changes import GroupState, pack_group_change, read_group_change


def sent_before_joint_view(node: Node) -> None:
    """Clients' messages are stamped before the group state of all is known."""

    def change(ring: Ring) -> None:
        ring.settled = True

    on_ring(node, change)


def sent_across_changes(node: Node) -> None:
    """Messages are stamped though a group change before them is not yet delivered here."""

    def fill(original: Any, packets_max: int, may: Any, way: Any) -> Any:
        return original(packets_max, lambda bundle: True, way)

    swap(node.stream._outbox, "fill", fill)


def changes_overtaken(node: Node) -> None:
    """A message may run ahead of a group change before it."""

    def change(ring: Ring) -> None:
        def stamp(original: Any, bundle: Bundle) -> None:
            original(bundle)
            bundle.after_change = 0

        swap(ring.stamping, "stamp", stamp)

    on_ring(node, change)


def unreliable_in_other_view(node: Node) -> None:
    """An unreliable message is handed on in whatever view it comes."""
    swap(node.groups, "_in_same_view", lambda original, bundle, groups: groups)


def no_shrink_view(node: Node) -> None:
    """At an install a group keeps the sessions of those that are gone."""
    swap(node.groups._directory, "cut", lambda original, *arguments: [])


def shrink_not_told(node: Node) -> None:
    """At an install a group loses members without telling those who stay."""

    def cut(original: Any, *arguments: Any) -> Any:
        original(*arguments)
        return []

    swap(node.groups._directory, "cut", cut)


def together_with_all(node: Node) -> None:
    """Every member of a joint view is said to have come along."""

    def tell_view(original: Any, now: int, local: Any, name: Any, group: Any, *told: Any) -> Any:
        old, together, cause, moved = told
        if cause == Cause.NETWORK:
            together = group.sessions()
        return original(now, local, name, group, old, together, cause, moved)

    swap(node.groups, "_tell_view", tell_view)


def disconnect_as_leave(node: Node) -> None:
    """A session that ends is said to have left by its own wish."""

    def leave(original: Any, *arguments: Any) -> Any:
        return original(*arguments[:-1], Cause.LEAVE)

    swap(node.groups, "_leave", leave)


def network_as_leave(node: Node) -> None:
    """Sessions lost or found by the network are said to have left by their own wish."""

    def tell_view(original: Any, *arguments: Any) -> Any:
        *rest, cause, moved = arguments
        return original(*rest, Cause.LEAVE if cause == Cause.NETWORK else cause, moved)

    swap(node.groups, "_tell_view", tell_view)


def join_as_network(node: Node) -> None:
    """A session that joins is said to have come by a merge."""

    def tell_view(original: Any, *arguments: Any) -> Any:
        *rest, cause, moved = arguments
        return original(*rest, Cause.NETWORK if cause == Cause.JOIN else cause, moved)

    swap(node.groups, "_tell_view", tell_view)


def cut_view_without_lineage(node: Node) -> None:
    """The id of a cut view does not say what it was cut from."""
    directory = node.groups._directory

    def cut(original: Any, *arguments: Any) -> Any:
        changed = original(*arguments)
        for _, group, _ in changed:
            group.view = group.view._replace(lineage=0)
        return changed

    swap(directory, "cut", cut)


def torn_view_without_lineage(node: Node) -> None:
    """The id of a view made behind a hole does not say who made it."""

    def deliver(original: Any, now: int, event: Delivered) -> Any:
        event.lineage = 0
        return original(now, event)

    swap(node.groups, "_deliver", deliver)


def transition_not_told(node: Node) -> None:
    """Sessions are not told that their view goes on with some of its members only."""
    swap(node.groups, "_signal_if_torn", lambda original, *arguments: [])


def own_messages_discarded(node: Node) -> None:
    """Every message is treated as if its sender did not want it back."""

    def deliver(original: Any, now: int, event: Delivered) -> Any:
        event.bundle.self_discard = True
        return original(now, event)

    swap(node.groups, "_deliver_messages", deliver)


def open_groups_closed(node: Node) -> None:
    """A message from no member of the group is handed out at its own daemon only."""
    groups = node.groups

    def deliver(original: Any, now: int, event: Delivered) -> Any:
        bundle = event.bundle
        if bundle.sender != node.me:
            defined = groups._directory.tables.of(bundle.origin)
            names = read_body(bundle.body, bundle.count, defined).names
            known = groups._directory.groups_of(bundle.origin)
            if not any(name in known for name in names):
                return []
        return original(now, event)

    swap(groups, "_deliver_messages", deliver)


def handed_after_leave(node: Node) -> None:
    """A session that left a group still gets the messages to it."""
    groups = node.groups
    left: dict[Any, Any] = {}

    def reaching(original: Any, number: int, destination: Any) -> Any:
        found = original(number, destination)
        more = (name for name in destination if (number, name) in left and name not in found)
        return (*found, *more)

    def leave(original: Any, now: int, session: Any, group: Any, *told: Any) -> Any:
        effects = original(now, session, group, *told)
        if effects and session[:2] == node.me and group in groups._directory.groups:
            left[session.number, group] = None
        return effects

    swap(groups, "_reaching", reaching)
    swap(groups, "_leave", leave)


def views_one_message_late(node: Node) -> None:
    """A group change counts only when the next message is delivered."""
    groups = node.groups
    waiting: list[Delivered] = []

    def deliver(original: Any, now: int, event: Delivered) -> Any:
        effects = []
        for earlier in waiting:
            effects += original(now, earlier)
        waiting.clear()
        if event.bundle.control and event.bundle.session:
            waiting.append(event)
            return effects
        return effects + original(now, event)

    def end_configuration(original: Any, now: int, event: Any) -> Any:
        effects = []
        for earlier in waiting:
            effects += groups._deliver(now, earlier)
        waiting.clear()
        return effects + original(now, event)

    swap(groups, "_deliver", deliver)
    swap(groups, "_become_transitional", end_configuration)


def state_not_told(node: Node) -> None:
    """After a merge nobody is told which sessions a family has."""
    groups = node.groups

    def tell_family(original: Any) -> Any:
        told = original()
        states = map(read_group_change, told.bodies)
        silent = [
            GroupState(state.members, ()) for state in states if isinstance(state, GroupState)
        ]
        return SubmitState(tuple(map(pack_group_change, silent)))

    swap(groups, "_tell_family", tell_family)


MUTANTS = mutants_of(
    "groups",
    sent_before_joint_view,
    sent_across_changes,
    changes_overtaken,
    unreliable_in_other_view,
    no_shrink_view,
    shrink_not_told,
    together_with_all,
    disconnect_as_leave,
    network_as_leave,
    join_as_network,
    cut_view_without_lineage,
    torn_view_without_lineage,
    transition_not_told,
    own_messages_discarded,
    open_groups_closed,
    handed_after_leave,
    views_one_message_late,
    state_not_told,
)
