"""Spread's message: one header for both directions, then names of groups, then data.

    u32  type, with the marker of the byte order of this and the two other numbers
    32   name: the sender's private group; in membership messages the group
    u32  number of groups
    u32  hint, in the byte order of who wrote it first
    u32  bytes of data
    u32  only with REJECT: the type of what was rejected
    32 * groups
    ...  data

A Head is what messages of one kind, from one sender to the same groups have in common. It is
made once and shared, so whoever wants to know whether two messages belong together compares
identities first.
"""

from collections.abc import Iterable
from functools import lru_cache
from struct import Struct

import msgspec

from antiphon.core.service import Service
from antiphon.wire.spread.words import (
    DATA_BYTES_MAX,
    GROUPS_MAX,
    HINT_FOREIGN,
    JOIN,
    KILL,
    LEAVE,
    MARKER,
    NAME_BYTES,
    REGULAR,
    REJECT,
    REQUESTS,
    REST_BYTES_MAX,
    SELF_DISCARD,
    SERVICES,
    pack_name,
    read_kind,
)

HEADER_BYTES = 48
LETTERHEADS_REMEMBERED = 512
STARTS_REMEMBERED = 64
NAMES_REPEATED_MAX = 4 * NAME_BYTES
"""Longer lists of names are not kept again with each size."""

TOP = {True: Struct("<I32sI"), False: Struct(">I32sI")}
"""Type, name and number of groups, by whether it is little-endian."""

WORD = {True: Struct("<I"), False: Struct(">I")}
NO_HINT = {True: MARKER, False: 0}


class Head(msgspec.Struct, frozen=True, gc=False):
    type: int
    """Without marker."""

    name: str
    groups: tuple[str, ...]
    little: bool
    rejected: int = 0
    """The type, without marker, of what was rejected."""

    @property
    def service(self) -> Service | None:
        """None if it is no regular message."""
        return SERVICES.get(self.type & REGULAR)

    @property
    def self_discard(self) -> bool:
        return bool(self.type & SELF_DISCARD)


class SpreadMessage(msgspec.Struct, frozen=True, gc=False):
    head: Head
    hint: int
    """As its four bytes are when read little-endian; see words.py."""

    data: bytes

    @property
    def kind(self) -> int:
        return read_kind(self.hint)


def request_fault(kind: int, name: str, own: str, groups: int, hint: int, size: int) -> str:
    """Why a client with the private group `own` may not send this header, or an empty string.
    Anything ends the session."""
    asked = kind & (REGULAR | REQUESTS)
    if asked.bit_count() != 1:
        return "two_services" if asked else "no_service"
    if name != own:
        return "foreign_sender"
    if groups > GROUPS_MAX:
        return "groups_count"
    if hint & HINT_FOREIGN:
        return "bad_hint"
    if size > DATA_BYTES_MAX or size + NAME_BYTES * groups > REST_BYTES_MAX:
        return "too_long"
    return ""


class Letterhead:
    """Packs regular messages of one kind, from one sender to the same groups."""

    __slots__ = ("_top", "_names", "_starts", "_little")

    def __init__(self, kind: int, name: str, groups: tuple[str, ...], little: bool = True) -> None:
        marked = kind | MARKER if little else kind
        self._top = TOP[little].pack(marked, pack_name(name), len(groups))
        self._names = b"".join(map(pack_name, groups))
        self._little = little
        self._starts: dict[tuple[int, int], bytes] = {}
        """Headers and names, by hint and size."""

    def start(self, hint: int, size: int) -> bytes:
        """All of a message but its data."""
        start = self._starts.get((hint, size))
        if start is None:
            packed = WORD[True].pack(hint) + WORD[self._little].pack(size)
            start = self._top + packed + self._names
            if len(self._names) <= NAMES_REPEATED_MAX:
                if len(self._starts) >= STARTS_REMEMBERED:
                    self._starts.clear()
                self._starts[hint, size] = start
        return start

    def pack(self, hint: int, data: bytes) -> bytes:
        return self.start(hint, len(data)) + data

    def pack_many(self, hints: Iterable[int], payloads: Iterable[bytes]) -> list[bytes]:
        """Pieces to be joined, two for each message."""
        pieces: list[bytes] = []
        add, known, start = pieces.append, self._starts.get, self.start
        for hint, data in zip(hints, payloads, strict=True):
            size = len(data)
            add(known((hint, size)) or start(hint, size))
            add(data)
        return pieces


letterhead = lru_cache(LETTERHEADS_REMEMBERED)(Letterhead)
"""The one that packed such messages before."""


def pack_message(
    kind: int, name: str, groups: Iterable[str], hint: int, data: bytes, little: bool = True
) -> bytes:
    """Any message but a rejection."""
    assert not kind & (MARKER | REJECT)
    names = b"".join(map(pack_name, groups))
    marked = kind | MARKER if little else kind
    top = TOP[little].pack(marked, pack_name(name), len(names) // NAME_BYTES)
    size = WORD[little].pack(len(data))
    return b"".join((top, WORD[True].pack(hint), size, names, data))


def pack_join(own: str, group: str, little: bool = True) -> bytes:
    return pack_message(JOIN, own, (group,), NO_HINT[little], b"", little)


def pack_leave(own: str, group: str, little: bool = True) -> bytes:
    return pack_message(LEAVE, own, (group,), NO_HINT[little], b"", little)


def pack_kill(own: str, little: bool = True) -> bytes:
    """The end of a session; the groups do not matter."""
    return pack_message(KILL, own, (own,), NO_HINT[little], b"", little)


def pack_reject(head: Head, own: str, hint: int, data: bytes, little: bool = True) -> bytes:
    """What a client asked and may not: back to it, with its private group `own` as last group."""
    told = {JOIN: 0x100, LEAVE: 0x200}.get(head.type & REQUESTS, head.type)
    groups = (*head.groups[: GROUPS_MAX - 1], own)
    marker = MARKER if little else 0
    kind = REJECT | (head.type & SELF_DISCARD) | marker
    top = TOP[little].pack(kind, pack_name(head.name), len(groups))
    size, rejected = WORD[little].pack(len(data)), WORD[little].pack(told | marker)
    names = b"".join(map(pack_name, groups))
    return b"".join((top, WORD[True].pack(hint), size, rejected, names, data))
