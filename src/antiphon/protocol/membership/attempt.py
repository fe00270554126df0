"""One attempt at a configuration, from all sides.

A coordinator speaks with leaders, leaders with their parties. On both levels it is the same:
collect what each holds, tell it to all, wait until all are ready, commit. Each side repeats its
last message until the other moves on.
"""

from functools import lru_cache
from typing import Generic, TypeVar

from antiphon.core.effects import Holdings, Part, Recover
from antiphon.core.ids import ConfigId, Configuration, DaemonId, Member
from antiphon.core.machine import MILLISECOND, Instant
from antiphon.protocol.membership.merging import members_of
from antiphon.protocol.membership.routes import Routes
from antiphon.wire.control import Digest, MemberState, PartState, Propose, SiteState, State

T = TypeVar("T")

Holders = tuple[tuple[DaemonId, tuple[Holdings, ...]], ...]


class Attempt:
    """What a member knows of the attempt it takes part in; `mine` is set when it holds."""

    def __init__(self, configuration: Configuration, reason: str, me: Member, now: Instant) -> None:
        self.configuration = configuration
        self.reason = reason
        self.segment = configuration.segment_of(me)
        self.index = configuration.places[me]
        self.routes = Routes(configuration, me)
        self.began = now
        self.mine: State | None = None
        self.recovering_since: Instant = now
        self.progressed = False
        """Something came since my last message to whom I answer."""

    @property
    def id(self) -> ConfigId:
        return self.configuration.id

    @property
    def several(self) -> bool:
        return len(self.configuration.segments) > 1

    @property
    def leader(self) -> Member:
        return self.segment[0]

    @property
    def coordinator(self) -> Member:
        return coordinator_of(self.id)

    def phases(self, now: Instant, gather_since: Instant) -> str:
        """How long each took."""
        gather = (self.began - gather_since) // MILLISECOND
        collect = (self.recovering_since - self.began) // MILLISECOND
        recover = (now - self.recovering_since) // MILLISECOND
        return f"gather {gather} ms, collect {collect} ms, recover {recover} ms"

    def fits(self, digest: Digest, me: Member, installed: Configuration) -> bool:
        """Inside a party: it speaks of all members and of nobody else, and says of me what I
        said."""
        if tuple(state.member for state in digest.party) != self.segment:
            return False
        if not self._fits_sites(digest):
            return False
        mine = digest.party[self.segment.index(me)]
        if self.mine is None or mine != member_state(me, self.mine):
            return False
        return all(_possible(part, installed) for parts in digest.sites for part in parts)

    def fits_leaders(self, digest: Digest, told: SiteState) -> bool:
        """Between leaders: it says of my party what I said."""
        return self._fits_sites(digest) and digest.sites[self.index] == told.parts

    def _fits_sites(self, digest: Digest) -> bool:
        return tuple(map(members_of, digest.sites)) == self.configuration.segments

    def recover(self, digest: Digest, me: Member, base: ConfigId) -> Recover:
        """Who comes with me from my old configuration, and from whom to fetch what I lack."""
        near = [state for state in digest.party if state.base == base]
        together = [part for parts in digest.sites for part in parts if part.base == base]
        deputy = near[0].member
        return Recover(
            self.id,
            tuple(
                Part(part.members, part.segment, part.least, self._holdings(part))
                for part in together
            ),
            tuple((state.member.daemon, self._holdings(state)) for state in near),
            self._nearest(digest, base)
            if deputy == me
            else ((deputy.daemon, tuple(map(self._holdings, together))),),
            deputy == me,
        )

    def _nearest(self, digest: Digest, base: ConfigId) -> Holders:
        """The deputies of other segments, by the cost of the way."""
        found = []
        costs = self.routes.costs()
        for at in sorted(costs, key=lambda at: (costs[at], at)):
            parts = [part for part in digest.sites[at] if part.base == base]
            if parts:
                deputy = members_of(parts)[0]
                found.append((deputy.daemon, tuple(map(self._holdings, parts))))
        return tuple(found)

    def _holdings(self, state: MemberState | PartState) -> Holdings:
        return Holdings(self.id, state.streams, state.stable, state.cursor)


class Collection(Generic[T]):
    """What came from those who answer to me: a leader's party, or a coordinator's leaders."""

    def __init__(self, members: tuple[Member, ...]) -> None:
        self.members = members
        self.states: dict[Member, T] = {}
        self.ready: set[Member] = set()
        self.digest: Digest | None = None
        """What all of them hold, once that is known."""

    def add_state(self, member: Member, state: T) -> bool:
        """True when this was the last one."""
        if member not in self.members or self.complete:
            return False
        self.states[member] = state
        return self.complete

    def add_ready(self, member: Member) -> bool:
        if member not in self.members:
            return False
        self.ready.add(member)
        return self.all_ready

    @property
    def complete(self) -> bool:
        return len(self.states) == len(self.members)

    @property
    def all_ready(self) -> bool:
        return len(self.ready) == len(self.members)

    @property
    def waiting(self) -> bool:
        """Not everybody has answered what I asked last."""
        return not self.complete or (self.digest is not None and not self.all_ready)

    def told(self) -> tuple[T, ...]:
        """By member."""
        return tuple(self.states[member] for member in self.members)

    def silent(self) -> list[Member]:
        """Who keeps the others waiting."""
        answered = self.ready if self.digest is not None else set(self.states)
        return [member for member in self.members if member not in answered]


def _possible(part: PartState, installed: Configuration) -> bool:
    """What comes from my own configuration names its segments."""
    segments = installed.segments
    if part.base != installed.id:
        return True
    if part.segment >= len(segments) or len(part.streams) != len(segments):
        return False
    members = segments[part.segment]
    return part.members == members or set(part.members) <= set(members)


def coordinator_of(config: ConfigId) -> Member:
    return Member(config.coordinator, config.incarnation)


def proposal(configuration: Configuration, reason: str) -> Propose:
    parts = configuration.segments
    weights = [[0] * len(parts) for _ in parts]
    for one, two, weight in configuration.edges:
        weights[one][two] = weight
    rows = tuple(map(tuple, weights)) if len(parts) > 1 else ()
    return Propose(configuration.id, parts, rows, reason)


def proposed(propose: Propose) -> Configuration:
    return _proposed(propose.config, propose.parts, propose.weights)


@lru_cache(maxsize=4)
def _proposed(
    config: ConfigId, parts: tuple[tuple[Member, ...], ...], weights: tuple[tuple[int, ...], ...]
) -> Configuration:
    """One for all nodes of a process, like what is worked out from it."""
    members = tuple(sorted(member for part in parts for member in part))
    if len(parts) == 1:
        return Configuration(config, members)
    edges = tuple(
        (one, two, weight)
        for one, row in enumerate(weights)
        for two, weight in enumerate(row)
        if weight
    )
    return Configuration(config, members, parts, edges)


def member_state(member: Member, state: State) -> MemberState:
    return MemberState(member, state.base, state.segment, state.streams, state.stable, state.cursor)


def state_message(holdings: Holdings, installed: Configuration, me: Member) -> State:
    segment = installed.places[me]
    return State(
        holdings.attempt, installed.id, segment, holdings.streams, holdings.stable, holdings.cursor
    )
