"""The two hot messages, packed by hand: ring packet and token.

A ring packet carries *pieces*: whole bundles, or fragments of large ones. The last piece
of a bundle carries its place in the order. Pieces are those of the sender itself, or a
leader's copies of what came from another segment; or there are no pieces, but what the leaders
of other segments say of their streams. Packet and token are canonical: a packet has one
spelling only, and everything else is refused.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from struct import Struct

from antiphon.core.errors import DecodeError
from antiphon.core.ids import ConfigId, DaemonId, Incarnation, Member
from antiphon.core.positions import position, stamp_of
from antiphon.core.reach import Reach
from antiphon.core.service import Service
from antiphon.wire.packet import CONFIG, CONFIG_BYTES, HEADER_BYTES
from antiphon.wire.pieces import (
    ForeignPieces,
    Order,
    Piece,
    RingPacket,
    Token,
    pack_order,
    read_order,
)
from antiphon.wire.reports import SEGMENTS_MAX, StreamReport, pack_reports, read_reports

PACKET_HEAD = Struct(">QQHB")  # token sequence of its visit; link sequence or 0; origin; mask
ORIGIN = Struct(">QQ")  # a daemon of another segment
PIECE_HEAD = Struct(">BBIQHIH")  # flags, service, session, number, count, index, length
ORDER_LENGTH = Struct(">H")
TOKEN_HEAD = Struct(">BQQQQIQQQQQHH")
REQUEST = Struct(">QQ")
HEAD = Struct(">Q")

PACKET_OVERHEAD = HEADER_BYTES + CONFIG_BYTES + PACKET_HEAD.size
PIECE_OVERHEAD = PIECE_HEAD.size
ORDER_OVERHEAD = ORDER_LENGTH.size + 1 + 6 * 9 + 2
"""At most, for a bundle with no past in other streams, and to all segments: msgpack writes
small numbers in few bytes."""

SERVICES = tuple(Service)
"""By their numbers."""

LAST = 1
CONTROL = 2
SELF_DISCARD = 4
ALL_FLAGS = LAST | CONTROL | SELF_DISCARD

OWN = 0
"""A packet's origin: its sender. k + 1: segment k."""

REPORTS = 0xFFFF
"""No pieces: a leader tells its ring what leaders say of their streams."""

REGULAR_TOKEN = 0
REQUESTS_MAX = 64
"""Runs in a token's request list: enough for a burst, and a token stays one small packet."""

MESSAGE_BYTES_MAX = 16 * 1024 * 1024
BUNDLE_BYTES_MAX = MESSAGE_BYTES_MAX + 65_536
"""One message of the largest size, with its table of groups."""

FRAGMENTS_MAX = 1 << 20
LOW = (1 << 64) - 1

PieceOrder = tuple[int, int, int, int, int, int, tuple[tuple[int, int], ...], tuple[Reach, ...]]
NO_ORDER: PieceOrder = (0, 0, 0, 0, 0, 0, (), ())


def pack_piece(piece: Piece) -> bytes:
    return pack_piece_head(piece, len(piece.data)) + piece.data


def pack_piece_head(piece: Piece, data_bytes: int) -> bytes:
    """All that comes before its data, which is copied into the packet and nowhere else."""
    head = PIECE_HEAD.pack(
        piece.flags,
        piece.service,
        piece.session,
        piece.number,
        piece.count,
        piece.index,
        data_bytes,
    )
    if not piece.flags & LAST:
        return head
    sequence, stamp = piece.sequence, piece.stamp
    order = pack_order(
        Order(
            sequence,
            stamp - sequence & LOW,
            sequence - piece.previous & LOW,
            sequence - piece.early_past & LOW,
            position(stamp, 0) - piece.order_past & LOW,
            position(stamp, 0) - piece.after_change & LOW,
            piece.early_pasts,
            piece.reach,
        )
    )
    return b"".join([head, ORDER_LENGTH.pack(len(order)), order])


def pack_ring_packet(
    head: bytes,
    config: bytes,
    token_sequence: int,
    link_sequence: int,
    pieces: Sequence[bytes | memoryview],
    mask: int = 0,
) -> bytes:
    """Of the sender's own pieces, in parts."""
    packed = pack_mask(mask)
    fixed = PACKET_HEAD.pack(token_sequence, link_sequence, OWN, len(packed))
    return b"".join([head, config, fixed, packed, *pieces])


def pack_foreign_packet(
    head: bytes, config: bytes, token_sequence: int, link_sequence: int, foreign: ForeignPieces
) -> bytes:
    """A leader's copy of what came from another segment."""
    packed = pack_mask(foreign.mask)
    fixed = PACKET_HEAD.pack(token_sequence, link_sequence, foreign.segment + 1, len(packed))
    author = ORIGIN.pack(*foreign.author)
    return b"".join([head, config, fixed, packed, author, foreign.body])


def pack_reports_packet(
    head: bytes,
    config: bytes,
    token_sequence: int,
    link_sequence: int,
    reports: tuple[StreamReport, ...],
) -> bytes:
    fixed = PACKET_HEAD.pack(token_sequence, link_sequence, REPORTS, 0)
    return b"".join([head, config, fixed, pack_reports(reports)])


def pack_mask(mask: int) -> bytes:
    return mask.to_bytes((mask.bit_length() + 7) // 8, "big")


def read_mask(packed: bytes) -> int:
    if packed and not packed[0]:
        raise DecodeError("not_canonical", "a mask of segments")
    return int.from_bytes(packed, "big")


def read_ring_packet(packet: bytes, sender: DaemonId, incarnation: Incarnation) -> RingPacket:
    if len(packet) <= PACKET_OVERHEAD:
        raise DecodeError("too_short", "a ring packet without pieces")
    config = ConfigId(*CONFIG.unpack_from(packet, HEADER_BYTES))
    head = PACKET_HEAD.unpack_from(packet, HEADER_BYTES + CONFIG_BYTES)
    token_sequence, link_sequence, origin, mask_bytes = head
    at = PACKET_OVERHEAD + mask_bytes
    mask = read_mask(packet[PACKET_OVERHEAD:at]) if mask_bytes else 0
    author = Member(sender, incarnation)
    if origin not in (OWN, REPORTS):
        if len(packet) < at + ORIGIN.size:
            raise DecodeError("cut_short", "inside a packet's origin")
        author = Member(*ORIGIN.unpack_from(packet, at))
        at += ORIGIN.size
    if origin == REPORTS and (mask or not link_sequence):
        raise DecodeError("not_canonical", "reports are for the ring alone, and not lost")
    pieces = [] if origin == REPORTS else read_pieces(packet, at, link_sequence != 0)
    return RingPacket(
        sender,
        incarnation,
        config,
        token_sequence,
        link_sequence,
        origin,
        author,
        mask,
        pieces,
        at,
        read_reports(packet[at:]) if origin == REPORTS else (),
    )


def read_pieces(packet: bytes, at: int, reliable: bool) -> list[Piece]:
    """All pieces from there to the end."""
    pieces = []
    end = len(packet)
    while at < end:
        piece, at = _read_piece(packet, at, end, reliable)
        pieces.append(piece)
    if not pieces:
        raise DecodeError("too_short", "a packet without pieces")
    return pieces


def _read_piece(packet: bytes, at: int, end: int, reliable: bool) -> tuple[Piece, int]:
    if end - at < PIECE_OVERHEAD:
        raise DecodeError("cut_short", "inside a piece's head")
    flags, service, session, number, count, index, length = PIECE_HEAD.unpack_from(packet, at)
    at += PIECE_OVERHEAD
    if flags & ~ALL_FLAGS or service > Service.SAFE or not number or not count:
        raise DecodeError("bad_field", "in a piece's head")
    if index >= FRAGMENTS_MAX or (service == Service.UNRELIABLE) == reliable:
        raise DecodeError("bad_field", "a piece does not fit its packet")
    if flags & LAST:
        order, at = _read_order(packet, at, end, service)
    elif length:
        order = NO_ORDER
    else:
        raise DecodeError("bad_field", "an empty fragment")
    if length > end - at:
        raise DecodeError("cut_short", "inside a piece's data")
    data = packet[at : at + length]
    return Piece(flags, SERVICES[service], session, number, count, index, data, *order), at + length


def _read_order(packet: bytes, at: int, end: int, service: int) -> tuple[PieceOrder, int]:
    if end - at < ORDER_LENGTH.size:
        raise DecodeError("cut_short", "inside a piece's order")
    (length,) = ORDER_LENGTH.unpack_from(packet, at)
    at += ORDER_LENGTH.size
    if length > end - at:
        raise DecodeError("cut_short", "inside a piece's order")
    told = read_order(packet[at : at + length])
    sequence = told.sequence
    stamp = sequence + told.stamp & LOW
    place = (
        sequence,
        stamp,
        sequence - told.previous & LOW,
        sequence - told.early_past & LOW,
        position(stamp, 0) - told.order_past & LOW,
        position(stamp, 0) - told.after_change & LOW,
    )
    check_order(service, place)
    check_reach(service, sequence, told.early_pasts, told.reach)
    return (*place, told.early_pasts, told.reach), at + length


def check_order(service: int, order: tuple[int, ...]) -> None:
    """A place in the order that no sender could have written is refused."""
    sequence, stamp, previous, early_past, order_past, after_change = order
    if service == Service.UNRELIABLE:
        if sequence or previous:
            raise DecodeError("bad_field", "an unreliable piece has no place in the order")
    elif not sequence or stamp < sequence:
        raise DecodeError("bad_field", "a stamp is at least its sequence, and neither is 0")
    elif max(previous, early_past) >= sequence:
        raise DecodeError("bad_field", "a bundle comes after its past")
    elif stamp_of(max(order_past, after_change)) >= stamp:
        raise DecodeError("bad_field", "a bundle comes after its past")


def check_reach(
    service: int,
    sequence: int,
    early_pasts: tuple[tuple[int, int], ...],
    reach: tuple[Reach, ...],
) -> None:
    """For whom a bundle is, and what it comes after in other streams."""
    others = [other for other, _ in early_pasts]
    reached = [one.segment for one in reach]
    if service == Service.UNRELIABLE and reach:
        raise DecodeError("bad_field", "an unreliable piece has no place in the order")
    if any(one >= other for one, other in pairwise(others)):
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
        len(token.heads),
    )
    if not token.requests and not token.heads:
        return head + config + fixed
    requests = [REQUEST.pack(*run) for run in token.requests]
    heads = _heads(len(token.heads)).pack(*token.heads)
    return b"".join([head, config, fixed, *requests, heads])


@lru_cache(maxsize=8)
def _heads(segments: int) -> Struct:
    return Struct(f">{segments}Q")


TOKEN_BYTES = HEADER_BYTES + CONFIG_BYTES + TOKEN_HEAD.size


def read_token(packet: bytes) -> tuple[ConfigId, Token]:
    if len(packet) < TOKEN_BYTES:
        raise DecodeError("too_short", "a token")
    config = ConfigId(*CONFIG.unpack_from(packet, HEADER_BYTES))
    head = TOKEN_HEAD.unpack_from(packet, HEADER_BYTES + CONFIG_BYTES)
    kind, count, segments = head[0], head[-2], head[-1]
    if kind != REGULAR_TOKEN or count > REQUESTS_MAX or segments > SEGMENTS_MAX:
        raise DecodeError("bad_field", "token type or number of requests")
    end = TOKEN_BYTES + count * REQUEST.size
    if len(packet) != end + segments * HEAD.size:
        raise DecodeError("wrong_size", "a token")
    token = Token(*head[1:-2])
    if count:
        token.requests = tuple(REQUEST.iter_unpack(packet[TOKEN_BYTES:end]))
    if segments:
        token.heads = _heads(segments).unpack_from(packet, end)
    _check_token(token)
    return config, token


def _check_token(token: Token) -> None:
    if not token.sequence or token.link_aru > token.link_sequence:
        raise DecodeError("bad_field", "token: link ARU beyond the link sequence")
    if token.site_aru > token.site_stamp or token.site_sequence > token.site_stamp:
        raise DecodeError("bad_field", "token: site ARU or sequence beyond the site stamp")
    if stamp_of(token.last_change) > token.site_stamp:
        raise DecodeError("bad_field", "token: group change beyond the site stamp")
    if token.heads and max(token.heads) > token.site_sequence:
        raise DecodeError("bad_field", "token: a head beyond the site sequence")
    floor = 0
    for first, last in token.requests:
        if first <= floor or last < first or last > token.link_sequence:
            raise DecodeError("bad_field", "token: requests are sorted, apart and sent")
        floor = last + 1
