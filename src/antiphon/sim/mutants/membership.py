"""Bugs in the agreement on who is there."""

from typing import Any

import msgspec

from antiphon.core.ids import Member
from antiphon.protocol.membership.attempt import Collection
from antiphon.protocol.membership.membership import State
from antiphon.protocol.node import Node
from antiphon.sim.mutants.planting import mutants_of, swap, whenever
from antiphon.wire.control import Digest, Hello


def commit_by_majority(node: Node) -> None:
    """The coordinator commits when more than half are ready."""

    def change(collection: Collection) -> None:
        def add_ready(original: Any, member: Member) -> bool:
            done: bool = original(member)
            return done or 2 * len(collection.ready) > len(collection.attempt.configuration.members)

        swap(collection, "add_ready", add_ready)

    whenever(node.membership, "_collection", change)


def company_by_member_lists(node: Node) -> None:
    """Who was in my configuration counts as coming from it, whatever it says itself."""
    membership = node.membership

    def take_digest(original: Any, now: int, digest: Digest) -> Any:
        base = membership.installed.id
        states = tuple(
            msgspec.structs.replace(state, base=base)
            if state.member in membership.installed.members
            else state
            for state in digest.states
        )
        return original(now, msgspec.structs.replace(digest, states=states))

    swap(membership, "_take_digest", take_digest)


def company_of_all(node: Node) -> None:
    """Everybody in the new configuration counts as coming from the old one."""
    membership = node.membership

    def take_digest(original: Any, now: int, digest: Digest) -> Any:
        base = membership.installed.id
        states = tuple(msgspec.structs.replace(state, base=base) for state in digest.states)
        return original(now, msgspec.structs.replace(digest, states=states))

    swap(membership, "_take_digest", take_digest)


def epochs_not_learned(node: Node) -> None:
    """A coordinator counts its own epochs only, so that others have seen higher ones."""

    def counted(original: Any, now: int) -> dict[Member, Hello]:
        hellos = original(now).items()
        return {who: msgspec.structs.replace(hello, epoch=0) for who, hello in hellos}

    swap(node.membership, "_counted", counted)


def ids_used_again(node: Node) -> None:
    """A coordinator proposes again under the id of its last attempt."""
    membership = node.membership

    def propose(original: Any, now: int) -> Any:
        before = membership._epoch, membership._counter
        effects = original(now)
        membership._epoch, membership._counter = before
        return effects

    swap(membership, "_propose", propose)


def strangers_ignored(node: Node) -> None:
    """A configuration that works never takes anybody in."""
    membership = node.membership

    def healthy(original: Any, *arguments: Any) -> bool:
        return membership.state == State.OPERATIONAL or bool(original(*arguments))

    swap(membership, "_healthy", healthy)


def trouble_ignored(node: Node) -> None:
    """Membership does not react when the ring breaks."""
    swap(node.membership, "_hear_trouble", lambda original, *arguments: [])


def restart_unnoticed(node: Node) -> None:
    """A daemon that restarted is taken for its former life."""
    peers = node.membership._peers

    def hear(original: Any, now: int, sender: Member, hello: Hello) -> Any:
        known = peers._peers.get(sender.daemon)
        return original(now, sender if known is None else known.member, hello)

    swap(peers, "hear", hear)


def penalty_without_end(node: Node) -> None:
    """A member that was once left out is left out for ever."""
    penalties = node.membership._penalties
    swap(penalties, "excludes", lambda original, now, daemon: daemon in penalties._until)


MUTANTS = mutants_of(
    "membership",
    commit_by_majority,
    company_by_member_lists,
    company_of_all,
    epochs_not_learned,
    ids_used_again,
    strangers_ignored,
    trouble_ignored,
    restart_unnoticed,
    penalty_without_end,
)
