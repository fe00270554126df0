"""What decoders are fed: samples of real traffic, and their mutations."""

from collections.abc import Iterator
from functools import cache
from random import Random
from struct import Struct
from typing import Any

import msgspec

from antiphon.core.effects import StreamHoldings
from antiphon.core.ids import ConfigId, DaemonId, Incarnation, Member
from antiphon.core.reach import Reach
from antiphon.core.service import Service
from antiphon.tools.fuzz_nodes import ONE_SITE, TWO_SITES, LiveNodes
from antiphon.tools.fuzz_targets import CLUSTER, TARGETS, tag_name
from antiphon.wire.control import (
    Chunk,
    Commit,
    Digest,
    Greeting,
    Leaving,
    MemberState,
    PacketMessage,
    PartState,
    Propose,
    RecoveryData,
    RecoveryRequest,
    Relayed,
    SiteNews,
    SiteReady,
    SiteReport,
    SiteState,
    Standing,
    Times,
    pack_control,
)
from antiphon.wire.link import read_link_packet
from antiphon.wire.packet import (
    CONFIG_BYTES,
    HEADER_BYTES,
    WIRE_VERSION,
    Envelope,
    Tag,
    open_header,
)
from antiphon.wire.pieces import Piece
from antiphon.wire.reports import pack_reports
from antiphon.wire.ring import (
    CONTROL,
    LAST,
    ORDER_OVERHEAD,
    PACKET_OVERHEAD,
    PIECE_OVERHEAD,
    REPORTS,
    TOKEN_BYTES,
    read_ring_packet,
)

SAMPLES_PER_TARGET = 400
STEPS_FOR_SAMPLES = 150

NUMBERS = (0, 1, 2, 63, 64, 255, 256, 65_535, 65_536, 2**20, 2**31, 2**32 - 1, 2**32, 2**63)
EDGES = (*NUMBERS, 2**64 - 2, 2**64 - 1)
U64 = Struct(">Q")
PLACES = (
    *range(HEADER_BYTES + CONFIG_BYTES + 1, TOKEN_BYTES, 4),
    *range(PACKET_OVERHEAD - 16, PACKET_OVERHEAD + PIECE_OVERHEAD + ORDER_OVERHEAD, 4),
)
"""Where tokens and ring packets have numbers, more or less."""


# Samples.


@cache
def samples() -> dict[str, list[bytes]]:
    """Real inputs for every target, from a simulated run."""
    found: dict[str, list[bytes]] = {name: [] for name in TARGETS}
    for packet in [*_rare_packets(), *_traffic()]:
        for name, raw in _inputs_of(packet):
            if len(found[name]) < SAMPLES_PER_TARGET:
                found[name].append(raw)
    assert all(found.values()), [name for name, list in found.items() if not list]
    return found


def _traffic() -> Iterator[bytes]:
    worlds = [LiveNodes(0, sites=sites) for sites in (ONE_SITE, TWO_SITES)]
    for _ in range(STEPS_FOR_SAMPLES):
        for live in worlds:
            live.go_on()
            yield from list(live.packets)
            live.packets.clear()


def _rare_packets() -> Iterator[bytes]:
    """What a run may do without."""
    one, two = Member(DaemonId(1), Incarnation(1)), Member(DaemonId(2), Incarnation(1))
    base, config = ConfigId(1, *one, 1), ConfigId(2, *one, 2)
    runs = ((1, 3), (5, 9))
    order = (5, 6, 4, 3, 2, 1)
    ways = (1, ((0, 4),), (Reach(0, 4, 3), Reach(1, 3, 2)))
    data = RecoveryData(
        config, base, two, 1, 1, 1, 4, False, False, order, *ways, 0, 2, b"first half of it"
    )
    told = StreamHoldings(((1, 3, 4), (5, 9, 11)), 3, 5, ((7, 8),))
    streams = (told, told)
    states = tuple(MemberState(who, base, 0, streams, 9, 3) for who in (one, two))
    parts = (
        PartState((one, two), base, 0, (1, 3), streams, 9, 3),
        PartState((), base, 1, (), (), 0, 0),
    )
    standing = Standing(two.daemon, base, "token_loss")
    rare: tuple[PacketMessage, ...] = (
        RecoveryRequest(config, base, 1, 0, runs),
        data,
        Digest(config, ((), parts), states),
        Digest(config, (parts, parts), ()),
        Commit(config),
        Leaving(),
        Chunk(1 << 60, 1, 3, b"the second third of it"),
        Propose(config, ((one,), (two,)), ((0, 1), (2, 0)), "2 appeared"),
        SiteState(config, parts),
        SiteReady(config),
        Greeting(one.daemon, 2**63, ((one, 3), (two, 4)), Times(5, 6, 7, 8)),
        SiteReport(one, 5, config, 2, (one, two), (standing,), (two,), (500,)),
        SiteNews(one, 6, 5, config, 2, (standing,)),
        Relayed((two.daemon, one.daemon), pack_control(Envelope(CLUSTER, two), SiteReady(config))),
    )
    for message in rare:
        yield pack_control(Envelope(CLUSTER, one), message)


def _inputs_of(packet: bytes) -> Iterator[tuple[str, bytes]]:
    tag, sender, incarnation = open_header(packet, CLUSTER)
    yield "header", packet
    if tag == Tag.LINK:
        yield "link", packet
        for each in read_link_packet(packet, sender, incarnation).objects:
            yield "crossing", each.data
    elif tag != Tag.DATA:
        yield tag_name(tag), packet
    else:
        yield "ring packet", packet
        opened = read_ring_packet(packet, sender, incarnation)
        if opened.origin == REPORTS:
            yield "reports", pack_reports(opened.reports)
        for piece in opened.pieces:
            if piece.flags & LAST and not piece.index:
                yield _input_of(piece)


def _input_of(piece: Piece) -> tuple[str, bytes]:
    if not piece.flags & CONTROL:
        return "body", piece.count.to_bytes(2, "big") + piece.data
    return "intent" if piece.service == Service.RELIABLE else "group change", piece.data


# Mutations.


def mutated(rng: Random, chosen: list[bytes], raw: bytes) -> bytes:
    """`raw` with one or a few things wrong or with parts of others, or plain noise."""
    draw = rng.random()
    if draw > 0.6:
        return _lied(rng, raw)
    if draw < 0.05:
        return raw[:HEADER_BYTES] + rng.randbytes(int(rng.random() * 120))
    if draw < 0.08:
        return rng.randbytes(int(rng.random() * 120))
    while True:
        raw = _mutate_once(rng, raw, chosen)
        if rng.random() < 0.7:
            return raw


def _lied(rng: Random, raw: bytes) -> bytes:
    """Well formed, but one number of it is another one."""
    if len(raw) < HEADER_BYTES or raw[0] != WIRE_VERSION:
        head, rest = b"", raw
    elif raw[1] == Tag.TOKEN or raw[1] == Tag.DATA:
        return _lied_at(rng, raw, PLACES[int(rng.random() * len(PLACES))])
    else:
        head, rest = raw[:HEADER_BYTES], raw[HEADER_BYTES:]
    try:
        fields = msgspec.msgpack.decode(rest)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _lied_at(rng, raw, len(raw) - len(rest) + int(rng.random() * len(rest)))
    if isinstance(fields, list):
        _change_leaf(rng, fields)
    return head + msgspec.msgpack.encode(fields)


def _lied_at(rng: Random, raw: bytes, at: int) -> bytes:
    (before,) = U64.unpack_from(raw.ljust(at + 8), at)
    return raw[:at] + U64.pack(_other_number(rng, before)) + raw[at + 8 :]


def _change_leaf(rng: Random, fields: list[Any]) -> None:
    """One number somewhere in the tree; or a branch lost or doubled."""
    while fields:
        at = int(rng.random() * len(fields))
        if isinstance(fields[at], list) and fields[at] and rng.random() < 0.95:
            fields = fields[at]
        elif isinstance(fields[at], int):
            fields[at] = _other_number(rng, fields[at])
            return
        elif rng.random() < 0.5:
            del fields[at]
            return
        else:
            fields.insert(at, fields[at])
            return


def _other_number(rng: Random, before: int) -> int:
    draw = rng.random()
    if draw < 0.5:
        return EDGES[int(rng.random() * len(EDGES))]
    return max(0, min(2**64 - 1, before + int(rng.random() * 9) - 4))


def _mutate_once(rng: Random, raw: bytes, chosen: list[bytes]) -> bytes:
    kind = int(rng.random() * 8)
    size = len(raw)
    at = int(rng.random() * (size + 1))
    if kind == 0 and at < size:  # one bit
        return raw[:at] + bytes((raw[at] ^ 1 << int(rng.random() * 8),)) + raw[at + 1 :]
    if kind == 1:  # one byte
        return raw[:at] + bytes((int(rng.random() * 256),)) + raw[at + 1 :]
    if kind == 2:  # a number at the edge of something, where a number may be
        return raw[:at] + U64.pack(EDGES[int(rng.random() * len(EDGES))]) + raw[at + 8 :]
    if kind == 3:  # the low bytes of such a number
        tail = U64.pack(EDGES[int(rng.random() * len(EDGES))])[-int(rng.random() * 4) - 1 :]
        return raw[:at] + tail + raw[at + len(tail) :]
    if kind == 4:  # cut off
        return raw[:at]
    if kind == 5:  # too long
        return raw + rng.randbytes(1 + int(rng.random() * 16))
    if kind == 6:  # something taken out or doubled
        other = int(rng.random() * (size + 1))
        return raw[:at] + raw[other:]
    other_raw = chosen[int(rng.random() * len(chosen))]  # two joined into one
    return raw[:at] + other_raw[at:]
