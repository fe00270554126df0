"""A deliver frame becomes messages, and the last message of each group is remembered.

This is the hot path of a receiver: what the messages of a bundle have in common is looked up
once, and the objects are made by one call into C.
"""

from collections.abc import Mapping
from itertools import repeat

from antiphon.client.events import Message, MessageId, View
from antiphon.core import effects
from antiphon.core.ids import GroupName, ViewId, private_group
from antiphon.core.service import Service
from antiphon.wire.body import Body, Destination, read_body

Joined = Mapping[GroupName, View | None]
"""Groups that a session is in, and their views if it is told them."""


def open_bundle(told: effects.Message) -> Body:
    """Raises DecodeError."""
    return read_body(told.body, told.count)


def messages(told: effects.Message, body: Body, joined: Joined) -> list[Message]:
    """What the session was told, one by one."""
    first, count, table = told.first, told.count, body.table
    sender = private_group(body.sender, told.origin.daemon)
    payloads, kinds = body.payloads, body.kinds
    if len(table) == 1 and not told.chosen:
        return list(
            map(
                Message,
                repeat(told.origin),
                range(first, first + count),
                repeat(sender),
                repeat(table[0]),
                payloads,
                repeat(told.service),
                kinds,
                repeat(view_of(table[0], joined)),
                repeat(told.transitional),
            )
        )
    views = [view_of(destination, joined) for destination in table]
    where = body.destinations
    return [
        Message(
            told.origin,
            first + at,
            sender,
            table[where[at]],
            payloads[at],
            told.service,
            kinds[at],
            views[where[at]],
            told.transitional,
        )
        for at in told.chosen or range(count)
    ]


def view_of(destination: Destination, joined: Joined) -> ViewId | None:
    """Of the first of these groups that the session is in."""
    for name in destination:
        if name in joined:
            view = joined[name]
            return None if view is None else view.id
    return None


class LastMessages:
    """The last message delivered in each group, found only when a gap asks for it."""

    def __init__(self) -> None:
        self._last: dict[GroupName, tuple[effects.Message, int]] = {}

    def note(self, told: effects.Message, body: Body, joined: Joined) -> None:
        indices = told.chosen or range(told.count)
        if len(body.table) == 1:
            ends = {0: indices[-1]}
        else:  # a later index of the same destination replaces an earlier one
            ends = dict(zip((body.destinations[at] for at in indices), indices, strict=True))
        for where, at in sorted(ends.items(), key=lambda end: end[1]):
            for name in body.table[where]:
                if name in joined:
                    self._last[name] = (told, at)

    def forget(self, group: GroupName) -> None:
        self._last.pop(group, None)

    def of(self, group: GroupName) -> MessageId | None:
        if group not in self._last:
            return None
        told, at = self._last[group]
        return MessageId(told.origin, told.first + at, told.service is Service.UNRELIABLE)
