"""The two hot messages, packed by hand: ring packet and token.

A ring packet carries *pieces*: whole bundles, or fragments of large ones. The last piece
of a bundle carries its place in the order. Packet and token are canonical: a packet has
one spelling only, and everything else is refused.
"""

from itertools import pairwise
from struct import Struct

import msgspec

from antiphon.core.bundle import Reach
from antiphon.core.errors import DecodeError
from antiphon.core.ids import ConfigId, DaemonId, Incarnation
from antiphon.core.positions import stamp_of
from antiphon.core.service import Service
from antiphon.wire.packet import CONFIG, CONFIG_BYTES, HEADER_BYTES

PACKET_HEAD = Struct(">QQ")  # token sequence of the visit that sent it; link sequence or 0
PIECE_HEAD = Struct(">BBIQHII")  # flags, service, session, number, count, index, length
ORDER_HEAD = Struct(">QQQQQQ")  # sequence, stamp, previous, early past, order past, after change
TOKEN_HEAD = Struct(">BQQQQIQQQQQH")
REQUEST = Struct(">QQ")

PACKET_OVERHEAD = HEADER_BYTES + CONFIG_BYTES + PACKET_HEAD.size
PIECE_OVERHEAD = PIECE_HEAD.size
ORDER_OVERHEAD = ORDER_HEAD.size

LAST = 1
CONTROL = 2
SELF_DISCARD = 4
ALL_FLAGS = LAST | CONTROL | SELF_DISCARD

REGULAR_TOKEN = 0
REQUESTS_MAX = 64
"""Runs in a token's request list: enough for a burst, and a token stays one small packet."""

MESSAGE_BYTES_MAX = 16 * 1024 * 1024
BUNDLE_BYTES_MAX = MESSAGE_BYTES_MAX + 65_536
"""One message of the largest size, with its table of groups."""

FRAGMENTS_MAX = 1 << 20


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


class RingPacket(msgspec.Struct, gc=False):
    sender: DaemonId
    incarnation: Incarnation
    config: ConfigId
    token_sequence: int
    link_sequence: int
    """0: unreliable pieces only, never repaired."""

    pieces: list[Piece]


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


def pack_piece(piece: Piece) -> bytes:
    head = PIECE_HEAD.pack(
        piece.flags,
        piece.service,
        piece.session,
        piece.number,
        piece.count,
        piece.index,
        len(piece.data),
    )
    if not piece.flags & LAST:
        return head + piece.data
    order = ORDER_HEAD.pack(
        piece.sequence,
        piece.stamp,
        piece.previous,
        piece.early_past,
        piece.order_past,
        piece.after_change,
    )
    return head + order + piece.data


def pack_ring_packet(
    head: bytes, config: bytes, token_sequence: int, link_sequence: int, pieces: list[bytes]
) -> bytes:
    return b"".join([head, config, PACKET_HEAD.pack(token_sequence, link_sequence), *pieces])


def read_ring_packet(packet: bytes, sender: DaemonId, incarnation: Incarnation) -> RingPacket:
    if len(packet) <= PACKET_OVERHEAD:
        raise DecodeError("too_short", "a ring packet without pieces")
    config = ConfigId(*CONFIG.unpack_from(packet, HEADER_BYTES))
    token_sequence, link_sequence = PACKET_HEAD.unpack_from(packet, HEADER_BYTES + CONFIG_BYTES)
    pieces = []
    at = PACKET_OVERHEAD
    end = len(packet)
    while at < end:
        piece, at = _read_piece(packet, at, end, link_sequence)
        pieces.append(piece)
    return RingPacket(sender, incarnation, config, token_sequence, link_sequence, pieces)


def _read_piece(packet: bytes, at: int, end: int, link_sequence: int) -> tuple[Piece, int]:
    if end - at < PIECE_OVERHEAD:
        raise DecodeError("cut_short", "inside a piece's head")
    flags, service, session, number, count, index, length = PIECE_HEAD.unpack_from(packet, at)
    at += PIECE_OVERHEAD
    if flags & ~ALL_FLAGS or service > Service.SAFE or not number or not count:
        raise DecodeError("bad_field", "in a piece's head")
    if index >= FRAGMENTS_MAX or (service == Service.UNRELIABLE) != (link_sequence == 0):
        raise DecodeError("bad_field", "a piece does not fit its packet")
    order = (0, 0, 0, 0, 0, 0)
    if flags & LAST:
        if end - at < ORDER_OVERHEAD:
            raise DecodeError("cut_short", "inside a piece's order")
        order = ORDER_HEAD.unpack_from(packet, at)
        at += ORDER_OVERHEAD
        check_order(service, order)
    elif not length:
        raise DecodeError("bad_field", "an empty fragment")
    if length > end - at:
        raise DecodeError("cut_short", "inside a piece's data")
    data = packet[at : at + length]
    piece = Piece(flags, Service(service), session, number, count, index, data, *order)
    return piece, at + length


def check_order(service: int, order: tuple[int, ...]) -> None:
    """A place in the order that no sender could have written is refused."""
    sequence, stamp, previous, early_past, order_past, after_change = order
    if service == Service.UNRELIABLE:
        if sequence or stamp or previous:
            raise DecodeError("bad_field", "an unreliable piece has no place in the order")
    elif not sequence or stamp < sequence:
        raise DecodeError("bad_field", "a stamp is at least its sequence, and neither is 0")
    elif max(previous, early_past) >= sequence:
        raise DecodeError("bad_field", "a bundle comes after its past")
    elif stamp_of(max(order_past, after_change)) >= stamp:
        raise DecodeError("bad_field", "a bundle comes after its past")


def check_reach(
    sequence: int,
    segment: int,
    early_pasts: tuple[tuple[int, int], ...],
    reach: tuple[Reach, ...],
) -> None:
    """For whom a bundle is, and what it comes after in other streams."""
    others = [other for other, _ in early_pasts]
    reached = [one.segment for one in reach]
    if segment in others or any(one >= other for one, other in pairwise(others)):
        raise DecodeError("bad_field", "other streams are sorted, each once")
    if any(one >= other for one, other in pairwise(reached)):
        raise DecodeError("bad_field", "segments are sorted, each once")
    if any(max(one.before, one.previous) >= sequence for one in reach):
        raise DecodeError("bad_field", "a bundle comes after its past")


def pack_token(head: bytes, config: bytes, token: Token) -> bytes:
    fixed = TOKEN_HEAD.pack(
        REGULAR_TOKEN,
        token.sequence,
        token.link_sequence,
        token.link_aru,
        token.link_modifier,
        token.flow,
        token.site_sequence,
        token.site_stamp,
        token.site_aru,
        token.site_modifier,
        token.last_change,
        len(token.requests),
    )
    if not token.requests:
        return head + config + fixed
    return b"".join([head, config, fixed, *(REQUEST.pack(*run) for run in token.requests)])


TOKEN_BYTES = HEADER_BYTES + CONFIG_BYTES + TOKEN_HEAD.size


def read_token(packet: bytes) -> tuple[ConfigId, Token]:
    if len(packet) < TOKEN_BYTES:
        raise DecodeError("too_short", "a token")
    config = ConfigId(*CONFIG.unpack_from(packet, HEADER_BYTES))
    head = TOKEN_HEAD.unpack_from(packet, HEADER_BYTES + CONFIG_BYTES)
    kind, count = head[0], head[-1]
    if kind != REGULAR_TOKEN or count > REQUESTS_MAX:
        raise DecodeError("bad_field", "token type or number of requests")
    if len(packet) != TOKEN_BYTES + count * REQUEST.size:
        raise DecodeError("wrong_size", "a token")
    requests: tuple[tuple[int, int], ...] = ()
    if count:
        requests = tuple(REQUEST.iter_unpack(packet[TOKEN_BYTES:]))
    token = Token(*head[1:-1])
    token.requests = requests
    _check_token(token)
    return config, token


def _check_token(token: Token) -> None:
    if not token.sequence or token.link_aru > token.link_sequence:
        raise DecodeError("bad_field", "token: link ARU beyond the link sequence")
    if token.site_aru > token.site_stamp or token.site_sequence > token.site_stamp:
        raise DecodeError("bad_field", "token: site ARU or sequence beyond the site stamp")
    if stamp_of(token.last_change) > token.site_stamp:
        raise DecodeError("bad_field", "token: group change beyond the site stamp")
    floor = 0
    for first, last in token.requests:
        if first <= floor or last < first or last > token.link_sequence:
            raise DecodeError("bad_field", "token: requests are sorted, apart and sent")
        floor = last + 1
