"""One attempt at a configuration, from both sides.

The coordinator collects what every member holds, tells it to all, waits until all are
ready, and commits. Each side repeats its last message until the other moves on.
"""

from antiphon.core.effects import Holdings
from antiphon.core.ids import ConfigId, Configuration, Member
from antiphon.core.machine import Instant
from antiphon.wire.control import Digest, MemberState, State


class Attempt:
    """What a member knows of the attempt it takes part in; `mine` is set when it holds."""

    def __init__(self, configuration: Configuration, reason: str, now: Instant) -> None:
        self.configuration = configuration
        self.reason = reason
        self.began = now
        self.mine: State | None = None
        self.recovering_since: Instant = now
        self.progressed = False
        """Something came since my last message to the coordinator."""

    @property
    def id(self) -> ConfigId:
        return self.configuration.id

    def fits(self, digest: Digest, me: Member, installed: Configuration) -> bool:
        """It speaks of all members and of nobody else, and says of me what I said."""
        if tuple(state.member for state in digest.states) != self.configuration.members:
            return False
        streams = len(installed.segments)
        for state in digest.states:
            if state.base == installed.id and len(state.streams) != streams:
                return False
        mine = digest.states[self.configuration.members.index(me)]
        return self.mine is not None and mine == member_state(me, self.mine)


class Collection:
    """What the coordinator has from the members."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self.states: dict[Member, State] = {}
        self.ready: set[Member] = set()
        self.digest: Digest | None = None

    def add_state(self, member: Member, state: State) -> bool:
        """True when this was the last one."""
        if member not in self.attempt.configuration.members or self.digest is not None:
            return False
        self.states[member] = state
        if len(self.states) < len(self.attempt.configuration.members):
            return False
        self.digest = Digest(
            self.attempt.id,
            tuple(member_state(*entry) for entry in sorted(self.states.items())),
        )
        return True

    def add_ready(self, member: Member) -> bool:
        if member not in self.attempt.configuration.members:
            return False
        self.ready.add(member)
        return len(self.ready) == len(self.attempt.configuration.members)

    def silent(self) -> list[Member]:
        """Who keeps the others waiting."""
        answered = self.ready if self.digest is not None else set(self.states)
        return [member for member in self.attempt.configuration.members if member not in answered]


def coordinator_of(config: ConfigId) -> Member:
    return Member(config.coordinator, config.incarnation)


def member_state(member: Member, state: State) -> MemberState:
    return MemberState(member, state.base, state.streams, state.stable, state.cursor)


def state_message(holdings: Holdings, base: ConfigId) -> State:
    return State(
        holdings.attempt,
        base,
        holdings.streams,
        holdings.stable,
        holdings.cursor,
    )


def holdings_of(state: MemberState, attempt: ConfigId) -> Holdings:
    return Holdings(attempt, state.streams, state.stable, state.cursor)
