"""What ring packets and tokens hold, as msgspec reads it; ring.py packs them by hand.

They stand here, for what msgspec reads cannot be compiled, and what packs them is called for every
packet (setup.py).
"""

from typing import Annotated, NamedTuple

import msgspec

from antiphon.core.errors import DecodeError
from antiphon.core.ids import ConfigId, Counter, DaemonId, Incarnation, Member, Natural
from antiphon.core.reach import Reach
from antiphon.core.service import Service
from antiphon.wire.reports import SEGMENTS_MAX, StreamReport


class Piece(msgspec.Struct, gc=False):
    """A bundle, or the index-th part of one."""

    flags: int
    service: Service
    session: int
    number: int
    count: int
    index: int
    data: bytes
    sequence: int = 0
    stamp: int = 0
    previous: int = 0
    early_past: int = 0
    order_past: int = 0
    after_change: int = 0
    early_pasts: tuple[tuple[int, int], ...] = ()
    reach: tuple[Reach, ...] = ()


class Order(msgspec.Struct, gc=False, array_like=True, forbid_unknown_fields=True):
    """A bundle's place, with its last piece. All but the first are distances, which mostly are
    short: from the sequence up to the stamp and down to what comes before, and from the first
    position of the stamp down to others. They are told modulo 2^64: an unreliable bundle has a
    past, but no place."""

    sequence: Natural
    stamp: Natural
    previous: Natural
    early_past: Natural
    order_past: Natural
    after_change: Natural
    early_pasts: Annotated[
        tuple[tuple[Counter, Natural], ...], msgspec.Meta(max_length=SEGMENTS_MAX)
    ]
    reach: Annotated[tuple[Reach, ...], msgspec.Meta(max_length=SEGMENTS_MAX)]


class RingPacket(msgspec.Struct, gc=False):
    sender: DaemonId
    incarnation: Incarnation
    config: ConfigId
    token_sequence: int
    link_sequence: int
    """0: unreliable pieces only, never repaired."""

    origin: int
    """Whose stream: OWN, or a segment + 1."""

    author: Member
    """Who stamped the pieces."""

    mask: int
    """Segments that the pieces are for, one bit each; 0: all."""

    pieces: list[Piece]
    start: int
    """Where the pieces begin in the packet."""

    reports: tuple[StreamReport, ...] = ()
    """In their place: what leaders say of their streams."""


class Token(msgspec.Struct, gc=False):
    """All fields of the paper's (SP-175 to SP-183), each ARU with a modifier of its
    own (X-31), and the place of the last group change."""

    sequence: int
    link_sequence: int = 0
    link_aru: int = 0
    link_modifier: DaemonId = DaemonId(0)
    flow: int = 0
    site_sequence: int = 0
    site_stamp: int = 0
    site_aru: int = 0
    site_modifier: DaemonId = DaemonId(0)
    last_change: int = 0
    requests: tuple[tuple[int, int], ...] = ()
    heads: tuple[int, ...] = ()
    """Of each segment, the last bundle of this stream that is for it; none if there is only
    one segment."""


class ForeignPieces(NamedTuple):
    """Pieces of another segment, as they travel."""

    segment: int
    author: Member
    mask: int
    body: bytes


_encode = msgspec.msgpack.Encoder().encode
_decode_order = msgspec.msgpack.Decoder(Order).decode


def pack_order(order: Order) -> bytes:
    return _encode(order)


def read_order(packed: bytes) -> Order:
    try:
        order: Order = _decode_order(packed)
    except (msgspec.DecodeError, RecursionError) as error:
        raise DecodeError("malformed", str(error)) from None
    if _encode(order) != packed:
        raise DecodeError("not_canonical", "a piece's order")
    return order


def far_bytes(early_pasts: tuple[tuple[int, int], ...], reach: tuple[Reach, ...]) -> int:
    """How much longer these make an order than ORDER_OVERHEAD."""
    return len(_encode(early_pasts)) + len(_encode(reach)) - 2
