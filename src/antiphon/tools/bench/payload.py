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
    """Messages in a row, one after the other, as a receiver expects them: without times."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._fillers = fillers(size)
        self._templates: dict[tuple[int, int], bytes] = {}
        """Without senders and numbers, too: by the first one's variant, and how many they are."""

    def make(self, sender: int, first: int, count: int) -> bytearray:
        numbers = struct.pack(f"<{count}I", *range(first, first + count))
        who = sender.to_bytes(WORD, "little")
        row = bytearray(self._template(first % VARIANTS, count))
        for at in range(WORD):
            row[at :: self._size] = who[at : at + 1] * count
            row[WORD + at :: self._size] = numbers[at::WORD]
        return row

    def _template(self, variant: int, count: int) -> bytes:
        if (variant, count) not in self._templates:
            in_turn = [
                self._fillers[number % VARIANTS] for number in range(variant, variant + count)
            ]
            row = b"".join([bytes(HEAD.size) + filler for filler in in_turn])
            self._templates[variant, count] = row
        return self._templates[variant, count]


def portion_of(size: int) -> int:
    """Messages for which the clock is read once where as many as possible are sent: to read it for
    each would take as long as to send it."""
    return max(1, min(PORTION_MESSAGES, PORTION_BYTES // size))


def payloads_until(stop: int, sender: int, size: int) -> Iterator[bytes]:
    """As many as are asked for before `stop`. The last of each portion tells when it was."""
    make = PayloadMaker(sender, size).make
    clock = time.monotonic_ns
    portion = portion_of(size)
    last = 0
    while clock() < stop:
        first, last = last + 1, last + portion
        for number in range(first, last):
            yield make(number, 0)
        yield make(last, clock())
