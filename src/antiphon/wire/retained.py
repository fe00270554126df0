"""The bytes of a kept group: parts on disk, the entries in them, and what daemons tell.

    part   8 bytes magic, u32 size, u32 checksum, head (msgpack); then entries
    entry  u32 size, u32 checksum of what follows:
           u64 sequence, u32 count, u8 service, origin (u64, u64, u32), u64 number,
           u8 length + sender, u8 length + producer, u64 key if there is a producer,
           u32 * count lengths, i16 * count kinds, payloads

An entry is the same at every daemon, so it is sent to readers as it is on disk. Lengths and
payloads lie together: a reader takes thousands of messages apart with a few copies.
"""

from collections.abc import Iterator
from struct import Struct, error
from typing import Annotated, NamedTuple
from zlib import crc32

import msgspec

from antiphon.core.errors import DecodeError
from antiphon.core.ids import DaemonId, GroupName, Incarnation, Natural, SessionId
from antiphon.core.offsets import Branch

PART_MAGIC = b"APHNLOG1"
FRAME = Struct(">II")
ENTRY = Struct(">QIBQQIQBB")
KEY = Struct(">Q")
TIPS_MAX = 256
COVERED_MAX = 32
PRODUCERS_MAX = 1024
PRODUCER_BYTES_MAX = 100

Name = Annotated[GroupName, msgspec.Meta(min_length=1, max_length=255)]
Producer = Annotated[str, msgspec.Meta(min_length=1, max_length=PRODUCER_BYTES_MAX)]
Ends = tuple[tuple[Branch, Natural], ...]
"""Branches, sorted, each with a sequence."""

Tips = Annotated[Ends, msgspec.Meta(max_length=TIPS_MAX)]
Covered = Annotated[Ends, msgspec.Meta(max_length=COVERED_MAX)]
Marks = Annotated[tuple[tuple[Producer, Natural], ...], msgspec.Meta(max_length=PRODUCERS_MAX)]
"""The highest number of each producer, those that were silent longest first."""


class KeptState(NamedTuple):
    """What one group's daemons have behind them."""

    group: Name
    tips: Tips
    covered: Covered
    marks: Marks


class PartHead(NamedTuple):
    """Where a part begins: its branch, what came directly before that branch, and before that;
    the marks are those before its first entry."""

    branch: Branch
    first: Natural
    state: KeptState


class Entry(msgspec.Struct, gc=False, frozen=True):
    """Where the parts of an entry are; the messages themselves are not touched."""

    sequence: int
    count: int
    service: int
    origin: SessionId
    number: int
    sender: str
    producer: str
    key: int
    lengths_at: int
    kinds_at: int
    payloads_at: int
    end: int
    checksum: int

    @property
    def last(self) -> int:
        return self.sequence + self.count - 1


_encode = msgspec.msgpack.Encoder().encode
_head_decoder = msgspec.msgpack.Decoder(PartHead)


def pack_part(head: PartHead) -> bytes:
    packed = _encode(head)
    return PART_MAGIC + FRAME.pack(len(packed), crc32(packed)) + packed


def read_part(data: bytes | memoryview) -> tuple[PartHead, int]:
    """The head, and where the entries begin. DecodeError if it is not whole."""
    start = len(PART_MAGIC) + FRAME.size
    if len(data) < start or bytes(data[: len(PART_MAGIC)]) != PART_MAGIC:
        raise DecodeError("malformed", "no part of a log")
    size, checksum = FRAME.unpack_from(data, len(PART_MAGIC))
    packed = data[start : start + size]
    if len(packed) < size or crc32(packed) != checksum:
        raise DecodeError("malformed", "the head of a part is not whole")
    try:
        return _head_decoder.decode(packed), start + size
    except (msgspec.DecodeError, RecursionError) as fault:
        raise DecodeError("malformed", f"the head of a part: {fault}") from None


def pack_entry(
    sequence: int,
    count: int,
    service: int,
    origin: SessionId,
    number: int,
    sender: str,
    producer: str,
    key: int,
    messages: bytes,
) -> bytes:
    """`messages`: lengths, kinds and payloads as they lie in a body."""
    name, keyed = sender.encode(), producer.encode()
    rest = b"".join(
        (
            ENTRY.pack(sequence, count, service, *origin, number, len(name), len(keyed)),
            name,
            keyed,
            KEY.pack(key) if keyed else b"",
            messages,
        )
    )
    return FRAME.pack(len(rest), crc32(rest)) + rest


def walk(data: bytes | memoryview, at: int = 0, verify: bool = True) -> Iterator[Entry]:
    """Entries from `at` on, up to the first that is not whole."""
    end = len(data)
    while at + FRAME.size <= end:
        size, checksum = FRAME.unpack_from(data, at)
        start = at + FRAME.size
        at = start + size
        if at > end or (verify and crc32(data[start:at]) != checksum):
            return
        try:
            yield _read_entry(data, start, at, checksum)
        except (error, UnicodeDecodeError):
            return


def _read_entry(data: bytes | memoryview, start: int, end: int, checksum: int) -> Entry:
    numbers = ENTRY.unpack_from(data, start)
    sequence, count, service, daemon, life, session, number, name_bytes, keyed_bytes = numbers
    at = start + ENTRY.size
    sender = str(data[at : at + name_bytes], "utf-8")
    at += name_bytes
    producer, key = "", 0
    if keyed_bytes:
        producer = str(data[at : at + keyed_bytes], "utf-8")
        at += keyed_bytes
        (key,) = KEY.unpack_from(data, at)
        at += KEY.size
    origin = SessionId(DaemonId(daemon), Incarnation(life), session)
    kinds_at = at + 4 * count
    payloads_at = kinds_at + 2 * count
    if payloads_at > end:
        raise error("an entry with more messages than bytes")
    return Entry(
        *(sequence, count, service, origin, number, sender, producer, key),
        *(at, kinds_at, payloads_at, end, checksum),
    )


def check_kept(states: tuple[KeptState, ...]) -> None:
    """What types cannot say: each group, branch and producer once, in order."""
    if [state.group for state in states] != sorted({state.group for state in states}):
        raise DecodeError("not_canonical", "kept groups are sorted, each once")
    for state in states:
        for ends in (state.tips, state.covered):
            if [branch for branch, _ in ends] != sorted({branch for branch, _ in ends}):
                raise DecodeError("not_canonical", "branches are sorted, each once")
        if len({producer for producer, _ in state.marks}) < len(state.marks):
            raise DecodeError("bad_field", "a producer has one mark")
