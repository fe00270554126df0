"""Packets larger than a datagram, in chunks."""

from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import DecodeError
from antiphon.core.ids import DaemonId, Incarnation, Member
from antiphon.protocol.chunks import OPEN_MAX, Chunks, cut
from antiphon.wire.control import CHUNK_BYTES_MAX, Chunk, read_control
from antiphon.wire.packet import Envelope, Tag

ME = Member(DaemonId(3), Incarnation(7))
OTHER = Member(DaemonId(4), Incarnation(7))
ENVELOPE = Envelope(1, ME)


def packet_of(size: int, filling: int = 1) -> bytes:
    return (ENVELOPE.head(Tag.PROPOSE) + bytes([filling]) * size)[:size]


def opened(packets: Iterable[bytes]) -> list[Chunk]:
    chunks = [read_control(Tag.CHUNK, packet) for packet in packets]
    return [chunk for chunk in chunks if isinstance(chunk, Chunk)]


def test_what_fits_a_datagram_goes_as_it_is() -> None:
    packet = packet_of(CHUNK_BYTES_MAX)
    assert cut(ENVELOPE, packet) == (packet,)


@given(st.integers(1, 5 * CHUNK_BYTES_MAX), st.randoms(use_true_random=False))
def test_chunks_in_any_order_make_the_packet(more: int, rng: Random) -> None:
    packet = packet_of(CHUNK_BYTES_MAX + more)
    chunks = opened(cut(ENVELOPE, packet))
    rng.shuffle(chunks)
    puzzle = Chunks()
    found = [puzzle.add(ME, chunk) for chunk in chunks]
    assert found == [*([None] * (len(chunks) - 1)), packet]
    assert not puzzle._open and not puzzle._bytes


def test_a_repetition_makes_good_what_was_lost() -> None:
    packet = packet_of(3 * CHUNK_BYTES_MAX)
    first, second, third = opened(cut(ENVELOPE, packet))
    again = opened(cut(ENVELOPE, packet))[1]
    puzzle = Chunks()
    assert puzzle.add(ME, first) is None
    assert puzzle.add(ME, third) is None
    assert puzzle.add(ME, first) is None
    assert puzzle.add(ME, again) == packet
    assert again == second


def test_chunks_of_different_senders_do_not_mix() -> None:
    first, second = opened(cut(ENVELOPE, packet_of(2 * CHUNK_BYTES_MAX)))
    puzzle = Chunks()
    assert puzzle.add(ME, first) is None
    assert puzzle.add(OTHER, second) is None


def test_a_chunk_that_does_not_belong_spoils_only_its_own_packet() -> None:
    first, second = opened(cut(ENVELOPE, packet_of(2 * CHUNK_BYTES_MAX)))
    puzzle = Chunks()
    puzzle.add(ME, first)
    with pytest.raises(DecodeError):
        puzzle.add(ME, Chunk(second.name, 1, 2, b"something else"))
    assert not puzzle._open and not puzzle._bytes


def test_what_never_becomes_whole_takes_bounded_room() -> None:
    """P4."""
    puzzle = Chunks()
    for filling in range(2 * OPEN_MAX):
        first, _ = opened(cut(ENVELOPE, packet_of(2 * CHUNK_BYTES_MAX, filling)))
        assert puzzle.add(ME, first) is None
        assert len(puzzle._open) <= OPEN_MAX
    first, second = opened(cut(ENVELOPE, packet_of(2 * CHUNK_BYTES_MAX, 255)))
    puzzle.add(ME, first)
    assert puzzle.add(ME, second) is not None, "there is room for the newest"
