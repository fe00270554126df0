"""The payload of a bench: who, which number, when, and a filler that tells every byte's place.

A receiver compares all bytes with what they must be. The filler differs between neighbours, so
that bytes of one message in another are seen.
"""

import struct

HEAD = struct.Struct("<IIQ")
"""Sender, number from 1, time in nanoseconds."""

VARIANTS = 16
MESSAGE, END = 0, 1
"""Kinds. The end has the number of the last message."""


def fillers(size: int) -> list[bytes]:
    """Of payloads of `size` bytes, by number modulo VARIANTS."""
    # 251 is prime, so no power of two bytes further is the same byte again.
    cycle = bytes(range(251))
    room = size - HEAD.size
    long = cycle * ((room + VARIANTS) // len(cycle) + 2)
    return [long[variant : variant + room] for variant in range(VARIANTS)]


class PayloadMaker:
    def __init__(self, sender: int, size: int) -> None:
        self._sender = sender
        self._fillers = fillers(size)

    def make(self, number: int, now: int) -> bytes:
        return HEAD.pack(self._sender, number, now) + self._fillers[number % VARIANTS]
