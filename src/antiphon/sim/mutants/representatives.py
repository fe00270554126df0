"""Bugs in how leaders act for their parties."""

from typing import Any

import msgspec

from antiphon.protocol.membership.chair import Chair
from antiphon.protocol.membership.federation import Party
from antiphon.protocol.membership.merging import merge_members
from antiphon.protocol.node import Node
from antiphon.sim.mutants.planting import mutants_of, swap, whenever
from antiphon.wire.control import SiteState


def party_told_once(node: Node) -> None:
    """A leader goes on reporting the party that it had at first."""
    first: list[Party] = []

    def lead(original: Any, now: int, party: Party, known: Any) -> Any:
        first.append(party)
        return original(now, first[0], known)

    swap(node.membership._federation, "lead", lead)


def committed_by_one_site(node: Node) -> None:
    """A coordinator takes all sites for ready when one of them is."""

    def change(chair: Chair) -> None:
        leaders = chair.leaders
        if leaders is not None:
            swap(leaders, "add_ready", lambda original, member: original(member) or True)

    whenever(node.membership, "_chair", change)


def party_as_its_leader(node: Node) -> None:
    """A leader tells what it holds itself as what its party holds together."""

    def change(chair: Chair) -> None:
        def site_state(original: Any) -> SiteState:
            told = chair.party.told()
            mine = next(state for state in told if state.member == node.me)
            place = (mine.base, mine.segment)
            alike = [
                msgspec.structs.replace(mine, member=state.member)
                if (state.base, state.segment) == place
                else state
                for state in told
            ]
            return SiteState(chair.attempt.id, merge_members(alike))

        swap(chair, "_site_state", site_state)

    whenever(node.membership, "_chair", change)


def leads_for_ever(node: Node) -> None:
    """Who has led its site goes on greeting others as its leader when another leads."""
    swap(node.membership._federation, "follow", lambda original, *arguments: [])


def silent_sites_not_greeted(node: Node) -> None:
    """A leader greets only those who have greeted it."""
    swap(node.membership._federation, "_probe", lambda original, now: [])


MUTANTS = mutants_of(
    "representative",
    party_told_once,
    committed_by_one_site,
    party_as_its_leader,
    leads_for_ever,
    silent_sites_not_greeted,
    sites=True,
)
