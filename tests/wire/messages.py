"""One example of every message that crosses the network, with its two directions.

`python -m tests.wire.messages` writes golden.txt anew from these; review the diff, and give
it a line under *Wire* in the changelog: old daemons do not read new bytes.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from antiphon.core.effects import StreamHoldings
from antiphon.core.ids import ConfigId, DaemonId, Incarnation, Member, ViewId
from antiphon.core.offsets import Branch
from antiphon.core.reach import Reach
from antiphon.core.service import Service
from antiphon.wire.body import pack_body, read_body, referring_parts
from antiphon.wire.changes import (
    DefineTable,
    EndSession,
    GroupChange,
    GroupStanding,
    GroupState,
    Intent,
    JoinGroup,
    LeaveGroup,
    SessionState,
    TableState,
    pack_group_change,
    pack_intent,
    read_group_change,
    read_intent,
)
from antiphon.wire.control import (
    Chunk,
    Commit,
    Digest,
    Greeting,
    Have,
    Hello,
    Hurry,
    Leaving,
    MemberState,
    PacketMessage,
    PartState,
    Propose,
    Ready,
    RecoveryData,
    RecoveryRequest,
    Relayed,
    SiteNews,
    SiteReady,
    SiteReport,
    SiteState,
    Standing,
    State,
    Times,
    pack_control,
    read_control,
)
from antiphon.wire.crossing import (
    Parcel,
    Report,
    pack_parcel,
    pack_report,
    read_object,
)
from antiphon.wire.link import (
    NOTHING_HEARD,
    LinkAck,
    LinkObject,
    LinkPacket,
    pack_link_packet,
    read_link_packet,
)
from antiphon.wire.packet import HEADER_BYTES, Envelope, Tag, open_header, pack_config
from antiphon.wire.pieces import ForeignPieces, Piece, RingPacket, Token
from antiphon.wire.reports import StreamReport, pack_reports, read_reports
from antiphon.wire.retained import KeptState
from antiphon.wire.ring import (
    CONTROL,
    LAST,
    ORIGIN,
    OWN,
    PACKET_OVERHEAD,
    REPORTS,
    SELF_DISCARD,
    pack_foreign_packet,
    pack_mask,
    pack_piece,
    pack_reports_packet,
    pack_ring_packet,
    pack_token,
    read_ring_packet,
    read_token,
)

GOLDEN = Path(__file__).with_name("golden.txt")

CLUSTER = 0x0123456789ABCDEF
ME = Member(DaemonId(3), Incarnation(0x18BCFE56800ABCDE))
OTHER = Member(DaemonId(0xFFFFFFFFFFFFFFFF), Incarnation(5))
ENVELOPE = Envelope(CLUSTER, ME)
BASE = ConfigId(6, DaemonId(1), Incarnation(17), 2)
CONFIG = ConfigId(7, ME.daemon, ME.incarnation, 300)
HEAD = ENVELOPE.head(Tag.DATA)


class Example(NamedTuple):
    """`decode` opens the bytes, `encode` must give the very same ones again."""

    name: str
    value: Any
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]

    @property
    def raw(self) -> bytes:
        return self.encode(self.value)


# What packs and opens each sort of message.


def encode_control(message: PacketMessage) -> bytes:
    return pack_control(ENVELOPE, message)


def decode_control(packet: bytes) -> PacketMessage:
    tag, _, _ = open_header(packet, CLUSTER)
    return read_control(tag, packet)


def encode_ring(packet: RingPacket) -> bytes:
    head = Envelope(CLUSTER, Member(packet.sender, packet.incarnation)).head(Tag.DATA)
    pieces = [pack_piece(piece) for piece in packet.pieces]
    fixed = (head, pack_config(packet.config), packet.token_sequence, packet.link_sequence)
    if packet.origin == REPORTS:
        return pack_reports_packet(*fixed, packet.reports)
    if packet.origin == OWN:
        return pack_ring_packet(*fixed, pieces, packet.mask)
    body = b"".join(pieces)
    foreign = ForeignPieces(packet.origin - 1, packet.author, packet.mask, body)
    return pack_foreign_packet(*fixed, foreign)


def decode_ring(packet: bytes) -> RingPacket:
    _, sender, incarnation = open_header(packet, CLUSTER)
    return read_ring_packet(packet, sender, incarnation)


def encode_object(value: Parcel | Report) -> bytes:
    return pack_report(value) if isinstance(value, Report) else pack_parcel(value)


def encode_loose(value: Parcel | Report) -> bytes:
    return ENVELOPE.head(Tag.LOOSE) + encode_object(value)


def decode_loose(packet: bytes) -> Parcel | Report:
    open_header(packet, CLUSTER)
    return read_object(packet[HEADER_BYTES:])


def encode_link(packet: LinkPacket) -> bytes:
    head = Envelope(CLUSTER, packet.sender).head(Tag.LINK)
    told = (packet.ack, packet.nack, packet.objects, packet.probe)
    return pack_link_packet(head, packet.birth, packet.sent_at, *told)


def decode_link(packet: bytes) -> LinkPacket:
    _, sender, incarnation = open_header(packet, CLUSTER)
    return read_link_packet(packet, sender, incarnation)


def encode_token(told: tuple[ConfigId, Token]) -> bytes:
    return pack_token(ENVELOPE.head(Tag.TOKEN), pack_config(told[0]), told[1])


def decode_token(packet: bytes) -> tuple[ConfigId, Token]:
    open_header(packet, CLUSTER)
    return read_token(packet)


def encode_body(told: tuple[Any, ...]) -> bytes:
    return pack_body(*told)


TABLE = (("alpha",), ("alpha", "βeta"), ("gamma",))


def body_decoder(count: int) -> Callable[[bytes], tuple[Any, ...]]:
    def decode(raw: bytes) -> tuple[Any, ...]:
        body = read_body(raw, count, TABLE)
        told = (body.table, body.destinations, body.kinds, body.payloads, body.sender)
        if body.producer:
            return (*told, body.big_endian, body.producer, body.key)
        return (*told, True) if body.big_endian else told

    return decode


def control(name: str, message: PacketMessage) -> Example:
    return Example(name, message, encode_control, decode_control)


def change(name: str, told: GroupChange) -> Example:
    return Example(name, told, pack_group_change, read_group_change)


def ring(name: str, link_sequence: int, *pieces: Piece) -> Example:
    fields = (70_000, link_sequence, OWN, ME, 0, list(pieces), PACKET_OVERHEAD)
    return Example(name, RingPacket(*ME, CONFIG, *fields), encode_ring, decode_ring)


def crossed(name: str, origin: int, author: Member, mask: int, *pieces: Piece) -> Example:
    """A ring packet where there are several segments."""
    start = PACKET_OVERHEAD + len(pack_mask(mask)) + (0 if origin == OWN else ORIGIN.size)
    fields = (70_000, 505, origin, author, mask, list(pieces), start)
    return Example(name, RingPacket(*ME, CONFIG, *fields), encode_ring, decode_ring)


def link(name: str, *told: Any) -> Example:
    packet = LinkPacket(ME, BIRTH, 70_000, 0, *told)
    packet.size = len(encode_link(packet))
    return Example(name, packet, encode_link, decode_link)


def token(name: str, value: Token) -> Example:
    return Example(name, (CONFIG, value), encode_token, decode_token)


def crossing(name: str, value: Parcel | Report) -> Example:
    return Example(name, value, encode_object, read_object)


def body(name: str, *told: Any) -> Example:
    return Example(name, told, encode_body, body_decoder(len(told[3])))


HELLO = Hello(CONFIG, DaemonId(3), True, "token_loss", DaemonId(9), 7, (ME, OTHER), (ME.daemon,))
RUNS = ((1, 1), (3, 400))
EARLY = ((70_000, 70_001),)
STREAMS = (
    StreamHoldings(((1, 1, 2), (3, 400, 900)), 400, 901, EARLY),
    StreamHoldings((), 0, 70_000, ()),
)
STATE = State(CONFIG, BASE, 1, STREAMS, 2, 900 << 16)
PARTS = (
    PartState((ME,), BASE, 0, (300, 0), STREAMS, 2, 900 << 16),
    PartState((OTHER,), BASE, 1, (), (), 0, 0),
)
PARTY = (
    MemberState(ME, BASE, 0, STREAMS, 2, 900 << 16),
    MemberState(OTHER, BASE, 1, (), 0, 0),
)
HELD_REPORTS = ((ME, 70_000), (OTHER, 1))
TIMES = Times(70_000, 4_000_000_000, 3_999_000_000, 900_000)
SITE_REPORT = SiteReport(
    ME,
    70_000,
    CONFIG,
    8,
    (ME, OTHER),
    (Standing(OTHER.daemon, BASE, "link_dead"),),
    (OTHER,),
    (500,),
)
SITE_NEWS = SiteNews(ME, 70_001, 70_000, CONFIG, 8, (Standing(OTHER.daemon, BASE, "link_dead"),))
LEADERS_NEWS = SiteNews(ME, 70_001, 70_000, CONFIG, 8, (), (OTHER,), (ME, OTHER))
PLACE = (9, 11, 8, 7, 6, 5)
WAYS = (1, ((0, 70_000), (2, 5)), (Reach(0, 8, 6), Reach(1, 7, 6)))
DATA = RecoveryData(CONFIG, BASE, OTHER, 4, 5, 6, 4, False, True, PLACE, *WAYS, 1, 3, b"fragment")
VIEW = ViewId(BASE, 12, 0xFEDCBA9876543210)
GROUP_STATE = GroupState(
    ((1, 2), (4, 70_000)),
    (
        SessionState(
            ME.daemon,
            1,
            "anna",
            (
                GroupStanding("alpha", VIEW, 0xFEDCBA9876543210, 70_000),
                GroupStanding("beta", ViewId(CONFIG, 3, 0), 7, 1),
            ),
        ),
        SessionState(OTHER.daemon, 2, "bert", ()),
    ),
    (
        KeptState(
            "alpha",
            ((Branch(BASE, 0), 70_000), (Branch(BASE, 0xFEDCBA9876543210), 3)),
            ((Branch(CONFIG, 0), 12),),
            (("query 7", 0x100000005), ("anna", 0)),
        ),
    ),
    (TableState(ME.daemon, 1, TABLE),),
)

WHOLE = Piece(LAST, Service.AGREED, 1, 10, 2, 0, b"whole", 9, 12, 8, 7, 6, 5)
EMPTY = Piece(LAST | SELF_DISCARD, Service.RELIABLE, 2, 1, 1, 0, b"", 10, 13, 0, 0, 0, 0)
CUT = Piece(0, Service.SAFE, 3, 4, 1, 6, b"cut from the middle")
END = Piece(LAST, Service.SAFE, 3, 4, 1, 7, b"end", 11, 14, 3, 10, 9, 5)
CHANGE = Piece(LAST | CONTROL, Service.AGREED, 0, 1, 1, 0, b"\x92\x03\x07", 12, 15, 0, 0, 0, 11)
FAR_PIECE = Piece(LAST, Service.CAUSAL, 1, 11, 1, 0, b"far", 13, 16, 9, 8, 7, 6, *WAYS[1:])
LOOSE = Piece(LAST, Service.UNRELIABLE, 1, 3, 1, 0, b"loose", 0, 0, 0, 8, 7, 6)
LOOSE_PART = Piece(0, Service.UNRELIABLE, 1, 4, 1, 0, b"part")

FULL_TOKEN = Token(
    71_000, 500, 480, DaemonId(3), 37, 620, 700, 650, OTHER.daemon, 12, ((481, 481), (483, 490))
)

REPORT = StreamReport(2, 300, 70_000, 70_001, 69_000, 1 << 20, 69_990, 68_000, (70_000, 0, 69_999))
BIRTH = 0xFEDCBA9876543210
LOOSE_PARCEL = Parcel(BIRTH, False, 2, 3, 0b101, b"pieces")

LINK_ACK = LinkAck(70_000, 300, 0xFFFFFFFF, 900, 1 << 40, ((1, 2), (300, 4)))
FIRST_ACK = LinkAck(0, 1, 0, NOTHING_HEARD, 0)
LINK_OBJECTS = [LinkObject(299, 0, b"first"), LinkObject(300, 2, b"sent three times")]

RING_REPORTS = RingPacket(*ME, CONFIG, 70_000, 506, REPORTS, ME, 0, [], PACKET_OVERHEAD, (REPORT,))
EXAMPLES = (
    control("hurry", Hurry(CONFIG)),
    control("have", Have(CONFIG, 70_000)),
    control("hello", HELLO),
    control("propose", Propose(CONFIG, ((ME, OTHER),), (), "3 has token_loss")),
    control(
        "propose_segments", Propose(CONFIG, ((ME,), (OTHER,)), ((0, 1), (70_000, 0)), "3 appeared")
    ),
    control("state", STATE),
    control("digest", Digest(CONFIG, ((), PARTS), PARTY)),
    control("digest_leaders", Digest(CONFIG, (PARTS, PARTS), ())),
    control("recovery_request", RecoveryRequest(CONFIG, BASE, 1, 2, RUNS)),
    control("recovery_data", DATA),
    control("ready", Ready(CONFIG)),
    control("commit", Commit(CONFIG)),
    control("leaving", Leaving()),
    control("site_state", SiteState(CONFIG, PARTS)),
    control("site_ready", SiteReady(CONFIG)),
    control("greeting", Greeting(ME.daemon, 0xFEDCBA9876543210, HELD_REPORTS, TIMES)),
    control("site_report", SITE_REPORT),
    control("site_news", SITE_NEWS),
    control("site_news_leaders", LEADERS_NEWS),
    control("relayed", Relayed((ME.daemon, OTHER.daemon), encode_control(Ready(CONFIG)))),
    control("chunk", Chunk(0xFEDCBA9876543210, 1, 3, b"a part of a packet")),
    change("join_group", JoinGroup(1, "anna", "alpha")),
    change("leave_group", LeaveGroup(70_000, "βeta")),
    change("end_session", EndSession(300)),
    change("group_state", GROUP_STATE),
    change("define_table", DefineTable(70_000, (("alpha",), ("alpha", "#anna#3")))),
    ring("ring_whole", 501, WHOLE),
    ring("ring_cut", 502, CUT),
    ring("ring_last", 503, END),
    ring("ring_packed", 504, EMPTY, END, CHANGE, CUT),
    ring("ring_unreliable", 0, LOOSE, LOOSE_PART),
    crossed("ring_masked", OWN, ME, 0b11, FAR_PIECE),
    crossed("ring_foreign", 3, OTHER, 0, WHOLE),
    crossed("ring_foreign_masked", 3, OTHER, 1 << 8 | 1, FAR_PIECE),
    Example("ring_reports", RING_REPORTS, encode_ring, decode_ring),
    Example("reports", (REPORT,), pack_reports, read_reports),
    crossing("crossing_parcel", Parcel(BIRTH, True, 2, 3, 0b101, b"pieces")),
    crossing("crossing_loose_parcel", LOOSE_PARCEL),
    crossing("crossing_report", Report(BIRTH, REPORT)),
    token("token_first", Token(1)),
    token("token_requests", FULL_TOKEN),
    token("token_heads", Token(2, site_sequence=7, site_stamp=9, heads=(0, 7, 3))),
    body("body_empty_message", (("alpha",),), (0,), (0,), (b"",), ""),
    body("body_big_endian", (("alpha",),), (0,), (-2,), (b"big",), "ann", True),
    body("body_keyed", (("alpha",),), (0, 0), (1, 2), (b"a", b"b"), "ann", False, "q", 1 << 40),
    body("body_one_destination", (("alpha", "beta"),), (0, 0), (7, -1), (b"one", b"three"), "ann"),
    body(
        "body_destinations",
        (("alpha",), ("alpha", "#anna#3")),
        (1, 0, 1),
        (-32768, 0, 32767),
        (b"one", b"", b"two"),
        "ben",
    ),
    Example(
        "body_referring",
        (TABLE, (2, 0, 2), (0, -1, 0), (b"one", b"", b"two"), "ben"),
        lambda told: b"".join(referring_parts(*told[1:])),
        body_decoder(3),
    ),
    link("link_objects", False, None, (), LINK_OBJECTS),
    link("link_first_ack", True, FIRST_ACK, (), []),
    link("link_all", True, LINK_ACK, ((70_001, 1), (70_004, 300)), LINK_OBJECTS),
    Example(
        "loose_parcel", Parcel(BIRTH, False, 2, 3, 0b101, b"pieces"), encode_loose, decode_loose
    ),
    Example("intent", Intent(1, 70_000, ("alpha", "βeta")), pack_intent, read_intent),
)


def golden_text() -> str:
    return "".join(f"{example.name} {example.raw.hex()}\n" for example in EXAMPLES)


if __name__ == "__main__":
    GOLDEN.write_text(golden_text())
