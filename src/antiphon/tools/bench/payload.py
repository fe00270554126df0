"""The payload of a bench: who, which number, when, and a filler that tells every byte's place.

A receiver compares all bytes with what they must be. The filler differs between neighbours, so
that bytes of one message in another are seen.
"""

import struct
import time
from collections.abc import Iterator

HEAD = struct.Struct("<IIQ")
"""Sender, number from 1, time in nanoseconds or 0 if it is not told."""

WORD = 4
"""Bytes of the sender and of the number."""

TIME_AT = 2 * WORD
PORTION_MESSAGES = 64
PORTION_BYTES = 64 * 1024

VARIANTS = 16
BYTES = bytes(range(256))
BLOCK_NUMBERS = len(BYTES)
BLOCK_BYTES = 64 * 1024
"""Of larger messages a block has as many as there are variants."""

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
        self._pack = struct.Struct(f"<IIQ{size - HEAD.size}s").pack

    def make(self, number: int, now: int) -> bytes:
        return self._pack(self._sender, number, now, self._fillers[number % VARIANTS])


class RowMaker:
    """Messages of one sender in a row, one after the other, without times. They are cut out of a
    block whose first number is a multiple of its length: from one block to the next only bytes of
    numbers change, and they at the same places."""

    def __init__(self, sender: int, size: int) -> None:
        self._size = size
        self._numbers = BLOCK_NUMBERS if size * BLOCK_NUMBERS <= BLOCK_BYTES else VARIANTS
        who, several = sender.to_bytes(WORD, "little"), fillers(size)
        rest = bytes(HEAD.size - WORD)
        in_turn = [who + rest + several[at % VARIANTS] for at in range(self._numbers)]
        self._block = bytearray().join(in_turn)
        self._first = -1
        """Number of the block's first message."""

    def make(self, first: int, count: int) -> bytearray:
        row = bytearray()
        while count > 0:
            at = first % self._numbers
            here = min(count, self._numbers - at)
            self._count_from(first - at)
            row += self._block[at * self._size : (at + here) * self._size]
            first, count = first + here, count - here
        return row

    def _count_from(self, first: int) -> None:
        if first == self._first:
            return
        self._first = first
        block, size, many = self._block, self._size, self._numbers
        low, *upper = first.to_bytes(WORD, "little")
        block[WORD::size] = BYTES[low : low + many]
        for at, byte in enumerate(upper, WORD + 1):
            block[at::size] = bytes([byte]) * many


def portion_of(size: int) -> int:
    """Messages for which the clock is read once where as many as possible are sent: to read it for
    each would take as long as to send it."""
    return max(1, min(PORTION_MESSAGES, PORTION_BYTES // size))


def payloads_until(stop: int, sender: int, size: int, last: int = 0) -> Iterator[bytes]:
    """As many as are asked for before `stop`, after number `last`, which ended a portion. The last
    of each portion tells when it was."""
    make_one, make_row = PayloadMaker(sender, size).make, RowMaker(sender, size).make
    clock = time.monotonic_ns
    portion = portion_of(size)
    cut = struct.Struct(f"{size}s" * (portion - 1)).unpack
    while clock() < stop:
        yield from cut(make_row(last + 1, portion - 1))
        last += portion
        yield make_one(last, clock())
