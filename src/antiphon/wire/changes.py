"""Group changes: bodies of control bundles, so that they are ordered with the messages."""

from typing import Annotated, NamedTuple

import msgspec

from antiphon.core.ids import Counter, GroupName, Natural, SomeDaemon, ViewId
from antiphon.wire.body import GROUPS_PER_MESSAGE_MAX
from antiphon.wire.control import U32, U64, Control, Runs, canonical, check_runs
from antiphon.wire.retained import KeptState, check_kept
from antiphon.wire.tables import PLACES_MAX

SESSIONS_MAX = 65_536
GROUPS_MAX = 65_536

Name = Annotated[GroupName, msgspec.Meta(min_length=1, max_length=255)]
Destinations = Annotated[
    tuple[
        Annotated[tuple[Name, ...], msgspec.Meta(min_length=1, max_length=GROUPS_PER_MESSAGE_MAX)],
        ...,
    ],
    msgspec.Meta(min_length=1, max_length=PLACES_MAX),
]


class JoinGroup(Control, tag=1):
    session: U32
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
    group: Name


class LeaveGroup(Control, tag=2):
    session: U32
    group: Name


class EndSession(Control, tag=3):
    """The session is gone: out of all its groups at once."""

    session: U32


class GroupStanding(NamedTuple):
    """Where a session stands in one of its groups."""

    group: Name
    view: ViewId
    era: Natural
    number: Counter
    """Of the view in its era."""


class SessionState(Control):
    daemon: SomeDaemon
    session: U32
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
    groups: Annotated[tuple[GroupStanding, ...], msgspec.Meta(max_length=GROUPS_MAX)]


class TableState(Control):
    """What the places in a session's table mean."""

    daemon: SomeDaemon
    session: U32
    destinations: Destinations


class GroupState(Control, tag=4):
    """All sessions of some daemons, their groups and the last view of each."""

    members: Runs
    """Whom it speaks for: places in the list of all members of the configuration."""

    sessions: Annotated[tuple[SessionState, ...], msgspec.Meta(max_length=SESSIONS_MAX)]
    kept: Annotated[tuple[KeptState, ...], msgspec.Meta(max_length=GROUPS_MAX)] = ()
    """What lies behind kept groups and those with marks, in the first state of a family."""

    tables: Annotated[tuple[TableState, ...], msgspec.Meta(max_length=SESSIONS_MAX)] = ()


class DefineTable(Control, tag=5):
    """These destinations come behind those in the session's table."""

    session: U32
    destinations: Destinations


class Intent(Control):
    """A session's change with this number will concern these groups: until it is delivered
    nobody stamps messages to them."""

    session: U32
    number: U64
    groups: Annotated[tuple[Name, ...], msgspec.Meta(max_length=GROUPS_MAX)]


GroupChange = JoinGroup | LeaveGroup | EndSession | GroupState | DefineTable

_encoder = msgspec.msgpack.Encoder()
_group_decoder: msgspec.msgpack.Decoder[GroupChange] = msgspec.msgpack.Decoder(GroupChange)
_intent_decoder = msgspec.msgpack.Decoder(Intent)


def pack_group_change(change: GroupChange) -> bytes:
    return _encoder.encode(change)


def read_group_change(body: bytes) -> GroupChange:
    change = canonical(_group_decoder, body)
    if isinstance(change, GroupState):
        check_runs(change.members)
        check_kept(change.kept)
    return change


def pack_intent(intent: Intent) -> bytes:
    return _encoder.encode(intent)


def read_intent(body: bytes) -> Intent:
    return canonical(_intent_decoder, body)
