"""What a session has asked and the daemon has not been given yet, in the order of asking.

Multicasts gather in an open bundle. It closes when the transport has room, when it is full,
and when something comes that cannot go with it: a join or leave, another service. So an idle
connection sends at once, and a busy one fills bundles. Whoever sends to many groups is asked to
name them once (client/destinations.py).
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from antiphon.client.destinations import Destinations
from antiphon.client.numbering import DEFINE, Change
from antiphon.core.errors import UsageError
from antiphon.core.ids import PRIVATE_MARK
from antiphon.core.service import ORDERED, Service
from antiphon.wire.body import Destination, Table, body_parts, read_body, referring_parts
from antiphon.wire.client import (
    BUNDLE_BYTES,
    LENGTH,
    MULTICAST_HEAD,
    DefineFrame,
    pack_frame,
    pack_multicast,
)
from antiphon.wire.retained import PRODUCER_BYTES_MAX
from antiphon.wire.tables import cuts, named

BODY_AT = LENGTH.size + MULTICAST_HEAD.size

MESSAGE_OVERHEAD = 8
"""Length, kind and destination of one message; so their number is bounded too."""

FEW = 8
"""Bundles to no more destinations name them; if there are more, they are worth a table."""

KINDS = range(-0x8000, 0x8000)

Buffer = bytes | bytearray | memoryview
Payload = Buffer | Sequence[Buffer]
Key = tuple[str, int]
"""A producer, and its number for a message: repeats are filtered (docs/protocols/retain.md)."""

KEYS = range(1 << 63)


LOOK_BYTES = 64 * 1024
"""After so much whoever fills a bundle that may be longer looks whether it can go already."""


@dataclass(slots=True)
class Request:
    """One frame: a bundle, or whatever else is asked in order."""

    frame: bytes
    count: int = 0
    """Of messages; 0 if it is no bundle."""

    service: Service = Service.RELIABLE
    self_discard: bool = False
    change: Change | None = None
    refers: bool = False
    """To the session's table."""

    @property
    def body(self) -> bytes:
        """Of a bundle."""
        return self.frame[BODY_AT:]


class Outbox:
    def __init__(self, sender: str) -> None:
        self._sender = sender
        self.bundle_bytes = BUNDLE_BYTES
        self._closed: deque[Request] = deque()
        self._closed_bytes = 0
        self.last_count = 0
        """Messages in the bundle that was closed last."""

        self.destinations = Destinations()
        self._many = False
        """Whether a bundle had so many that they should be defined."""

        # The open bundle.
        self._service = Service.RELIABLE
        self._self_discard = False
        self._producer = ""
        self._first_key = 0
        self._where: list[int] = []
        self._kind = 0
        """Of the last message, and of all before it that have none in the list."""

        self._kinds: list[int] = []
        self._payloads: list[bytes] = []
        self._granted = self._room = 0
        """Bytes that it may have before somebody looks, and what is left of them: nothing if it is
        keyed."""

    def __len__(self) -> int:
        """Messages that wait."""
        return sum(request.count for request in self._closed) + len(self._payloads)

    @property
    def size(self) -> int:
        """Bytes that wait."""
        return self._closed_bytes + self._granted - self._room

    def is_ready(self, payload_bytes: int) -> bool:
        """Whether what waits fills a bundle, or will with the next message."""
        size = self.size
        filled = size + payload_bytes + MESSAGE_OVERHEAD
        return size > 0 and (filled > self.bundle_bytes or filled > LOOK_BYTES)

    def go_along(
        self, groups: Any, payload: Any, service: Any, kind: Any, self_discard: Any
    ) -> bool:
        """Put a message beside others like it, if there is room: the way of most of them. If not,
        `multicast` finds a place for it, or what is wrong with it: callers may bring anything."""
        try:
            place = self.destinations.find(groups)  # a list raises
        except TypeError:
            return False
        if (
            place is None
            or service is not self._service
            or kind != self._kind
            or self_discard is not self._self_discard
            or type(payload) is not bytes
        ):
            return False
        room = self._room - len(payload) - MESSAGE_OVERHEAD
        if room < 0:
            return False
        self._room = room
        self._where.append(place)
        self._payloads.append(payload)
        return True

    def multicast(
        self,
        groups: Any,
        payload: bytes,
        service: Service,
        kind: Any,
        self_discard: bool,
        key: Any = None,
    ) -> None:
        place = self.destinations.find(groups) if type(groups) is not list else None
        if place is None:
            if self.destinations.is_full:
                self.close_bundle()
                self.destinations.forget()
            place = self.destinations.place_of(groups)
        if kind not in KINDS:
            raise UsageError("bad_kind", f"{kind!r} is no kind", "use -32768 to 32767")
        if key is not None:
            self._open_keyed(key, place, service)
        elif self._producer:
            self.close_bundle()
        size = len(payload) + MESSAGE_OVERHEAD
        if (
            service is not self._service
            or self_discard is not self._self_discard
            or self._granted - self._room + size > self.bundle_bytes
        ):
            producer = self._producer
            self.close_bundle()
            self._service = service
            self._self_discard = self_discard
            self._producer = producer
        if key is not None and not self._payloads:
            self._first_key = key[1]
        self._add(place, payload, kind, size)

    def _add(self, place: int, payload: bytes, kind: int, size: int) -> None:
        if kind != self._kind:
            self._tell_kinds()
            self._kind = kind
        self._where.append(place)
        self._payloads.append(payload)
        used = self._granted - self._room + size
        more = 0 if self._producer else LOOK_BYTES
        self._granted = max(used, min(self.bundle_bytes, used + more))
        self._room = self._granted - used

    def _tell_kinds(self) -> None:
        """Of all messages so far."""
        self._kinds += [self._kind] * (len(self._payloads) - len(self._kinds))

    def _open_keyed(self, key: Any, place: int, service: Service) -> None:
        """Keyed messages go together if they are of one producer, to one group, with numbers in
        a row."""
        producer, number = key
        fault = _key_fault(producer, number, self.destinations.all[place], service)
        if fault:
            remedy = "use key=(producer, number) with agreed or safe messages to one group"
            raise UsageError("bad_key", fault, remedy)
        same = producer == self._producer and self._where[-1:] == [place]
        if not same or number != self._first_key + len(self._payloads):
            self.close_bundle()
            self._producer = producer

    def ask(self, frame: bytes, change: Change | None = None) -> None:
        """Something in line with the multicasts before it."""
        self.close_bundle()
        self._push(Request(frame, change=change))

    def pop(self) -> Request | None:
        """The next of what waits, if anything does."""
        if not self._closed:
            self.close_bundle()
            if not self._closed:
                return None
        request = self._closed.popleft()
        self._closed_bytes -= len(request.frame)
        return request

    def take_over(self, other: "Outbox") -> None:
        """Multicasts that another session did not hand over. Its joins are not among them:
        whoever takes over rejoins by itself."""
        table = other.destinations.table
        while (request := other.pop()) is not None:
            if request.refers:
                for named_one in _by_name(request, table):
                    self._push(named_one)
            elif request.count:
                self._push(request)

    def _push(self, request: Request) -> None:
        self._closed.append(request)
        self._closed_bytes += len(request.frame)

    def close_bundle(self) -> None:
        """What was multicast so far goes by itself."""
        producer, self._producer = self._producer, ""
        if not self._payloads:
            return
        self._tell_kinds()
        self._push_bundles(producer)
        self._where = []
        self._kind = 0
        self._kinds = []
        self._payloads = []
        self._granted = self._room = 0
        if self._many:
            self._many = False
            destinations = self.destinations.ask()
            if destinations:
                change = Change(DEFINE, "")
                self._push(Request(pack_frame(DefineFrame(destinations)), change=change))

    def _push_bundles(self, producer: str) -> None:
        """One, or several if they name more groups than a head takes."""
        where, table = self._where, self.destinations.all
        only = where[0]
        if where[-1] == only and where.count(only) == len(where):
            key = self._first_key if producer else 0
            self._push_named((table[only],), where, 0, len(where), producer, key)
            return
        is_ordered = self._service in ORDERED
        if is_ordered and (len(table) == self.destinations.defined or self._all_defined()):
            body = referring_parts(where, self._kinds, self._payloads, self._sender)
            self._push_body(body, len(where), True)
            return
        for first, end, numbers in cuts(where, table):
            names = tuple([table[place] for place in numbers])
            own = list(map(numbers.__getitem__, where[first:end]))
            self._push_named(names, own, first, end)
            self._many |= is_ordered and len(names) > FEW

    def _all_defined(self) -> bool:
        return max(self._where) < self.destinations.defined

    def _push_named(
        self,
        names: Table,
        where: list[int],
        first: int,
        end: int,
        producer: str = "",
        key: int = 0,
    ) -> None:
        """Of the open bundle the messages from index `first` to before `end`."""
        kinds, payloads = self._kinds[first:end], self._payloads[first:end]
        body = body_parts(names, where, kinds, payloads, self._sender, False, producer, key)
        self._push_body(body, end - first)

    def _push_body(self, body: list[bytes], count: int, refers: bool = False) -> None:
        self.last_count = count
        frame = pack_multicast(self._service, count, body, self._self_discard)
        self._push(Request(frame, count, self._service, self._self_discard, None, refers))


def _by_name(request: Request, table: Table) -> Iterator[Request]:
    """A bundle that refers to a table, for whoever does not have it."""
    service, discard = request.service, request.self_discard
    for first, end, body in named(read_body(request.body, request.count, table)):
        frame = pack_multicast(service, end - first, [body], discard)
        yield Request(frame, end - first, service, discard)


def _key_fault(producer: Any, number: Any, destination: Destination, service: Service) -> str:
    if not isinstance(producer, str) or not producer.isprintable() or not producer:
        return f"{producer!r} is no producer's name"
    if len(producer.encode("utf-8", "replace")) > PRODUCER_BYTES_MAX:
        return f"a producer's name of more than {PRODUCER_BYTES_MAX} bytes"
    if not isinstance(number, int) or number not in KEYS:
        return f"{number!r} is no key"
    if len(destination) != 1 or destination[0].startswith(PRIVATE_MARK):
        return "a keyed message is to one group, not a private one"
    return "" if service in ORDERED else f"a keyed message that is {service.name.lower()}"


def join_payload(payload: Any) -> bytes:
    """One message of whatever buffers the caller has."""
    try:
        if isinstance(payload, list | tuple):
            return b"".join(payload)
        return bytes(memoryview(payload))
    except TypeError:
        raise UsageError(
            "bad_payload",
            f"a {type(payload).__name__} is no payload",
            "use bytes, or a list of bytes",
        ) from None
