"""What a session has asked and the daemon has not been given yet, in the order of asking.

Multicasts gather in an open bundle. It closes when the transport has room, when it is full,
and when something comes that cannot go with it: a join or leave, another service. So an idle
connection sends at once, and a busy one fills bundles.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from antiphon.client.numbering import Change
from antiphon.core.errors import UsageError
from antiphon.core.ids import (
    GROUP_NAME_BYTES_MAX,
    PRIVATE_MARK,
    GroupName,
    group_name_fault,
)
from antiphon.core.service import ORDERED, Service
from antiphon.wire.body import (
    DESTINATIONS_MAX,
    GROUPS_PER_MESSAGE_MAX,
    Destination,
    body_parts,
)
from antiphon.wire.client import BUNDLE_BYTES, pack_multicast
from antiphon.wire.retained import PRODUCER_BYTES_MAX

MESSAGE_OVERHEAD = 8
"""Length, kind and destination of one message; so their number is bounded too."""

DESTINATIONS_REMEMBERED = 4096
KINDS = range(-0x8000, 0x8000)

Buffer = bytes | bytearray | memoryview
Payload = Buffer | Sequence[Buffer]
Groups = GroupName | list[GroupName] | tuple[GroupName, ...]
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


class Outbox:
    def __init__(self, sender: str) -> None:
        self._sender = sender
        self.bundle_bytes = BUNDLE_BYTES
        self._closed: deque[Request] = deque()
        self._closed_bytes = 0
        self._destinations: dict[Groups, Destination] = {}

        # The open bundle.
        self._service = Service.RELIABLE
        self._self_discard = False
        self._producer = ""
        self._first_key = 0
        self._table: dict[Destination, int] = {}
        self._places: dict[Groups, int] = {}
        """In the table, as callers name them; empty in a keyed bundle."""

        self._where: list[int] = []
        self._kind = 0
        """Of the last message, and of all before it that have none in the list."""

        self._kinds: list[int] = []
        self._payloads: list[bytes] = []
        self._granted = self._room = 0
        """Bytes that it may have before somebody looks, and what is left of them."""

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
            place = self._places.get(groups)  # a list raises
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
        destination = self._destinations.get(groups) if type(groups) is not list else None
        if destination is None:
            destination = self._learn(groups)
        if kind not in KINDS:
            raise UsageError("bad_kind", f"{kind!r} is no kind", "use -32768 to 32767")
        if key is not None:
            self._open_keyed(key, destination, service)
        elif self._producer:
            self.close_bundle()
        size = len(payload) + MESSAGE_OVERHEAD
        if (
            service is not self._service
            or self_discard is not self._self_discard
            or self._granted - self._room + size > self.bundle_bytes
            or len(self._table) >= DESTINATIONS_MAX
        ):
            producer = self._producer
            self.close_bundle()
            self._service = service
            self._self_discard = self_discard
            self._producer = producer
        if key is not None and not self._payloads:
            self._first_key = key[1]
        place = self._table.get(destination)
        if place is None:
            place = self._table[destination] = len(self._table)
            size += sum(len(name) * 4 + 1 for name in destination)
        if key is None and type(groups) is not list:
            self._places[groups] = place
        self._add(place, payload, kind, size)

    def _add(self, place: int, payload: bytes, kind: int, size: int) -> None:
        if kind != self._kind:
            self._tell_kinds()
            self._kind = kind
        self._where.append(place)
        self._payloads.append(payload)
        used = self._granted - self._room + size
        self._granted = min(self.bundle_bytes, used + LOOK_BYTES)
        self._room = self._granted - used

    def _tell_kinds(self) -> None:
        """Of all messages so far."""
        self._kinds += [self._kind] * (len(self._payloads) - len(self._kinds))

    def _open_keyed(self, key: Any, destination: Destination, service: Service) -> None:
        """Keyed messages go together if they are of one producer, to one group, with numbers in
        a row."""
        producer, number = key
        fault = _key_fault(producer, number, destination, service)
        if fault:
            remedy = "use key=(producer, number) with agreed or safe messages to one group"
            raise UsageError("bad_key", fault, remedy)
        same = producer == self._producer and destination in self._table
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
        while (request := other.pop()) is not None:
            if request.count:
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
        count = len(self._payloads)
        body = body_parts(
            tuple(self._table),
            self._where,
            self._kinds,
            self._payloads,
            self._sender,
            False,
            producer,
            self._first_key if producer else 0,
        )
        frame = pack_multicast(self._service, count, body, self._self_discard)
        self._push(Request(frame, count, self._service, self._self_discard))
        self._table = {}
        self._places = {}
        self._where = []
        self._kind = 0
        self._kinds = []
        self._payloads = []
        self._granted = self._room = 0

    def _learn(self, groups: Any) -> Destination:
        destination: tuple[Any, ...] = (groups,) if isinstance(groups, str) else tuple(groups)
        if not 0 < len(destination) <= GROUPS_PER_MESSAGE_MAX:
            raise UsageError(
                "bad_group",
                f"a message to {len(destination)} groups",
                f"name 1 to {GROUPS_PER_MESSAGE_MAX} groups",
            )
        for name in destination:
            fault = destination_fault(name)
            if fault:
                raise UsageError("bad_group", fault, "use another group name")
        if len(self._destinations) >= DESTINATIONS_REMEMBERED:
            self._destinations.clear()
        self._destinations[groups if isinstance(groups, str) else destination] = destination
        return destination


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


def destination_fault(name: object) -> str:
    """Why nothing can be sent to `name`, or an empty string. Private groups may be."""
    if not isinstance(name, str):
        return f"{name!r} is no group name"
    if not name.startswith(PRIVATE_MARK):
        return group_name_fault(name)
    if len(name.encode("utf-8", "replace")) > GROUP_NAME_BYTES_MAX or not name.isprintable():
        return f"{name!r} is no private group"
    return ""


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
