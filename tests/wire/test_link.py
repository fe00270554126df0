"""Link packets: what is packed is read back to the letter, and all else is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import DecodeError
from antiphon.core.ids import DaemonId, Incarnation, Member
from antiphon.wire.link import (
    ACK_HEAD,
    ACK_RUNS_MAX,
    CLOCK,
    HELD_MAX,
    LINK_HEAD,
    LINK_OVERHEAD,
    NACK_RUNS_MAX,
    NOTHING_HEARD,
    OBJECT_HEAD,
    SEQUENCE_MAX,
    WINDOW_MAX,
    LinkAck,
    LinkObject,
    LinkPacket,
    ack_bytes,
    pack_link_packet,
    read_link_packet,
)
from antiphon.wire.packet import HEADER, HEADER_BYTES, WIRE_VERSION

SENDER = Member(DaemonId(3), Incarnation(5))
HEAD = HEADER.pack(WIRE_VERSION, 4, 99, *SENDER)

sequences = st.integers(1, SEQUENCE_MAX)
numbers = st.integers(0, 2**64 - 1)


@st.composite
def acks(draw: st.DrawFn) -> LinkAck:
    runs = draw(st.lists(st.tuples(st.integers(1, 100), st.integers(1, 100)), max_size=20))
    held = draw(st.one_of(st.just(NOTHING_HEARD), st.integers(0, HELD_MAX)))
    echo = 0 if held == NOTHING_HEARD else draw(st.integers(0, CLOCK - 1))
    received = draw(st.integers(0, SEQUENCE_MAX))
    highest = draw(st.integers(0, SEQUENCE_MAX))
    return LinkAck(received, highest, echo, held, draw(numbers), tuple(runs))


@st.composite
def nacks(draw: st.DrawFn) -> tuple[tuple[int, int], ...]:
    steps = st.tuples(st.integers(1, 1000), st.integers(1, 1000))
    runs, floor = [], draw(st.integers(0, 2**60))
    for gap, many in draw(st.lists(steps, max_size=20)):
        runs.append((floor + gap, many))
        floor += gap + many
    return tuple(runs)


@st.composite
def packets(draw: st.DrawFn) -> bytes:
    ack = draw(st.none() | acks())
    nack = draw(nacks()) if ack is not None else ()
    each = st.builds(LinkObject, sequences, st.integers(0, 255), st.binary(min_size=1, max_size=40))
    found = draw(st.lists(each, max_size=5, unique_by=lambda one: one.sequence))
    found.sort(key=lambda one: one.sequence)
    if ack is None and not found:
        found = [LinkObject(1, 0, b"x")]
    probe = ack is not None and draw(st.booleans())
    clock = draw(st.integers(0, 2**60))
    return pack_link_packet(HEAD, draw(numbers), clock, ack, nack, found, probe)


def read(raw: bytes) -> LinkPacket:
    return read_link_packet(raw, *SENDER)


def packed(packet: LinkPacket) -> bytes:
    return pack_link_packet(
        HEAD, packet.birth, packet.sent_at, packet.ack, packet.nack, packet.objects, packet.probe
    )


@given(packets())
def test_a_packet_is_read_back_to_the_letter(raw: bytes) -> None:
    """SP-143 to SP-145, SP-155: objects, acks and nacks, alone and together (SP-105, SP-106)."""
    packet = read(raw)
    assert packed(packet) == raw
    assert packet.sender == SENDER and packet.size == len(raw)


@given(packets(), st.data())
def test_a_changed_packet_is_refused_or_understood_to_the_letter(
    raw: bytes, data: st.DataObject
) -> None:
    at = data.draw(st.integers(HEADER_BYTES, len(raw) - 1))
    new = data.draw(st.binary(max_size=9))
    changed = raw[:at] + new + raw[at + data.draw(st.integers(0, 9)) :]
    try:
        packet = read(changed)
    except DecodeError:
        return
    assert packed(packet) == changed


@given(st.binary(max_size=200))
def test_noise_is_refused_or_understood_to_the_letter(noise: bytes) -> None:
    try:
        packet = read(HEAD + noise)
    except DecodeError:
        return
    assert packed(packet) == HEAD + noise


def test_all_parts_come_out_as_they_went_in() -> None:
    ack = LinkAck(10, 20, 30, 40, 50, ((1, 2), (3, 4)))
    objects = [LinkObject(7, 0, b"seven"), LinkObject(9, 2, b"nine")]
    packet = read(pack_link_packet(HEAD, 6, CLOCK + 8, ack, ((3, 2), (9, 1)), objects, probe=True))
    assert packet == LinkPacket(SENDER, 6, 8, packet.size, True, ack, ((3, 2), (9, 1)), objects)


def test_the_largest_ack_and_nack_are_understood() -> None:
    ack = LinkAck(SEQUENCE_MAX, SEQUENCE_MAX, CLOCK - 1, HELD_MAX, 2**64 - 1)
    ack.runs = ((1, 1),) * ACK_RUNS_MAX
    nack = tuple((2 * number, 1) for number in range(1, NACK_RUNS_MAX + 1))
    packet = read(pack_link_packet(HEAD, 2**64 - 1, 0, ack, nack))
    assert (packet.ack, packet.nack) == (ack, nack)
    bare = pack_link_packet(HEAD, 1, 0, ack)
    assert len(bare) == LINK_OVERHEAD + ack_bytes(ack)


ACK = LinkAck(1, 1, 1, 1, 1)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (HEAD, "too_short"),
        (HEAD + LINK_HEAD.pack(1, 1, 0), "too_short"),
        (HEAD + LINK_HEAD.pack(1, 1, 8) + b"more", "bad_field"),
        (HEAD + LINK_HEAD.pack(1, 1, 2) + b"nack without an ack", "bad_field"),
        (HEAD + LINK_HEAD.pack(1, 1, 4) + b"probe without an ack", "bad_field"),
        (HEAD + LINK_HEAD.pack(1, 1, 1) + b"cut", "cut_short"),
        (HEAD + LINK_HEAD.pack(1, 1, 1) + ACK_HEAD.pack(1, 1, 1, 1, 1, 2), "cut_short"),
        (pack_link_packet(HEAD, 1, 1, ACK, ((1, 1),))[:-11], "cut_short"),
        (pack_link_packet(HEAD, 1, 1, ACK, ((1, 1),))[:-1], "cut_short"),
        (pack_link_packet(HEAD, 1, 1, objects=[LinkObject(1, 0, b"xy")])[:-1], "cut_short"),
        (pack_link_packet(HEAD, 1, 1, objects=[LinkObject(1, 0, b"xy")]) + b"z", "cut_short"),
        (pack_link_packet(HEAD, 1, 1, objects=[LinkObject(1, 0, b"")]), "bad_field"),
        (pack_link_packet(HEAD, 1, 1, objects=[LinkObject(0, 0, b"x")]), "bad_field"),
        (HEAD + LINK_HEAD.pack(1, 1, 0) + OBJECT_HEAD.pack(SEQUENCE_MAX + 1, 0, 1), "bad_field"),
        (pack_link_packet(HEAD, 1, 1, objects=[LinkObject(2, 0, b"x")] * 2), "bad_field"),
        (pack_link_packet(HEAD, 1, 1, LinkAck(1, 1, 1, 1, 1, ((0, 1),))), "bad_field"),
        (pack_link_packet(HEAD, 1, 1, LinkAck(1, 1, 1, 1, 1, ((1, 0),))), "bad_field"),
        (pack_link_packet(HEAD, 1, 1, LinkAck(1, 1, 1, 1, 1, ((WINDOW_MAX, 1),))), "bad_field"),
        (pack_link_packet(HEAD, 1, 1, LinkAck(SEQUENCE_MAX + 1, 1, 1, 1, 1)), "bad_field"),
        (pack_link_packet(HEAD, 1, 1, LinkAck(1, 1, 1, NOTHING_HEARD, 1)), "bad_field"),
        (pack_link_packet(HEAD, 1, 1, ACK, ((0, 1),)), "bad_field"),
        (pack_link_packet(HEAD, 1, 1, ACK, ((1, 0),)), "bad_field"),
        (pack_link_packet(HEAD, 1, 1, ACK, ((1, 1), (2, 1))), "bad_field"),
        (pack_link_packet(HEAD, 1, 1, ACK, ((5, 1), (2, 1))), "bad_field"),
        (pack_link_packet(HEAD, 1, 1, ACK, ((SEQUENCE_MAX + 1, 1),)), "bad_field"),
        (
            pack_link_packet(
                HEAD, 1, 1, ACK, tuple((2 * n, 1) for n in range(1, NACK_RUNS_MAX + 2))
            ),
            "bad_field",
        ),
    ],
)
def test_what_no_link_would_say_is_refused(raw: bytes, reason: str) -> None:
    with pytest.raises(DecodeError) as refused:
        read(raw)
    assert refused.value.reason == reason
