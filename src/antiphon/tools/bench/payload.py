"""The payload of a bench: who, which number, when, and a filler that tells every byte's place.

A receiver compares all bytes with what they must be. The filler differs between neighbours, so
that bytes of one message in another are seen.
"""

import struct
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache

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
SHORT_SIZE_MAX = 256
"""Up to here messages are made and compared many at a time. To copy a longer one once more takes
as long as to look at it."""

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


class ShortRow:
    """Messages of one sender in a row, without times. They are cut out of a block whose first
    number is a multiple of its length: from one block to the next only bytes of numbers change,
    and they at the same places."""

    def __init__(self, sender: int, size: int) -> None:
        self._size = size
        who, several = sender.to_bytes(WORD, "little"), fillers(size)
        rest = bytes(HEAD.size - WORD)
        in_turn = [who + rest + several[at % VARIANTS] for at in range(BLOCK_NUMBERS)]
        self._block = bytearray().join(in_turn)
        self._first = -1
        """Number of the block's first message."""

    def messages(self, first: int, count: int) -> Sequence[bytes]:
        cut: Sequence[bytes] = _messages_of(self._size, count).unpack(self._together(first, count))
        return cut

    def are(self, payloads: Sequence[bytes], first: int, told: int) -> bool:
        """Whether these, all of the right size, are the messages from that number on. The one with
        the number `told` may have a time."""
        together, expected = b"".join(payloads), self._together(first, len(payloads))
        at = (told - first) * self._size
        if 0 <= at < len(together):
            time_at = slice(at + TIME_AT, at + HEAD.size)
            expected[time_at] = together[time_at]
        return together == expected

    def _together(self, first: int, count: int) -> bytearray:
        row = bytearray()
        while count > 0:
            at = first % BLOCK_NUMBERS
            here = min(count, BLOCK_NUMBERS - at)
            self._count_from(first - at)
            row += self._block[at * self._size : (at + here) * self._size]
            first, count = first + here, count - here
        return row

    def _count_from(self, first: int) -> None:
        if first == self._first:
            return
        self._first = first
        block, size = self._block, self._size
        for at, byte in enumerate(first.to_bytes(WORD, "little")[1:], WORD + 1):
            block[at::size] = bytes([byte]) * BLOCK_NUMBERS
        block[WORD::size] = BYTES


class LongRow:
    """The same of messages that are made and compared one by one."""

    def __init__(self, sender: int, size: int) -> None:
        self._sender = sender
        self._make = PayloadMaker(sender, size).make
        self._fillers = fillers(size)

    def messages(self, first: int, count: int) -> Sequence[bytes]:
        return [self._make(number, 0) for number in range(first, first + count)]

    def are(self, payloads: Sequence[bytes], first: int, told: int) -> bool:
        for number, payload in enumerate(payloads, first):
            sender, its_number, time = HEAD.unpack_from(payload)
            if sender != self._sender or its_number != number or (time and number != told):
                return False
            if not payload.endswith(self._fillers[number % VARIANTS]):
                return False
        return True


def row_of(sender: int, size: int) -> ShortRow | LongRow:
    return (ShortRow if size <= SHORT_SIZE_MAX else LongRow)(sender, size)


@lru_cache(maxsize=8)
def _messages_of(size: int, count: int) -> struct.Struct:
    return struct.Struct(f"{size}s" * count)


def portion_of(size: int) -> int:
    """Messages for which the clock is read once where as many as possible are sent: to read it for
    each would take as long as to send it."""
    return max(1, min(PORTION_MESSAGES, PORTION_BYTES // size))


def payloads_until(stop: int, sender: int, size: int, last: int = 0) -> Iterator[bytes]:
    """As many as are asked for before `stop`, after number `last`, which ended a portion. The last
    of each portion tells when it was."""
    make, row = PayloadMaker(sender, size).make, row_of(sender, size)
    clock = time.monotonic_ns
    portion = portion_of(size)
    while clock() < stop:
        yield from row.messages(last + 1, portion - 1)
        last += portion
        yield make(last, clock())
