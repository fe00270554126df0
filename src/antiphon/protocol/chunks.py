"""Packets that are too large for one datagram travel in chunks (docs/protocols/federation.md).

A chunk carries the name of its packet, made from the packet's bytes. Whoever repeats a packet
repeats the same chunks: what was lost of the first is made good by the second.
"""

from functools import lru_cache
from hashlib import blake2b

from antiphon.core.errors import DecodeError
from antiphon.core.ids import Member
from antiphon.wire.control import CHUNK_BYTES_MAX, CHUNKS_MAX, Chunk, pack_control
from antiphon.wire.packet import Envelope

OPEN_MAX = 64
"""So many packets may be incomplete at a time; the one that began first is given up."""

BYTES_MAX = CHUNKS_MAX * CHUNK_BYTES_MAX * 2
"""And so many bytes may they have together: bounded, whatever peers send (P4)."""


def cut(envelope: Envelope, packet: bytes) -> tuple[bytes, ...]:
    """Itself, if it is small enough."""
    return (packet,) if len(packet) <= CHUNK_BYTES_MAX else _chunks_of(envelope, packet)


@lru_cache(maxsize=2)
def _chunks_of(envelope: Envelope, packet: bytes) -> tuple[bytes, ...]:
    """Once for all to whom it is sent."""
    name = _name_of(packet)
    starts = range(0, len(packet), CHUNK_BYTES_MAX)
    assert len(starts) <= CHUNKS_MAX, f"a packet of {len(packet)} bytes"
    return tuple(
        pack_control(
            envelope, Chunk(name, index, len(starts), packet[start : start + CHUNK_BYTES_MAX])
        )
        for index, start in enumerate(starts)
    )


class Chunks:
    """What has come of packets that are not complete."""

    def __init__(self) -> None:
        self._open: dict[tuple[Member, int, int], dict[int, bytes]] = {}
        self._bytes = 0

    def add(self, sender: Member, chunk: Chunk) -> bytes | None:
        """The packet, if this was what it lacked."""
        key = (sender, chunk.name, chunk.count)
        parts = self._open.setdefault(key, {})
        if chunk.index not in parts:
            parts[chunk.index] = chunk.data
            self._bytes += len(chunk.data)
        if len(parts) < chunk.count:
            self._make_room()
            return None
        self._give_up(key)
        whole = b"".join(parts[index] for index in range(chunk.count))
        if _name_of(whole) != chunk.name:
            raise DecodeError("bad_chunk", "of another packet")
        return whole

    def _make_room(self) -> None:
        while len(self._open) > OPEN_MAX or self._bytes > BYTES_MAX:
            self._give_up(next(iter(self._open)))

    def _give_up(self, key: tuple[Member, int, int]) -> None:
        self._bytes -= sum(map(len, self._open.pop(key).values()))


def _name_of(packet: bytes) -> int:
    return int.from_bytes(blake2b(packet, digest_size=8).digest(), "big") >> 1
