"""The body of a client's bundle: sender, destinations, lengths, kinds, payloads.

    u32  length of the head           head: u8 length + UTF-8 name of the sending session,
    ...  head                         u8 flags, u16 destinations, each u16 groups, each
                                      u8 length + UTF-8; u8 length + producer, if keyed
    u64  key of the first message, only if keyed
    u16  * count: destination of each message, only if there is more than one
    u32  * count: length of each payload
    i16  * count: kind of each message (SP-83)
    ...  payloads

Flags: 1 the sender is big-endian, 2 keyed, 4 referring. Messages of a keyed bundle are to one
group, and have keys in a row (docs/protocols/retain.md). A referring head names no destinations:
those of the messages are places in the table that its session has defined
(docs/protocols/tables.md).

A head is read once and remembered: bundles of one sender repeat it. Daemons read no further
than they must: payloads are cut out for whoever asks for them.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from struct import Struct, error
from typing import NamedTuple

from antiphon.core.effects import Message
from antiphon.core.errors import DecodeError
from antiphon.core.ids import GROUP_NAME_BYTES_MAX, GroupName

U32 = Struct(">I")
U16 = Struct(">H")
U64 = Struct(">Q")
FLAGS_AND_COUNT = Struct(">BH")
BIG_ENDIAN = 1
KEYED = 2
REFERRING = 4
ALL_FLAGS = BIG_ENDIAN | KEYED | REFERRING
BLOCKS = bytes(range(256))
HIGHEST = 0x8000
"""Bit of a place in a table, which no table is so long to need."""


Destination = tuple[GroupName, ...]
Table = tuple[Destination, ...]

DESTINATIONS_MAX = 1024
GROUPS_PER_MESSAGE_MAX = 100
HEAD_BYTES_MAX = 65_000
HEADS_REMEMBERED_BYTES = 1 << 20
"""Of heads together. Short ones come again and again; one with many groups is read several times
on its way through a daemon, and then hardly ever."""

MESSAGES_PER_BUNDLE_MAX = 65_535


class Head(NamedTuple):
    """What the bundles of one sender to the same groups have in common."""

    sender: str
    table: Table
    big_endian: bool = False
    """The sender's byte order, for those whose payloads are structures in memory."""

    producer: str = ""
    """Who numbers these messages so that repeats are found; empty: nobody."""

    refers: bool = False
    """To the table of its session, and has none itself."""

    @property
    def names(self) -> tuple[GroupName, ...]:
        """Every group that is in the table, once."""
        return tuple(dict.fromkeys(name for names in self.table for name in names))


class Body:
    """A bundle's body, opened; what it says of single messages is still where it was, and read
    by who asks for it."""

    __slots__ = (
        "sender",
        "table",
        "big_endian",
        "producer",
        "refers",
        "key",
        "count",
        "longest",
        "places",
        "_destinations",
        "_lengths",
        "_ends",
        "_raw",
        "_start",
    )

    def __init__(
        self,
        head: Head,
        table: Table,
        places: bytes,
        count: int,
        lengths: tuple[int, ...],
        raw: bytes | memoryview,
        start: int,
        key: int = 0,
    ) -> None:
        """Of `lengths` there is one only, if all are the same."""
        self.sender = head.sender
        self.table = table
        self.big_endian = head.big_endian
        self.producer = head.producer
        self.refers = head.refers
        self.key = key
        self.count = count
        self.longest = max(lengths)
        self.places = places
        """In the table, of each message, as they are packed; empty if the table has one only."""

        self._destinations: tuple[int, ...] | None = None
        self._lengths = lengths
        self._ends: list[int] | None = None
        self._raw = raw
        self._start = start

    @property
    def destinations(self) -> tuple[int, ...]:
        """Places in the table."""
        if self._destinations is None:
            self._destinations = read_places(self.places, self.count)
        return self._destinations

    @property
    def names(self) -> tuple[GroupName, ...]:
        """Every group that a message is to, once."""
        used = self.table
        if self.refers:
            used = tuple([self.table[place] for place in sorted(set(self.destinations))])
        return tuple(dict.fromkeys([name for names in used for name in names]))

    @property
    def lengths(self) -> tuple[int, ...]:
        lengths = self._lengths
        return lengths if len(lengths) == self.count else lengths * self.count

    @property
    def kinds(self) -> tuple[int, ...]:
        count = self.count
        packed = bytes(self._raw[self._start - 2 * count : self._start])
        if packed.count(0) == 2 * count:
            return (0,) * count
        return Struct(f">{count}h").unpack(packed)

    @property
    def payloads(self) -> tuple[bytes, ...]:
        """All of them, each a copy."""
        at = self._start
        if len(self._lengths) < self.count:
            return _alike(self._lengths[0], self.count).unpack_from(self._raw, at)
        raw = bytes(self._raw)
        return tuple([raw[one:end] for one, end in pairwise(accumulate(self._lengths, initial=at))])

    def together(self, first: int, count: int) -> memoryview:
        """Payloads of so many messages from that index on, one after the other as they are."""
        payloads = memoryview(self._raw)[self._start :]
        if count == self.count:
            return payloads
        if len(self._lengths) < self.count:
            length = self._lengths[0]
            return payloads[first * length : (first + count) * length]
        if self._ends is None:
            self._ends = list(accumulate(self._lengths, initial=0))
        return payloads[self._ends[first] : self._ends[first + count]]

    def runs(self) -> Iterator[tuple[int, int, int]]:
        """(index of the first message, count, destination) of neighbours with one destination;
        keyed messages one by one, for some may be repeats."""
        if self.producer:
            yield from ((at, 1, 0) for at in range(self.count))
        elif not self.places:
            yield 0, self.count, 0
        else:
            destinations, start = self.destinations, 0
            for at in range(1, self.count + 1):
                if at == self.count or destinations[at] != destinations[start]:
                    yield start, at - start, destinations[start]
                    start = at

    def cut(self, first: int, end: int) -> bytes:
        """Lengths, kinds and payloads of the messages from index `first` to before `end`."""
        raw, count = bytes(self._raw), self.count
        lengths_at, kinds_at = self._start - 6 * count, self._start - 2 * count
        if first == 0 and end == count:
            return raw[lengths_at:]
        at = self._start + sum(self.lengths[:first])
        return b"".join(
            (
                raw[lengths_at + 4 * first : lengths_at + 4 * end],
                raw[kinds_at + 2 * first : kinds_at + 2 * end],
                raw[at : at + sum(self.lengths[first:end])],
            )
        )


class Letter(NamedTuple):
    """One message of those that a session was told together."""

    number: int
    groups: Destination
    kind: int
    payload: bytes


def letters(message: Message) -> list[Letter]:
    """What a session was told, one by one."""
    body = read_body(message.body, message.count, message.table)
    payloads = body.payloads
    chosen = message.chosen or range(message.count)
    table, destinations, kinds, first = body.table, body.destinations, body.kinds, message.first
    return [Letter(first + at, table[destinations[at]], kinds[at], payloads[at]) for at in chosen]


def pack_head(
    sender: str,
    table: Table,
    big_endian: bool = False,
    producer: str = "",
    refers: bool = False,
) -> bytes:
    name = sender.encode()
    flags = big_endian | (KEYED if producer else 0) | (REFERRING if refers else 0)
    parts = [bytes([len(name)]), name, FLAGS_AND_COUNT.pack(flags, len(table))]
    for destination in table:
        parts.append(U16.pack(len(destination)))
        for group in destination:
            name = group.encode()
            parts += [bytes([len(name)]), name]
    if producer:
        keyed = producer.encode()
        parts += [bytes([len(keyed)]), keyed]
    return b"".join(parts)


def pack_body(
    table: Table,
    destinations: Sequence[int],
    kinds: Sequence[int],
    payloads: Sequence[bytes],
    sender: str = "",
    big_endian: bool = False,
    producer: str = "",
    key: int = 0,
) -> bytes:
    """`sender` must be the name of the session that submits it, else it is refused."""
    return b"".join(
        body_parts(table, destinations, kinds, payloads, sender, big_endian, producer, key)
    )


def body_parts(
    table: Table,
    destinations: Sequence[int],
    kinds: Sequence[int],
    payloads: Sequence[bytes],
    sender: str,
    big_endian: bool,
    producer: str,
    key: int,
) -> list[bytes]:
    """A body that is not yet joined: whoever puts more around it copies payloads only once."""
    head = pack_head(sender, table, big_endian, producer)
    parts = [U32.pack(len(head)), head]
    if producer:
        parts.append(U64.pack(key))
    if len(table) > 1:
        parts.append(Struct(f">{len(payloads)}H").pack(*destinations))
    return parts + _message_parts(kinds, payloads)


def referring_parts(
    places: Sequence[int], kinds: Sequence[int], payloads: Sequence[bytes], sender: str
) -> list[bytes]:
    """The same of one that refers to the table of its session."""
    head = pack_head(sender, (), refers=True)
    parts = [U32.pack(len(head)), head, Struct(f">{len(payloads)}H").pack(*places)]
    return parts + _message_parts(kinds, payloads)


def _message_parts(kinds: Sequence[int], payloads: Sequence[bytes]) -> list[bytes]:
    count = len(payloads)
    parts: list[bytes] = []
    lengths = set(map(len, payloads))
    if len(lengths) == 1:
        parts.append(U32.pack(lengths.pop()) * count)
    else:
        parts.append(Struct(f">{count}I").pack(*map(len, payloads)))
    parts.append(Struct(f">{count}h").pack(*kinds) if any(kinds) else bytes(2 * count))
    parts += payloads
    return parts


Address = tuple[tuple[GroupName, ...], Head]


class Heads:
    """Those that were read."""

    def __init__(self) -> None:
        self._known: dict[bytes, Head] = {}
        self._addresses: dict[bytes, Address] = {}
        self._bytes = 0

    def read(self, packed: bytes) -> Head:
        head = self._known.get(packed)
        if head is None:
            head = _parse_head(packed)
            self._bytes += len(packed)
            if self._bytes > HEADS_REMEMBERED_BYTES:
                self._known.clear()
                self._addresses.clear()
                self._bytes = len(packed)
            self._known[packed] = head
        return head

    def address(self, packed: bytes) -> Address:
        address = self._addresses.get(packed)
        if address is None:
            head = self.read(packed)
            address = self._addresses[packed] = (head.names, head)
        return address


_heads = Heads()
read_head = _heads.read


def refers(body: bytes) -> bool:
    """Whether a body, which was read before, refers to the table of its session."""
    return bool(body[5 + body[4]] & REFERRING)


def address_of(body: bytes) -> Address:
    """Every group that a body, which was read before and names them, is to, and its head."""
    (head_bytes,) = U32.unpack_from(body)
    return _heads.address(body[4 : 4 + head_bytes])


def _parse_head(packed: bytes) -> Head:
    """Each has one spelling: flags that nobody knows are refused, and all else means something."""
    try:
        at = 1 + packed[0]
        sender = packed[1:at].decode()
        flags, count = FLAGS_AND_COUNT.unpack_from(packed, at)
        at += FLAGS_AND_COUNT.size
        if flags & ~ALL_FLAGS:
            raise DecodeError("not_canonical", "table of groups")
        table: list[Destination] = []
        for _ in range(count):
            groups = packed[at] << 8 | packed[at + 1]
            at += 2
            names = []
            for _ in range(groups):
                start = at + 1
                at = start + packed[at]
                names.append(packed[start:at].decode())
            table.append(tuple(names))
        producer = ""
        if flags & KEYED:
            start = at + 1
            at = start + packed[at]
            producer = packed[start:at].decode()
    except (error, IndexError, UnicodeDecodeError) as fault:
        raise DecodeError("malformed", f"table of groups: {fault}") from None
    refers = bool(flags & REFERRING)
    if at != len(packed) or not 0 <= count <= DESTINATIONS_MAX or (count == 0) is not refers:
        raise DecodeError("malformed", "table of groups: size")
    if refers:
        if flags != REFERRING:
            raise DecodeError("malformed", "table of groups: it refers, and has other flags")
        return Head(sender, (), refers=True)
    lengths = set(map(len, table))
    if min(lengths) < 1 or max(lengths) > GROUPS_PER_MESSAGE_MAX or not all(map(all, table)):
        raise DecodeError("malformed", "table of groups: a destination names 1 to 100 groups")
    if flags & KEYED and (not producer or lengths != {1} or count != 1):
        raise DecodeError("malformed", "table of groups: keyed messages are to one group")
    return Head(sender, tuple(table), bool(flags & BIG_ENDIAN), producer)


def read_body(body: bytes | memoryview, count: int, known: Table = ()) -> Body:
    """`known` is the table that the session has defined, if it has."""
    # Before anything is allocated: each message has six bytes of its own.
    if not 0 < count <= MESSAGES_PER_BUNDLE_MAX or 6 * count > len(body):
        raise DecodeError("bad_field", "body: number of messages")
    try:
        (head_bytes,) = U32.unpack_from(body)
        if head_bytes > HEAD_BYTES_MAX:
            raise DecodeError("bad_field", "table of groups: too long")
        head = read_head(bytes(body[4 : 4 + head_bytes]))
        at = 4 + head_bytes
        key = 0
        if head.producer:
            (key,) = U64.unpack_from(body, at)
            at += U64.size
        table = known if head.refers else head.table
        places = b""
        if head.refers or len(table) > 1:
            places = bytes(body[at : at + 2 * count])
            at += 2 * count
            _check_places(places, count, len(table))
        packed = bytes(body[at : at + 4 * count])
        alike = packed == packed[:4] * count
        lengths: tuple[int, ...] = (U32 if alike else Struct(f">{count}I")).unpack_from(packed)
        at += 6 * count
    except error as fault:
        raise DecodeError("malformed", f"body: {fault}") from None
    if (lengths[0] * count if alike else sum(lengths)) != len(body) - at:
        raise DecodeError("wrong_size", "body")
    return Body(head, table, places, count, lengths, body, at, key)


def _check_places(places: bytes, count: int, end: int) -> None:
    """All must be before the end of the table. If it is long their upper bytes most often show it:
    then all are in blocks of 256 that the table has as a whole. Else they are looked at as digits
    of one number: what is added to each takes those behind the end to their highest bit."""
    if len(places) != 2 * count:
        raise DecodeError("malformed", "body: destinations")
    if end >= len(BLOCKS) and not places[::2].translate(None, BLOCKS[: end >> 8]):
        return
    number = int.from_bytes(places, "big")
    highest, added = _digits(count, end)
    if (number | number + added) & highest:
        raise DecodeError("bad_field", "body: a destination that the table does not have")


@lru_cache(maxsize=32)
def _digits(count: int, end: int) -> tuple[int, int]:
    """The highest bit of so many digits, and what takes each to it that is not before the end."""
    highest, added = (U16.pack(digit) * count for digit in (HIGHEST, HIGHEST - end))
    return int.from_bytes(highest, "big"), int.from_bytes(added, "big")


def read_places(packed: bytes, count: int) -> tuple[int, ...]:
    return Struct(f">{count}H").unpack(packed) if packed else (0,) * count


@lru_cache(maxsize=64)
def _alike(length: int, count: int) -> Struct:
    return Struct(f"{length}s" * count)


assert GROUP_NAME_BYTES_MAX < 256, "a group name's length is one byte"
