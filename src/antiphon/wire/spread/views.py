"""Bodies of Spread's membership messages, and the whole messages around them.

    view        group id (three u32), number of sets, offset of the receiver's own set, then the
                sets, each u32 members and their names; the offset counts from the first set
    transition  group id of the view that ends
    self-leave  nothing

The sets of a view that the network caused are those who came together; each receiver is told the
offset of its own. Any other view has one set with one member: who joined, left or disconnected.
"""

from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

from antiphon.core.errors import DecodeError
from antiphon.core.trace import Cause
from antiphon.wire.spread.messages import NO_HINT, WORD, pack_message
from antiphon.wire.spread.words import (
    CAUSED_BY_DISCONNECT,
    CAUSED_BY_JOIN,
    CAUSED_BY_LEAVE,
    CAUSED_BY_NETWORK,
    CAUSES,
    MEMBERSHIP,
    NAME_BYTES,
    TRANSITION,
    VIEW,
    pack_name,
    read_names,
)

ID = {True: Struct("<3I"), False: Struct(">3I")}
START = {True: Struct("<5I"), False: Struct(">5I")}
COUNT_BYTES = 4

CAUSE_BITS = {
    Cause.JOIN: CAUSED_BY_JOIN,
    Cause.LEAVE: CAUSED_BY_LEAVE,
    Cause.DISCONNECT: CAUSED_BY_DISCONNECT,
    Cause.NETWORK: CAUSED_BY_NETWORK,
}
_CAUSES = {bit: cause for cause, bit in CAUSE_BITS.items()}


class GroupId(NamedTuple):
    """Names a view of one group; clients only compare it."""

    daemon: int
    """Who led the membership of daemons."""

    time: int
    """When that was formed, in seconds."""

    number: int
    """Counts the group's views from 1 within it."""


class ViewBody(NamedTuple):
    id: GroupId
    sets: tuple[tuple[str, ...], ...]
    own: int
    """Place of the receiver's own set."""


def cause_of(kind: int) -> Cause:
    """Of a view, by the type of its message."""
    cause = _CAUSES.get(kind & CAUSES)
    if cause is None:
        raise DecodeError("bad_field", f"a view of type {kind:#x}")
    return cause


def is_self_leave(kind: int) -> bool:
    return kind & MEMBERSHIP == CAUSED_BY_LEAVE


def pack_view_body(
    id: GroupId, sets: Sequence[Sequence[str]], own: int = 0, little: bool = True
) -> bytes:
    count = WORD[little].pack
    packed = [count(len(names)) + b"".join(map(pack_name, names)) for names in sets]
    offset = sum(map(len, packed[:own]))
    return START[little].pack(*id, len(sets), offset) + b"".join(packed)


def read_view_body(data: bytes, little: bool) -> ViewBody:
    start = START[little]
    if len(data) < start.size:
        raise DecodeError("too_short", "the body of a view")
    *id, count, offset = start.unpack_from(data)
    sets: list[tuple[str, ...]] = []
    own = -1
    at = start.size
    while at < len(data):
        if at - start.size == offset:
            own = len(sets)
        if len(data) - at < COUNT_BYTES:
            raise DecodeError("wrong_size", "a view ends within a set")
        (size,) = WORD[little].unpack_from(data, at)
        at += COUNT_BYTES
        stop = at + NAME_BYTES * size
        if stop > len(data):
            raise DecodeError("wrong_size", "a set has more members than there are names")
        sets.append(read_names(data[at:stop]))
        at = stop
    if len(sets) != count or own < 0:
        raise DecodeError("wrong_size", f"{len(sets)} sets, not {count}; own at {offset}")
    return ViewBody(GroupId(*id), tuple(sets), own)


def pack_id(id: GroupId, little: bool = True) -> bytes:
    return ID[little].pack(*id)


def read_id(data: bytes, little: bool) -> GroupId:
    """The body of a transition."""
    if len(data) != ID[little].size:
        raise DecodeError("wrong_size", "a group id")
    return GroupId(*ID[little].unpack(data))


# Whole messages.


def pack_view(
    group: str, cause: Cause, members: Sequence[str], body: bytes, little: bool = True
) -> bytes:
    kind = VIEW | CAUSE_BITS[cause]
    return pack_message(kind, group, members, NO_HINT[little], body, little)


def pack_transition(group: str, id: GroupId, little: bool = True) -> bytes:
    return pack_message(TRANSITION, group, (), NO_HINT[little], pack_id(id, little), little)


def pack_self_leave(group: str, little: bool = True) -> bytes:
    return pack_message(CAUSED_BY_LEAVE, group, (), NO_HINT[little], b"", little)
