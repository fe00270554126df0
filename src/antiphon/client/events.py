"""What an application receives.

All are frozen and compare by value. Messages are made by the hundred thousand, so they hold
what a bundle has in common by reference and make the rest when asked.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from antiphon.core.ids import PRIVATE_MARK, GroupName, SessionId, ViewId, private_group
from antiphon.core.service import Service
from antiphon.core.trace import Cause


class MessageId(NamedTuple):
    """Names one message for ever, in the whole cluster."""

    origin: SessionId
    number: int
    """Counted by the session that sent it, from 1. Joins and leaves take a number too."""

    unreliable: bool
    """Unreliable messages are counted apart from the others."""


class Participant(NamedTuple):
    """A member of a group: a session somewhere."""

    id: SessionId
    name: str

    @property
    def private_group(self) -> GroupName:
        """Multicast to this name to reach this session alone."""
        return private_group(self.name, self.id.daemon)


class Event(msgspec.Struct, frozen=True, gc=False):
    """Base of everything that `receive` returns. Never part of a cycle."""


class Together(msgspec.Struct, frozen=True, gc=False):
    """What messages of one bundle have in common, and what is seldom asked of each."""

    origin: SessionId
    sender: GroupName
    service: Service
    first: int
    table: tuple[tuple[GroupName, ...], ...]
    places: bytes
    """In the table, two bytes for each message; empty if the table has one only."""

    views: Mapping[GroupName, ViewId | None]
    """Of the groups that this session was in."""

    transitional: bool

    def groups_of(self, number: int) -> tuple[GroupName, ...]:
        if not self.places:
            return self.table[0]
        at = 2 * (number - self.first)
        return self.table[self.places[at] << 8 | self.places[at + 1]]


class Message(Event, frozen=True, gc=False, eq=False):
    number: int
    payload: bytes
    kind: int
    """A number from the sender, -32768 to 32767, for the application's own use."""

    together: Together

    @classmethod
    def alone(
        cls,
        origin: SessionId,
        number: int,
        sender: GroupName,
        groups: tuple[GroupName, ...],
        payload: bytes,
        service: Service = Service.AGREED,
        kind: int = 0,
        view: ViewId | None = None,
        transitional: bool = False,
    ) -> "Message":
        """One that came in no bundle: for whoever tests what is done with messages."""
        views = dict.fromkeys(groups, view)
        shared = Together(origin, sender, service, number, (groups,), b"", views, transitional)
        return cls(number, payload, kind, shared)

    @property
    def origin(self) -> SessionId:
        return self.together.origin

    @property
    def sender(self) -> GroupName:
        """The sender's private group: multicast to it to answer."""
        return self.together.sender

    @property
    def service(self) -> Service:
        return self.together.service

    @property
    def groups(self) -> tuple[GroupName, ...]:
        """All that it was sent to, also those that this session is not in."""
        return self.together.groups_of(self.number)

    @property
    def view(self) -> ViewId | None:
        """In force here when it came: of the first of its groups that this session is in. None for
        a message to the private group, and in a session without views."""
        views = self.together.views
        return next((views[name] for name in self.groups if name in views), None)

    @property
    def transitional(self) -> bool:
        """Only those who come along to the next view are known to receive it."""
        return self.together.transitional

    def _value(self) -> tuple[Any, ...]:
        what = (self.sender, self.groups, self.payload, self.kind, self.view, self.transitional)
        return (self.id, self.service, *what)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and self._value() == other._value()

    def __hash__(self) -> int:
        return hash(self.id)

    def __rich_repr__(self) -> Any:
        for name in ("origin", "number", "sender", "groups", "payload", "service", "kind", "view"):
            yield name, getattr(self, name)
        yield "transitional", self.transitional

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"Message({told})"

    @property
    def id(self) -> MessageId:
        return MessageId(self.origin, self.number, self.service is Service.UNRELIABLE)

    @property
    def sender_name(self) -> str:
        """The name that the sender chose; another session elsewhere may have the same."""
        return self.sender.split(PRIVATE_MARK)[1]

    @property
    def size(self) -> int:
        return len(self.payload)


class View(Event, frozen=True, gc=False):
    """Who is in a group from here on."""

    group: GroupName
    id: ViewId
    """Equal at all members of the view, and never used again."""

    members: tuple[Participant, ...]
    together: tuple[SessionId, ...]
    """Who came with me from my view before: they received the same messages in it."""

    cause: Cause
    evidence: str
    """Of a change of the network: who accused whom, and how long each phase took."""


class Transition(Event, frozen=True, gc=False):
    """From here to the next view, messages in this group are transitional."""

    group: GroupName
    view: ViewId


class Left(Event, frozen=True, gc=False):
    """This session is out of the group: it asked for it, or was refused there after a gap."""

    group: GroupName


class Refusal(Event, frozen=True, gc=False):
    """The daemon refused a multicast that was on its way already."""

    code: str
    what: str
    remedy: str


class GroupGap(NamedTuple):
    """What is known about one group across a gap."""

    group: GroupName
    last_view: ViewId | None
    """None: the join had not been ordered, or the session has no views."""

    last_message: MessageId | None
    """The last one delivered here; None if there was none."""

    first_view: ViewId | None
    """In force after the gap. None: refused at the new daemon, or no views."""

    missed: bool
    """Messages may have been missed. False only if this session had not been in the group:
    anybody may send to a group at any time, so otherwise nothing can be proved."""


class Gap(Event, frozen=True, gc=False):
    """The daemon was lost; this is another session, at another daemon, in the same groups."""

    reason: str
    """Why the old session ended."""

    before: SessionId
    after: SessionId
    groups: tuple[GroupGap, ...]
    unconfirmed: int
    """Own multicasts, unreliable ones apart, whose fate is unknown: handed to the old daemon
    after the last of my messages, joins and leaves that I saw delivered, with fifo or stronger
    service. All before that one were delivered at the old daemon."""


class Closed(Event, frozen=True, gc=False):
    """The session has ended: the last event."""

    reason: str
    """A code; `antiphon explain` knows it."""
