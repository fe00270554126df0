"""A deliver frame becomes messages, and the last message of each group is remembered.

This is the hot path of a receiver: what the messages of a bundle have in common is looked up
once, and the objects are made by one call into C.
"""

from collections.abc import Mapping, Sequence
from itertools import repeat
from operator import itemgetter
from typing import NamedTuple

from antiphon.client.events import Message, MessageId, Together, View
from antiphon.core import effects
from antiphon.core.ids import GroupName, SessionId, ViewId, private_group
from antiphon.core.service import Service
from antiphon.wire.body import Body, Table, read_places

Joined = Mapping[GroupName, View | None]
"""Groups that a session is in, and their views if it is told them."""

FEW = 16
"""Destinations whose views are looked up for each bundle."""

NOTED_MAX = 4096
NOTED_BYTES_MAX = 1 << 22
"""Bundles that are noted before somebody looks which groups they were to, and bytes of their
places: the more there are, the more of them have nothing to add."""


class Views:
    """Ids of the views that a session is in. Messages keep them, so they are not changed but
    made anew, as far as they are needed."""

    def __init__(self, joined: Joined) -> None:
        self._joined = joined
        self._all: dict[GroupName, ViewId | None] | None = None

    def forget(self) -> None:
        """Another view, or none any more."""
        self._all = None

    def of(self, table: Table) -> Mapping[GroupName, ViewId | None]:
        joined = self._joined
        if len(table) <= FEW:
            names = [name for names in table for name in names if name in joined]
            return {name: _id_of(joined[name]) for name in names}
        if self._all is None:
            self._all = {name: _id_of(view) for name, view in joined.items()}
        return self._all


def _id_of(view: View | None) -> ViewId | None:
    return None if view is None else view.id


class Unmade:
    """Messages that a session was told together. They are made when the application takes them: if
    much comes at once, those at the end would else drive those before them out of the processor's
    caches, and be driven out themselves before anybody looks at them. Until then it keeps the
    whole body, also if few of its messages are for this session."""

    __slots__ = ("_first", "_chosen", "_body", "_together")

    def __init__(self, told: effects.Message, body: Body, views: Views) -> None:
        self._first = told.first
        self._chosen: Sequence[int] = told.chosen
        self._body = body
        self._together = Together(
            told.origin,
            private_group(body.sender, told.origin.daemon),
            told.service,
            told.first,
            body.table,
            body.places,
            views.of(body.table),
            told.transitional,
        )

    def __len__(self) -> int:
        return len(self._chosen) or self._body.count

    def made(self) -> list[Message]:
        first, body, chosen = self._first, self._body, self._chosen
        numbers: Sequence[int] = range(first, first + body.count)
        payloads: Sequence[bytes] = body.payloads
        kinds: Sequence[int] = body.kinds
        if chosen:
            numbers = [first + at for at in chosen]
            payloads = [payloads[at] for at in chosen]
            kinds = [kinds[at] for at in chosen]
        return list(map(Message, numbers, payloads, kinds, repeat(self._together)))


class Noted(NamedTuple):
    """A bundle that came."""

    origin: SessionId
    first: int
    service: Service
    chosen: Sequence[int]
    table: Table
    places: bytes
    messages: int

    def ends(self) -> list[tuple[int, int]]:
        """Each place in its table, and the index of the last message to it; the last ones
        first."""
        places = read_places(self.places, self.messages)
        ends = {places[at]: at for at in self.chosen}
        return sorted(ends.items(), key=itemgetter(1), reverse=True)


class LastMessages:
    """The last message delivered in each group. To look for them in every bundle would cost a
    receiver of many groups as much as all else, so bundles are noted and looked at by portions,
    the newest first: most of the older ones have nothing to add."""

    def __init__(self, joined: Joined) -> None:
        self._joined = joined
        self._last: dict[GroupName, tuple[SessionId, int, Service]] = {}
        self._noted: list[Noted] = []
        self._noted_bytes = 0

    def note(self, told: effects.Message, body: Body) -> None:
        chosen: Sequence[int] = told.chosen or range(told.count)
        noted = Noted(
            told.origin, told.first, told.service, chosen, body.table, body.places, told.count
        )
        self._noted.append(noted)
        self._noted_bytes += len(body.places)
        if len(self._noted) >= NOTED_MAX or self._noted_bytes >= NOTED_BYTES_MAX:
            self.settle()

    def settle(self) -> None:
        """Groups that this session is in now are those that it was in when the bundles came:
        so before it is in another one, or leaves one."""
        found: dict[GroupName, tuple[SessionId, int, Service]] = {}
        seen: dict[int, set[int]] = {}
        for noted in reversed(self._noted):
            done = seen.setdefault(id(noted.table), set())
            if len(done) == len(noted.table):
                continue
            for place, at in noted.ends():
                if place not in done:
                    done.add(place)
                    end = (noted.origin, noted.first + at, noted.service)
                    for name in noted.table[place]:
                        if name in self._joined:
                            found.setdefault(name, end)
        self._last.update(found)
        self._noted.clear()
        self._noted_bytes = 0

    def forget(self, group: GroupName) -> None:
        """This session leaves it."""
        self.settle()
        self._last.pop(group, None)

    def of(self, group: GroupName) -> MessageId | None:
        self.settle()
        if group not in self._last:
            return None
        origin, number, service = self._last[group]
        return MessageId(origin, number, service is Service.UNRELIABLE)
