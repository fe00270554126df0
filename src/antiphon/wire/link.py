"""Packets of a link between two sites, packed by hand: objects, acks, nacks, probes.

One packet may carry all of them: an ack rides on data when there is any. What an object is,
the link does not know. A packet has one spelling only, and everything else is refused.
"""

from itertools import pairwise
from struct import Struct

import msgspec

from antiphon.core.errors import DecodeError
from antiphon.core.ids import DaemonId, Incarnation, Member
from antiphon.wire.packet import HEADER_BYTES

LINK_HEAD = Struct(">QIB")  # birth of the link; sender's clock, low 32 bits; flags
ACK_HEAD = Struct(">QQIIQB")  # received up to, highest sent, echo, held, delivered, runs
ACK_RUN = Struct(">HH")  # so many missing, then so many received
NACK_HEAD = Struct(">B")  # runs
NACK_RUN = Struct(">QH")  # first, how many
OBJECT_HEAD = Struct(">QBH")  # link sequence, times sent before, length

LINK_OVERHEAD = HEADER_BYTES + LINK_HEAD.size
OBJECT_OVERHEAD = OBJECT_HEAD.size

ACK = 1
NACK = 2
PROBE = 4
ALL_FLAGS = ACK | NACK | PROBE

ACK_RUNS_MAX = 255
NACK_RUNS_MAX = 100
"""A full nack, with its ack beside it, stays within a packet."""

WINDOW_MAX = 65_535
"""So many objects may be open on a link: a run's length has 16 bits."""

OBJECT_BYTES_MAX = 65_535
SEQUENCE_MAX = 2**62
CLOCK = 2**32
"""Clocks are read modulo this many microseconds, 71 minutes; only differences count."""

HELD_MAX = CLOCK - 2
NOTHING_HEARD = CLOCK - 1
"""In place of `held`: there is nothing to echo yet."""

REPEATS_MAX = 255


class LinkObject(msgspec.Struct, gc=False):
    sequence: int
    repeats: int
    """0: as it was sent first. So a receiver tells a late object from a repeated one."""

    data: bytes


class LinkAck(msgspec.Struct, gc=False):
    """What an end has, has sent, and has heard (SP-144)."""

    received: int
    """Everything up to here has come."""

    highest: int
    """The last link sequence that the speaker has used: shows a lost tail (SP-151)."""

    echo: int
    """The clock in the newest packet heard, as its sender wrote it."""

    held: int
    """Microseconds since that packet came, or NOTHING_HEARD."""

    delivered: int
    """Bytes of all packets with objects that came so far, repeated ones too."""

    runs: tuple[tuple[int, int], ...] = ()
    """What came above `received`: so many missing, so many received, and so on."""


class LinkPacket(msgspec.Struct, gc=False):
    sender: Member
    birth: int
    sent_at: int
    size: int
    """Of the whole packet, in bytes."""

    probe: bool
    """An ack is asked for at once."""

    ack: LinkAck | None
    nack: tuple[tuple[int, int], ...]
    """Runs (first, how many) that the speaker lacks (SP-145)."""

    objects: list[LinkObject]


def ack_bytes(ack: LinkAck | None) -> int:
    return 0 if ack is None else ACK_HEAD.size + len(ack.runs) * ACK_RUN.size


def pack_link_packet(
    head: bytes,
    birth: int,
    sent_at: int,
    ack: LinkAck | None = None,
    nack: tuple[tuple[int, int], ...] = (),
    objects: tuple[LinkObject, ...] | list[LinkObject] = (),
    probe: bool = False,
) -> bytes:
    flags = (ACK if ack is not None else 0) | (NACK if nack else 0) | (PROBE if probe else 0)
    parts = [head, LINK_HEAD.pack(birth, sent_at % CLOCK, flags)]
    if ack is not None:
        parts.append(
            ACK_HEAD.pack(
                ack.received, ack.highest, ack.echo, ack.held, ack.delivered, len(ack.runs)
            )
        )
        parts += [ACK_RUN.pack(*run) for run in ack.runs]
    if nack:
        parts.append(NACK_HEAD.pack(len(nack)))
        parts += [NACK_RUN.pack(*run) for run in nack]
    for each in objects:
        parts.append(OBJECT_HEAD.pack(each.sequence, each.repeats, len(each.data)))
        parts.append(each.data)
    return b"".join(parts)


def read_link_packet(packet: bytes, sender: DaemonId, incarnation: Incarnation) -> LinkPacket:
    if len(packet) <= LINK_OVERHEAD:
        raise DecodeError("too_short", "a link packet with nothing in it")
    birth, sent_at, flags = LINK_HEAD.unpack_from(packet, HEADER_BYTES)
    if flags & ~ALL_FLAGS or (flags & ~ACK and not flags & ACK):
        raise DecodeError("bad_field", "a nack or a probe comes with an ack")
    at = LINK_OVERHEAD
    ack = None
    nack: tuple[tuple[int, int], ...] = ()
    if flags & ACK:
        ack, at = _read_ack(packet, at)
    if flags & NACK:
        nack, at = _read_nack(packet, at)
    return LinkPacket(
        Member(sender, incarnation),
        birth,
        sent_at,
        len(packet),
        bool(flags & PROBE),
        ack,
        nack,
        _read_objects(packet, at),
    )


def _read_ack(packet: bytes, at: int) -> tuple[LinkAck, int]:
    if len(packet) - at < ACK_HEAD.size:
        raise DecodeError("cut_short", "inside an ack")
    received, highest, echo, held, delivered, count = ACK_HEAD.unpack_from(packet, at)
    at += ACK_HEAD.size
    if max(received, highest) > SEQUENCE_MAX or (held == NOTHING_HEARD and echo):
        raise DecodeError("bad_field", "in an ack")
    end = at + count * ACK_RUN.size
    if end > len(packet):
        raise DecodeError("cut_short", "inside the runs of an ack")
    runs = tuple(ACK_RUN.iter_unpack(packet[at:end]))
    if not all(missing and came for missing, came in runs):
        raise DecodeError("bad_field", "an empty run in an ack")
    if sum(missing + came for missing, came in runs) > WINDOW_MAX:
        raise DecodeError("bad_field", "an ack of more than a window")
    return LinkAck(received, highest, echo, held, delivered, runs), end


def _read_nack(packet: bytes, at: int) -> tuple[tuple[tuple[int, int], ...], int]:
    if len(packet) <= at:
        raise DecodeError("cut_short", "before a nack")
    count = packet[at]
    at += NACK_HEAD.size
    end = at + count * NACK_RUN.size
    if not 0 < count <= NACK_RUNS_MAX:
        raise DecodeError("bad_field", "number of runs in a nack")
    if end > len(packet):
        raise DecodeError("cut_short", "inside a nack")
    runs = tuple(NACK_RUN.iter_unpack(packet[at:end]))
    floor = 0
    for first, many in runs:
        if first <= floor or not many or first > SEQUENCE_MAX:
            raise DecodeError("bad_field", "the runs of a nack are sorted and apart")
        floor = first + many
    return runs, end


def _read_objects(packet: bytes, at: int) -> list[LinkObject]:
    objects = []
    end = len(packet)
    while at < end:
        if end - at < OBJECT_OVERHEAD:
            raise DecodeError("cut_short", "inside an object's head")
        sequence, repeats, length = OBJECT_HEAD.unpack_from(packet, at)
        at += OBJECT_OVERHEAD
        if not 0 < sequence <= SEQUENCE_MAX or not length:
            raise DecodeError("bad_field", "in an object's head")
        if length > end - at:
            raise DecodeError("cut_short", "inside an object")
        objects.append(LinkObject(sequence, repeats, packet[at : at + length]))
        at += length
    if any(one.sequence >= next_one.sequence for one, next_one in pairwise(objects)):
        raise DecodeError("bad_field", "the objects of a packet are sorted")
    return objects
