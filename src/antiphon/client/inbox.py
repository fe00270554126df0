"""A deliver frame becomes messages, and the last message of each group is remembered.

This is the hot path of a receiver: what the messages of a bundle have in common is looked up
once, and the objects are made by one call into C.
"""

from collections.abc import Mapping, Sequence
from itertools import repeat
from operator import itemgetter

from antiphon.client.events import Message, MessageId, View
from antiphon.core import effects
from antiphon.core.ids import GroupName, SessionId, ViewId, private_group
from antiphon.core.service import Service
from antiphon.wire.body import Body, Destination, read_body

Joined = Mapping[GroupName, View | None]
"""Groups that a session is in, and their views if it is told them."""


def open_bundle(told: effects.Message) -> Body:
    """Raises DecodeError."""
    return read_body(told.body, told.count)


def messages(told: effects.Message, body: Body, joined: Joined) -> list[Message]:
    """What the session was told, one by one."""
    first, table, chosen = told.first, body.table, told.chosen
    numbers: Sequence[int] = range(first, first + told.count)
    where: Sequence[int] = body.destinations
    payloads: Sequence[bytes] = body.payloads
    kinds: Sequence[int] = body.kinds
    if chosen:
        numbers = [first + at for at in chosen]
        where = [body.destinations[at] for at in chosen]
        payloads = [payloads[at] for at in chosen]
        kinds = [kinds[at] for at in chosen]
    views = [view_of(destination, joined) for destination in table]
    return list(
        map(
            Message,
            repeat(told.origin),
            numbers,
            repeat(private_group(body.sender, told.origin.daemon)),
            repeat(table[0]) if len(table) == 1 else map(table.__getitem__, where),
            payloads,
            repeat(told.service),
            kinds,
            repeat(views[0]) if len(table) == 1 else map(views.__getitem__, where),
            repeat(told.transitional),
        )
    )


def view_of(destination: Destination, joined: Joined) -> ViewId | None:
    """Of the first of these groups that the session is in."""
    for name in destination:
        if name in joined:
            view = joined[name]
            return None if view is None else view.id
    return None


class LastMessages:
    """The last message delivered in each group."""

    def __init__(self) -> None:
        self._last: dict[GroupName, tuple[SessionId, int, Service]] = {}
        """Not the bundles themselves: those of many groups would be many."""

    def note(self, told: effects.Message, body: Body, joined: Joined) -> None:
        indices: Sequence[int] = told.chosen or range(told.count)
        if len(body.table) == 1:
            ends = [(0, indices[-1])]
        else:  # a later index of the same destination replaces an earlier one
            where = map(body.destinations.__getitem__, indices)
            ends = sorted(dict(zip(where, indices, strict=True)).items(), key=itemgetter(1))
        origin, first, service = told.origin, told.first, told.service
        for place, at in ends:
            for name in body.table[place]:
                if name in joined:
                    self._last[name] = (origin, first + at, service)

    def forget(self, group: GroupName) -> None:
        self._last.pop(group, None)

    def of(self, group: GroupName) -> MessageId | None:
        if group not in self._last:
            return None
        origin, number, service = self._last[group]
        return MessageId(origin, number, service is Service.UNRELIABLE)
