"""A leader's side of an attempt: it asks its party, and if it coordinates, the other leaders.

What comes leads to what is to be said next, to others or to the leader itself, which is a
member of its party and, as coordinator, one of its own leaders.
"""

from typing import NamedTuple

from antiphon.core.ids import Member
from antiphon.protocol.membership.attempt import Attempt, Collection, member_state, proposal
from antiphon.protocol.membership.merging import members_of, merge_members
from antiphon.wire.control import (
    Commit,
    Digest,
    MemberState,
    PacketMessage,
    Ready,
    SiteReady,
    SiteState,
    State,
)


class Speech(NamedTuple):
    to: tuple[Member, ...]
    message: PacketMessage


class Step(NamedTuple):
    """What follows from a message."""

    progress: bool
    speech: Speech | None = None


Told = State | SiteState | Ready | SiteReady | Digest


class Chair:
    def __init__(self, attempt: Attempt, coordinating: bool) -> None:
        self.attempt = attempt
        self.party: Collection[MemberState] = Collection(attempt.segment)
        leaders = tuple(members[0] for members in attempt.configuration.segments)
        self.leaders: Collection[SiteState] | None = Collection(leaders) if coordinating else None

    def hear(self, sender: Member, message: Told) -> str | Step:
        """Why it is refused, or what follows."""
        match message:
            case State():
                return self._hear_state(sender, message)
            case Ready():
                return self._hear_ready(sender)
            case Digest():
                return self._hear_digest(sender, message)
            case SiteState():
                return self._hear_site_state(sender, message)
            case SiteReady():
                return self._hear_site_ready(sender)

    # From the party, to the coordinator.

    def _hear_state(self, sender: Member, state: State) -> Step:
        if self.party.digest is not None:  # it was lost, or the member still recovers
            self.attempt.progressed = True
            return Step(True, Speech((sender,), self.party.digest))
        news = sender not in self.party.states
        if not self.party.add_state(sender, member_state(sender, state)):
            return Step(news)
        return Step(news, Speech((self.attempt.coordinator,), self._site_state()))

    def _hear_ready(self, sender: Member) -> Step:
        news = sender not in self.party.ready
        if not self.party.add_ready(sender) or not news:
            return Step(news)  # who says it again does not make me say it again far away
        return Step(news, Speech((self.attempt.coordinator,), SiteReady(self.attempt.id)))

    # From the coordinator, to the party.

    def _hear_digest(self, sender: Member, digest: Digest) -> str | Step:
        """What all segments hold; the party is told its own part one by one."""
        if sender != self.attempt.coordinator:
            return "false_coordinator"
        if self.party.digest is not None:
            return Step(False)  # I have it
        if not self.party.complete or not self.attempt.fits_leaders(digest, self._site_state()):
            return "bad_digest"
        self.party.digest = Digest(self.attempt.id, digest.sites, self.party.told())
        return Step(True, Speech(self.party.members, self.party.digest))

    # From leaders, to leaders.

    def _hear_site_state(self, sender: Member, state: SiteState) -> str | Step:
        leaders = self.leaders
        if leaders is None:
            return "other_attempt"
        if members_of(state.parts) != self.attempt.configuration.segment_of(sender):
            return "bad_state"
        if leaders.digest is not None:  # it was lost, or they still recover
            return Step(True, Speech((sender,), leaders.digest))
        news = sender not in leaders.states
        if not leaders.add_state(sender, state):
            return Step(news)
        sites = tuple(told.parts for told in leaders.told())
        leaders.digest = Digest(self.attempt.id, sites, ())
        return Step(True, Speech(leaders.members, leaders.digest))

    def _hear_site_ready(self, sender: Member) -> str | Step:
        leaders = self.leaders
        if leaders is None:
            return "other_attempt"
        news = sender not in leaders.ready
        if not leaders.add_ready(sender) or not news:
            return Step(news)
        return Step(news, Speech(leaders.members, Commit(self.attempt.id)))

    # What is said again.

    def repeat(self) -> Speech | None:
        """Inside the party."""
        if self.party.complete:
            return None
        return Speech(tuple(self.party.silent()), self._proposal())

    def repeat_far(self) -> Speech | None:
        """Between leaders."""
        attempt = self.attempt
        if self.leaders is not None:
            if self.leaders.complete:
                return None
            return Speech(tuple(self.leaders.silent()), self._proposal())
        above = (attempt.coordinator,)
        if self.party.all_ready:
            return Speech(above, SiteReady(attempt.id))
        if self.party.complete and (self.party.digest is None or attempt.progressed):
            attempt.progressed = False
            return Speech(above, self._site_state())
        return None

    def _proposal(self) -> PacketMessage:
        return proposal(self.attempt.configuration, self.attempt.reason)

    def _site_state(self) -> SiteState:
        return SiteState(self.attempt.id, merge_members(self.party.told()))

    def silent(self) -> list[Member]:
        """Because of whom it does not go on."""
        if self.party.waiting:
            return self.party.silent()
        return self.leaders.silent() if self.leaders is not None else []


def state_again(attempt: Attempt, waiting: bool) -> Speech | None:
    """A member's, while it waits for the digest or has fetched something since."""
    if attempt.mine is None or not (waiting or attempt.progressed):
        return None
    attempt.progressed = False
    return Speech((attempt.leader,), attempt.mine)
