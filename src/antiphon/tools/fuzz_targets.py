"""Every decoder of what daemons say to each other, as a target of the fuzzer."""

from collections.abc import Callable

from antiphon.core.errors import DecodeError
from antiphon.core.ids import DaemonId, Incarnation, Member
from antiphon.protocol.presets import SIMULATION
from antiphon.wire.body import pack_body, read_body, referring_parts
from antiphon.wire.changes import (
    pack_group_change,
    pack_intent,
    read_group_change,
    read_intent,
)
from antiphon.wire.control import pack_control, read_control
from antiphon.wire.crossing import Report, pack_parcel, pack_report, read_object
from antiphon.wire.link import pack_link_packet, read_link_packet
from antiphon.wire.packet import (
    HEADER,
    HEADER_BYTES,
    WIRE_VERSION,
    Envelope,
    Tag,
    open_header,
    pack_config,
)
from antiphon.wire.pieces import ForeignPieces
from antiphon.wire.reports import pack_reports, read_reports
from antiphon.wire.ring import (
    OWN,
    REPORTS,
    pack_foreign_packet,
    pack_piece,
    pack_reports_packet,
    pack_ring_packet,
    pack_token,
    read_pieces,
    read_ring_packet,
    read_token,
)

CLUSTER = SIMULATION.cluster
DEFINED = tuple((f"g{place}",) for place in range(300))
"""A table that bodies may refer to."""


Target = Callable[[bytes], bytes]
"""Opens the input and packs it again; DecodeError if it cannot be opened."""


def header(raw: bytes) -> bytes:
    tag, sender, incarnation = open_header(raw, CLUSTER)
    return HEADER.pack(WIRE_VERSION, tag, CLUSTER, sender, incarnation) + raw[HEADER_BYTES:]


def ring_packet(raw: bytes) -> bytes:
    packet = read_ring_packet(raw, DaemonId(1), Incarnation(1))
    pieces = [pack_piece(piece) for piece in packet.pieces]
    config = pack_config(packet.config)
    head = raw[:HEADER_BYTES]
    fixed = (head, config, packet.token_sequence, packet.link_sequence)
    if packet.origin == OWN:
        return pack_ring_packet(*fixed, pieces, packet.mask)
    if packet.origin == REPORTS:
        return pack_reports_packet(*fixed, packet.reports)
    body = b"".join(pieces)
    foreign = ForeignPieces(packet.origin - 1, packet.author, packet.mask, body)
    return pack_foreign_packet(*fixed, foreign)


def token(raw: bytes) -> bytes:
    config, read = read_token(raw)
    return pack_token(raw[:HEADER_BYTES], pack_config(config), read)


def link(raw: bytes) -> bytes:
    packet = read_link_packet(raw, DaemonId(1), Incarnation(1))
    told = (packet.ack, packet.nack, packet.objects, packet.probe)
    return pack_link_packet(raw[:HEADER_BYTES], packet.birth, packet.sent_at, *told)


def crossing(raw: bytes) -> bytes:
    """An object of a link; pieces in it are opened, too."""
    brought = read_object(raw)
    if isinstance(brought, Report):
        return pack_report(brought)
    pieces = read_pieces(brought.body, 0, brought.reliable)
    brought.body = b"".join(map(pack_piece, pieces))
    return pack_parcel(brought)


def loose(raw: bytes) -> bytes:
    return raw[:HEADER_BYTES] + crossing(raw[HEADER_BYTES:])


def reports(raw: bytes) -> bytes:
    return pack_reports(read_reports(raw))


def control(tag: Tag) -> Target:
    envelope = Envelope(CLUSTER, Member(DaemonId(1), Incarnation(1)))
    head = envelope.head(tag)

    def target(raw: bytes) -> bytes:
        packed = pack_control(envelope, read_control(tag, raw))
        return raw[:HEADER_BYTES] + packed[len(head) :]

    return target


def group_change(raw: bytes) -> bytes:
    return pack_group_change(read_group_change(raw))


def intent(raw: bytes) -> bytes:
    return pack_intent(read_intent(raw))


def body(raw: bytes) -> bytes:
    """The first two bytes say how many messages there should be, as a piece's head does."""
    if len(raw) < 2:
        raise DecodeError("too_short")
    opened = read_body(raw[2:], int.from_bytes(raw[:2], "big"), DEFINED)
    if opened.refers:
        told = (opened.destinations, opened.kinds, opened.payloads)
        return raw[:2] + b"".join(referring_parts(*told, opened.sender))
    parts = (opened.table, opened.destinations, opened.kinds, opened.payloads)
    packed = pack_body(*parts, opened.sender, opened.big_endian, opened.producer, opened.key)
    return raw[:2] + packed


def tag_name(tag: int) -> str:
    return Tag(tag).name.lower().replace("_", " ")


PACKED_BY_HAND = (Tag.DATA, Tag.TOKEN, Tag.LINK, Tag.LOOSE)
TARGETS: dict[str, Target] = {
    "header": header,
    "ring packet": ring_packet,
    "token": token,
    "link": link,
    "loose": loose,
    "crossing": crossing,
    "reports": reports,
    **{tag_name(tag): control(tag) for tag in Tag if tag not in PACKED_BY_HAND},
    "group change": group_change,
    "intent": intent,
    "body": body,
}
