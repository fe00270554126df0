"""Control messages: declared once, bounds in the declaration, one spelling each.

A message that does not encode back to the very bytes it came in is refused: msgpack has
several spellings for a number, and array-like structs would let extra fields pass.
"""

from typing import Annotated, TypeVar

import msgspec

from antiphon.core.errors import DecodeError
from antiphon.core.ids import ConfigId, Counter, GroupName, Member, Natural, SomeDaemon, ViewId
from antiphon.wire.packet import HEADER_BYTES, Envelope, Tag

MEMBERS_MAX = 256
RUNS_MAX = 4096
EVIDENCE_BYTES_MAX = 2048
SESSIONS_MAX = 65_536
GROUPS_MAX = 65_536

U64 = Natural
U32 = Counter
Members = Annotated[tuple[Member, ...], msgspec.Meta(max_length=MEMBERS_MAX)]
Daemons = Annotated[tuple[SomeDaemon, ...], msgspec.Meta(max_length=MEMBERS_MAX)]
Runs = Annotated[tuple[tuple[U64, U64], ...], msgspec.Meta(max_length=RUNS_MAX)]
Text = Annotated[str, msgspec.Meta(max_length=EVIDENCE_BYTES_MAX)]
Reason = Annotated[str, msgspec.Meta(max_length=64)]
Fragment = Annotated[bytes, msgspec.Meta(max_length=65_536)]


class Control(
    msgspec.Struct, gc=False, array_like=True, forbid_unknown_fields=True
):
    """Base of all control messages."""


class TokenSeen(Control):
    """The token rests with me: do not repeat it."""

    config: ConfigId
    token_sequence: U64


class Hurry(Control):
    """I have work: let the resting token go on."""

    config: ConfigId


class Hello(Control):
    """I am here, I hear these, I follow this one. Levels, not edges: the next one repeats it."""

    config: ConfigId
    """Installed at me."""

    leader: SomeDaemon
    """Whom I follow."""

    alert: bool
    """I am in trouble or I hear a stranger: answer with your own Hello."""

    trouble: Reason
    """Why my configuration cannot go on; empty if it can."""

    accused: SomeDaemon
    epoch: U64
    """The highest epoch I installed or accepted."""

    heard: Members
    """Whom I hear; sorted."""

    clique: Daemons
    """Whom of these I would be in one configuration with; sorted."""


class Propose(Control):
    """Coordinator to members: let this be the next configuration."""

    config: ConfigId
    members: Members
    reason: Text


class State(Control):
    """Member to coordinator: I take no more of `base`, and this is what I hold of it."""

    config: ConfigId
    base: ConfigId
    base_members: Members
    held: Runs
    complete: U64
    stable: U64
    early: Runs


class MemberState(Control):
    member: Member
    base: ConfigId
    base_members: Members
    held: Runs
    complete: U64
    stable: U64
    early: Runs


class Digest(Control):
    """Coordinator to members: what everybody holds."""

    config: ConfigId
    states: Annotated[tuple[MemberState, ...], msgspec.Meta(max_length=MEMBERS_MAX)]


class RecoveryRequest(Control):
    """Member to holder: send me these bundles of `base`, the first from fragment `index` on."""

    config: ConfigId
    base: ConfigId
    index: U32
    wanted: Runs


class RecoveryData(Control):
    """Holder to member: one fragment of a bundle of `base`."""

    config: ConfigId
    base: ConfigId
    sender: Member
    session: U32
    number: U64
    count: U32
    service: Annotated[int, msgspec.Meta(ge=1, le=5)]
    control: bool
    self_discard: bool
    order: tuple[U64, U64, U64, U64, U64, U64]
    index: U32
    fragments: Annotated[int, msgspec.Meta(ge=1, le=1 << 20)]
    data: Fragment


class Ready(Control):
    """Member to coordinator: I hold all of the plan and pledge it."""

    config: ConfigId


class Commit(Control):
    """Coordinator to members: everybody is ready; install."""

    config: ConfigId
    evidence: Text


PacketMessage = (
    TokenSeen
    | Hurry
    | Hello
    | Propose
    | State
    | Digest
    | RecoveryRequest
    | RecoveryData
    | Ready
    | Commit
)

TAGS: dict[type[Control], Tag] = {
    TokenSeen: Tag.TOKEN_SEEN,
    Hurry: Tag.HURRY,
    Hello: Tag.HELLO,
    Propose: Tag.PROPOSE,
    State: Tag.STATE,
    Digest: Tag.DIGEST,
    RecoveryRequest: Tag.RECOVERY_REQUEST,
    RecoveryData: Tag.RECOVERY_DATA,
    Ready: Tag.READY,
    Commit: Tag.COMMIT,
}


# Group changes travel as bodies of control bundles.


class JoinGroup(Control, tag=1):
    session: U32
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
    group: Annotated[GroupName, msgspec.Meta(min_length=1, max_length=255)]


class LeaveGroup(Control, tag=2):
    session: U32
    group: Annotated[GroupName, msgspec.Meta(min_length=1, max_length=255)]


class EndSession(Control, tag=3):
    """The session is gone: out of all its groups at once."""

    session: U32


class SessionState(Control):
    session: U32
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
    groups: Annotated[
        tuple[tuple[GroupName, ViewId], ...], msgspec.Meta(max_length=GROUPS_MAX)
    ]


class GroupState(Control, tag=4):
    """All sessions of one daemon, their groups and the last view of each."""

    sessions: Annotated[tuple[SessionState, ...], msgspec.Meta(max_length=SESSIONS_MAX)]


GroupChange = JoinGroup | LeaveGroup | EndSession | GroupState

_encoder = msgspec.msgpack.Encoder()
_decoders = {tag: msgspec.msgpack.Decoder(kind) for kind, tag in TAGS.items()}
_group_decoder: msgspec.msgpack.Decoder[GroupChange] = msgspec.msgpack.Decoder(GroupChange)

T = TypeVar("T")


def pack_control(envelope: Envelope, message: PacketMessage) -> bytes:
    return envelope.head(TAGS[type(message)]) + _encoder.encode(message)


def read_control(tag: int, packet: bytes) -> PacketMessage:
    decoder = _decoders.get(tag)  # type: ignore[call-overload]  # an unknown tag finds nothing
    if decoder is None:
        raise DecodeError("unknown_tag", str(tag))
    message: PacketMessage = _canonical(decoder, packet[HEADER_BYTES:])
    return message


def pack_group_change(change: GroupChange) -> bytes:
    return _encoder.encode(change)


def read_group_change(body: bytes) -> GroupChange:
    return _canonical(_group_decoder, body)


def _canonical(decoder: "msgspec.msgpack.Decoder[T]", body: bytes) -> T:
    try:
        message = decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError("malformed", str(error)) from None
    if _encoder.encode(message) != body:
        raise DecodeError("not_canonical", type(message).__name__)
    return message
