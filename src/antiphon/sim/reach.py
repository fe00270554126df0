"""Reach: what of the protocol a set of runs has met, and what it never met.

Counted are pairs of a machine's state and an event, seen from outside as the node hands
events over, and reasons and situations, read from the records. Everything that could occur
is listed in advance, so that a zero is seen.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from antiphon.core.effects import Emit
from antiphon.core.ids import ConfigId, Member
from antiphon.core.service import Service
from antiphon.core.trace import Kind, Record
from antiphon.protocol.membership.membership import GatherReason
from antiphon.protocol.membership.membership import State as MembershipState
from antiphon.protocol.node import Node
from antiphon.protocol.stream.stream import State as StreamState
from antiphon.sim.trial import Planter
from antiphon.wire.control import Hello, Propose
from antiphon.wire.heard import Heard

MEMBERSHIP = "membership"
STREAM = "stream"
GATHER = "gather reason"
ATTEMPT = "attempt reason"
ABORT = "abort reason"
DROP = "drop reason"
REFUSAL = "refusal"
SITUATION = "situation"

MEMBERSHIP_EVENTS = tuple(
    "Hello Propose State Digest Ready Commit "
    "Wakeup Trouble Holdings Progress Recovered Evidence".split()
)
STREAM_EVENTS = tuple(
    "HeardToken HeardPacket Hurry Have RecoveryRequest RecoveryData "
    "Wakeup Submit SubmitState Settled Courtesy Forget Freeze Recover Install".split()
)
GATHER_REASONS = tuple(reason.value for reason in GatherReason)
ATTEMPT_REASONS = (
    *GATHER_REASONS,
    *"reported_trouble restart stranger departure unfinished".split(),
)
ABORT_REASONS = tuple(
    reason.value
    for reason in (GatherReason.ATTEMPT_TIMEOUT, GatherReason.MEMBER_LOST, GatherReason.NOT_LEADER)
)
DROP_REASONS = tuple(
    # The packet itself is wrong.
    "too_short wire_version other_cluster unknown_daemon own twin unknown_tag malformed "
    "not_canonical bad_field cut_short wrong_size bad_route not_relayed "
    # It does not fit what membership does now.
    "old_incarnation other_attempt false_coordinator old_proposal not_proposed not_my_leader "
    "bad_digest bad_state bad_chunk one_site impossible_epoch "
    # It does not fit the stream.
    "other_configuration frozen old_token impossible_token not_a_member beyond_window "
    "duplicate too_late bad_stamp unknown_segment old_report "
    # It could not be kept.
    "log_write".split()
)
REFUSALS = tuple(
    "bad_group already_joined not_joined queue_full bad_size malformed bad_field wrong_size "
    "not_canonical".split()
)

MERGE_OF_THREE = "merge of three or more components"
RECOVERY_ABORTED = "recovery aborted"
SAFE_TRANSITIONAL = "safe message in a transitional configuration"
STRANGER_IN_RECOVERY = "stranger during recovery"
SITUATIONS = (MERGE_OF_THREE, RECOVERY_ABORTED, SAFE_TRANSITIONAL, STRANGER_IN_RECOVERY)
SITUATIONS_MIN = 50
"""Each, over this many seeds:"""
SITUATIONS_SEEDS = 500

RECOVERING = (MembershipState.COLLECT, MembershipState.RECOVER, MembershipState.READY)


class Pair(NamedTuple):
    table: str
    case: str
    """A state; empty where the table has only reasons."""

    what: str


Counts = Counter[Pair]


def all_pairs() -> Iterator[Pair]:
    """Everything that is counted."""
    for state in MembershipState:
        for event in MEMBERSHIP_EVENTS:
            yield Pair(MEMBERSHIP, state.value, event)
    for stream_state in StreamState:
        for event in STREAM_EVENTS:
            yield Pair(STREAM, stream_state.value, event)
    for table, reasons in (
        (GATHER, GATHER_REASONS),
        (ATTEMPT, ATTEMPT_REASONS),
        (ABORT, ABORT_REASONS),
        (DROP, DROP_REASONS),
        (REFUSAL, REFUSALS),
        (SITUATION, SITUATIONS),
    ):
        for reason in reasons:
            yield Pair(table, "", reason)


class Recorder:
    """Listens to the nodes of one run: plant it in each, then add the records."""

    def __init__(self, plant: Planter | None = None) -> None:
        self.counts: Counts = Counter()
        self._plant = plant
        """Done first: a fault that is planted belongs to what is listened to."""

    def plant(self, node: Node) -> None:
        if self._plant is not None:
            self._plant(node)
        self._listen(node.stream, STREAM)
        self._listen(node.membership, MEMBERSHIP)
        self._watch_strangers(node)

    def _listen(self, machine: Any, table: str) -> None:
        handle = machine.handle
        counts = self.counts

        def counting(now: int, event: Any) -> Any:
            counts[Pair(table, machine.state.value, event_name(event))] += 1
            return handle(now, event)

        machine.handle = counting

    def _watch_strangers(self, node: Node) -> None:
        """Each stranger once for each attempt."""
        membership: Any = node.membership
        handle = membership.handle
        proposed: tuple[Member, ...] = ()
        met: set[tuple[tuple[Member, ...], Member]] = set()

        def watching(now: int, event: Any) -> Any:
            nonlocal proposed
            is_hello = type(event) is Heard and type(event.message) is Hello
            if is_hello and membership.state in RECOVERING:
                known = event.sender in proposed or event.sender in membership.installed.members
                if not known and (proposed, event.sender) not in met:
                    met.add((proposed, event.sender))
                    self.counts[Pair(SITUATION, "", STRANGER_IN_RECOVERY)] += 1
            effects = handle(now, event)
            proposed = _proposal(event, effects) or proposed
            return effects

        membership.handle = watching

    def add_records(self, records: list[Record]) -> None:
        counts = self.counts
        for record in records:
            table = TABLE_OF_KIND.get(record.kind)
            if table is not None:
                counts[Pair(table, "", record.reason)] += 1
        for name, count in _situations(records):
            counts[Pair(SITUATION, "", name)] += count


TABLE_OF_KIND = {
    Kind.TROUBLE: GATHER,
    Kind.ATTEMPT: ATTEMPT,
    Kind.ABORT: ABORT,
    Kind.DROP: DROP,
    Kind.REFUSE: REFUSAL,
}


def event_name(event: Any) -> str:
    """A packet is called by what it carries."""
    return type(event.message if type(event) is Heard else event).__name__


def _proposal(event: Any, effects: Any) -> tuple[Member, ...]:
    """Whom the attempt is with that begins here, if one begins."""
    if type(event) is Heard and type(event.message) is Propose:
        began = any(type(effect) is Emit and effect.record.kind is Kind.ENTER for effect in effects)
        members = tuple(member for part in event.message.parts for member in part)
        return members if began else ()
    for effect in effects:
        if type(effect) is Emit and effect.record.kind is Kind.ATTEMPT:
            proposed: tuple[Member, ...] = effect.record.members
            return proposed
    return ()


def _situations(records: list[Record]) -> Iterator[tuple[str, int]]:
    bases: dict[ConfigId, set[ConfigId]] = {}
    recovering: set[int] = set()
    aborted = safe = 0
    for record in records:
        kind = record.kind
        if kind is Kind.INSTALL:
            bases.setdefault(record.config, set()).add(record.base)
        elif kind is Kind.ENTER:
            if record.reason in (MembershipState.RECOVER, MembershipState.READY):
                recovering.add(record.node)
            else:
                recovering.discard(record.node)
        elif kind is Kind.ABORT:
            aborted += record.node in recovering
        elif kind is Kind.DELIVER:
            safe += record.transitional and record.service == Service.SAFE
    yield MERGE_OF_THREE, sum(len(merged) >= 3 for merged in bases.values())
    yield RECOVERY_ABORTED, aborted
    yield SAFE_TRANSITIONAL, safe
