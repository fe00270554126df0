"""Bugs in the agreement on who is there."""

from typing import Any

import msgspec

from antiphon.core.ids import Member
from antiphon.protocol.membership.chair import Chair
from antiphon.protocol.membership.membership import Membership, State
from antiphon.protocol.membership.merging import merge_members
from antiphon.protocol.node import Node
from antiphon.sim.mutants.planting import mutants_of, swap, whenever
from antiphon.wire.control import Digest, Hello, MemberState


def commit_by_majority(node: Node) -> None:
    """A leader takes its party for ready when more than half are."""

    def change(chair: Chair) -> None:
        def add_ready(original: Any, member: Member) -> bool:
            done: bool = original(member)
            return done or 2 * len(chair.party.ready) > len(chair.party.members)

        swap(chair.party, "add_ready", add_ready)

    whenever(node.membership, "_chair", change)


def company_by_member_lists(node: Node) -> None:
    """Who was in my configuration counts as coming from it, whatever it says itself."""
    membership = node.membership

    def take_digest(original: Any, now: int, digest: Digest) -> Any:
        base = membership.installed.id
        party = tuple(
            msgspec.structs.replace(state, base=base)
            if state.member in membership.installed.members
            else state
            for state in digest.party
        )
        return original(now, _told_of_party(membership, digest, party))

    swap(membership, "_take_digest", take_digest)


def _told_of_party(
    membership: Membership, digest: Digest, party: tuple[MemberState, ...]
) -> Digest:
    """A digest that says this of our own party."""
    mine = membership._require_attempt().index
    sites = tuple(
        merge_members(party) if at == mine else parts for at, parts in enumerate(digest.sites)
    )
    return msgspec.structs.replace(digest, sites=sites, party=party)


def company_of_all(node: Node) -> None:
    """Everybody in the new configuration counts as coming from the old one."""
    membership = node.membership

    def take_digest(original: Any, now: int, digest: Digest) -> Any:
        base = membership.installed.id
        party = tuple(msgspec.structs.replace(state, base=base) for state in digest.party)
        return original(now, _told_of_party(membership, digest, party))

    swap(membership, "_take_digest", take_digest)


def epochs_not_learned(node: Node) -> None:
    """A coordinator counts its own epochs only, so that others have seen higher ones."""
    swap(node.membership._outlook, "epoch", lambda original, now: 0)


def ids_used_again(node: Node) -> None:
    """A coordinator proposes again under the id of its last attempt."""
    membership = node.membership
    ids = membership.ids

    def propose(original: Any, *arguments: Any) -> Any:
        before = ids.epoch, ids._counter
        effects = original(*arguments)
        ids.epoch, ids._counter = before
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
    peers = node.membership._site.peers

    def hear(original: Any, now: int, sender: Member, hello: Hello) -> Any:
        known = peers._peers.get(sender.daemon)
        return original(now, sender if known is None else known.member, hello)

    swap(peers, "hear", hear)


def penalty_without_end(node: Node) -> None:
    """A member that was once left out is left out for ever."""
    penalties = node.membership._site.penalties
    swap(penalties, "excludes", lambda original, now, daemon: daemon in penalties._until)
    swap(penalties, "excluded", lambda original, now: list(penalties._until))


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
