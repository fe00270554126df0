"""One session of Spread's protocol, without I/O: requests become bytes, bytes become events.

    join, leave, multicast, goodbye  -->  data_to_send
    receive_data, connection_lost    -->  events    for the application
                                          outcomes  for whoever waits for an answer

It has the same face as the native session (client/session.py), so that the same transports carry
it. A daemon answers a join or leave by the view or notice that it leads to, and only in a session
with membership; without it they are taken for done when they are sent.
"""

from collections import deque

from antiphon.client.destinations import Groups
from antiphon.client.errors import Refused, disconnected
from antiphon.client.events import Closed, Event, Left, Refusal
from antiphon.client.outbox import Payload
from antiphon.client.outcomes import HELLO, Key, Outcome
from antiphon.client.session import (
    EVENT_BYTES_MAX,
    EVENTS_MAX,
    PENDING_BYTES_HIGH,
    PENDING_BYTES_LOW,
)
from antiphon.client.spread.events import GroupId, Message, Transition, View
from antiphon.client.spread.greeting import Greeting, refused
from antiphon.client.spread.options import Options
from antiphon.client.spread.outbox import LITTLE, Outbox
from antiphon.core.errors import DecodeError, UsageError
from antiphon.core.ids import PRIVATE_MARK, GroupName
from antiphon.core.service import Service
from antiphon.core.trace import Cause
from antiphon.wire.spread import words
from antiphon.wire.spread.handshake import Accept
from antiphon.wire.spread.messages import (
    Head,
    SpreadMessage,
    pack_join,
    pack_kill,
    pack_leave,
)
from antiphon.wire.spread.stream import MessageReader, StreamFault
from antiphon.wire.spread.views import cause_of, is_self_leave, read_id, read_view_body
from antiphon.wire.spread.words import is_group_name, is_little, read_kind

JOIN, LEAVE = "join", "leave"


class SpreadSession:
    def __init__(self, options: Options) -> None:
        self.membership = options.hello.membership
        self.welcome: Accept | None = None
        self.events: deque[Event] = deque()
        self.outcomes: list[Outcome] = []
        self.ended = ""
        """Why the session has ended; empty while it has not."""

        self.joined: dict[GroupName, View | None] = {}
        self._changes: dict[GroupName, str] = {}
        """Joins and leaves under way."""

        self._transitional: set[GroupName] = set()
        self.outbox = Outbox()
        self._greeting = Greeting(options.hello, options.token)
        self._reader = MessageReader()
        self._waiting_bytes = 0
        self._pressed = False
        self._leaving = False
        self._sends = True
        self._in_hand = 0
        """Messages in what the transport took last."""

    # What the session is.

    @property
    def private_group(self) -> GroupName:
        assert self.welcome is not None, "no session before the welcome"
        return self.welcome.private_group

    @property
    def name(self) -> str:
        return self.private_group.split(PRIVATE_MARK)[1]

    @property
    def daemon(self) -> str:
        return self.private_group.split(PRIVATE_MARK)[2]

    @property
    def views(self) -> dict[GroupName, View]:
        return {name: view for name, view in self.joined.items() if view is not None}

    @property
    def writable(self) -> bool:
        """Whether a sender may go on; else it waits for this to change."""
        self._pressed = self.outbox.size >= (
            PENDING_BYTES_LOW if self._pressed else PENDING_BYTES_HIGH
        )
        return not self._pressed

    def full(self, patience: int = 1) -> bool:
        """Whether the application has taken so little that nothing more is read for it."""
        return (
            len(self.events) >= patience * EVENTS_MAX
            or self._waiting_bytes >= patience * EVENT_BYTES_MAX
        )

    # Requests.

    def join(self, group: GroupName) -> Key:
        self._check_group(group)
        if group in self.joined:
            raise UsageError("already_joined", f"in {group!r} already", "join each group once")
        self.outbox.ask(pack_join(self.private_group, group, LITTLE))
        if not self.membership:
            self.joined[group] = None
        return self._await_change(JOIN, group)

    def leave(self, group: GroupName) -> Key:
        self._check_group(group)
        if group not in self.joined:
            raise UsageError("not_joined", f"not in {group!r}", "leave what was joined")
        self.outbox.ask(pack_leave(self.private_group, group, LITTLE))
        if not self.membership:
            del self.joined[group]
        return self._await_change(LEAVE, group)

    def _await_change(self, what: str, group: GroupName) -> Key:
        if self.membership:
            self._changes[group] = what
        else:
            self.outcomes.append(Outcome((what, group), None))
        return what, group

    def multicast(
        self,
        groups: Groups,
        payload: Payload,
        service: Service = Service.AGREED,
        kind: int = 0,
        self_discard: bool = False,
    ) -> None:
        if self.ended or self._leaving:
            raise disconnected(self.ended or "client")
        self.outbox.multicast(groups, payload, service, kind, self_discard)

    def goodbye(self) -> None:
        """After everything that was asked before. Events that come now are not wanted."""
        if not self._leaving and not self.ended:
            self._leaving = True
            self.events.clear()
            self._waiting_bytes = 0
            self.outbox.ask(pack_kill(self.private_group, LITTLE))

    def data_to_send(self) -> bytes:
        """For the transport, which takes all of it."""
        if not self._sends or self.ended:
            return b""
        if self.welcome is None:
            said, self._greeting.to_send = self._greeting.to_send, b""
            return said
        self._in_hand = self.outbox.messages
        return self.outbox.take() if self.outbox.size else b""

    def stop_sending(self) -> None:
        """The daemon takes no more; what it said before its end is still to be read."""
        self._sends = False

    @property
    def unsent(self) -> int:
        """Messages that the daemon may not have been given. The transport comes for more when
        it is rid of what it took."""
        return self.outbox.messages + self._in_hand

    @property
    def wants_to_send(self) -> bool:
        """Whether `data_to_send` has something."""
        waits = self._greeting.to_send if self.welcome is None else self.outbox.size
        return self._sends and not self.ended and bool(waits)

    def _check_group(self, group: GroupName) -> None:
        if self.ended or self._leaving:
            raise disconnected(self.ended or "client")
        if not isinstance(group, str) or not is_group_name(group):
            raise UsageError(
                "bad_group",
                f"{group!r} is no group name of Spread",
                "use 1 to 31 ASCII characters from '$' to '~'",
            )
        if group in self._changes:
            raise UsageError(
                "change_under_way", f"a join or leave of {group!r} is under way", "await it first"
            )

    # What comes.

    def receive_data(self, data: bytes) -> None:
        if self.ended:
            return
        try:
            if self.welcome is None:
                data = self._greet(data)
            if data:
                self._take_data(data)
        except DecodeError as error:
            self.connection_lost("bad_frame", str(error))
        except Refused as error:
            self.ended = error.code
            self.outcomes.append(Outcome((HELLO, ""), None, error))

    def _take_data(self, data: bytes) -> None:
        try:
            self._take(self._reader.feed(data))
        except StreamFault as fault:
            self._take(fault.before)
            raise

    def connection_lost(self, reason: str, detail: str = "") -> None:
        """There will be no more; `reason` is a code."""
        if self.ended:
            return
        self.ended = reason
        if self.welcome is None:
            self.outcomes.append(Outcome((HELLO, ""), None, disconnected(reason, detail)))

    def _greet(self, data: bytes) -> bytes:
        """What stands behind the greeting."""
        greeted = self._greeting.feed(data)
        if greeted is None:
            return b""
        self.welcome, rest = greeted
        self.outbox.own = self.private_group
        self.outcomes.append(Outcome((HELLO, ""), self.welcome))
        return rest

    def _take(self, messages: list[SpreadMessage]) -> None:
        """Messages with one head follow each other, so what is in a head is found once."""
        last: Head | None = None
        last_hint = -1
        service, discard, view, transitional = Service.RELIABLE, False, None, False
        kind, little = 0, True
        tell = self.events.append
        for message in messages:
            head, hint, data = message.head, message.hint, message.data
            if head is not last:
                found = head.service
                if found is None:
                    self._take_other(message)
                    last = None
                    continue
                last, service, discard = head, found, head.self_discard
                view, transitional = self._standing(head.groups)
            if hint != last_hint:
                last_hint, kind, little = hint, read_kind(hint), is_little(hint)
            if self._leaving:
                continue
            self._waiting_bytes += len(data)
            sender, groups = head.name, head.groups
            tell(Message(sender, groups, data, service, kind, discard, little, view, transitional))

    def _standing(self, groups: tuple[GroupName, ...]) -> tuple[GroupId | None, bool]:
        """The view of the first of these that this session is in, and whether it ends."""
        for group in groups:
            if group in self.joined:
                view = self.joined[group]
                return None if view is None else view.id, group in self._transitional
        return None, False

    def _take_other(self, message: SpreadMessage) -> None:
        head = message.head
        if head.type & words.REJECT:
            self._refuse(head)
        elif head.type & words.VIEW:
            self._install(message)
        elif head.type & words.TRANSITION:
            self._transitional.add(head.name)
            self._tell(Transition(head.name, read_id(message.data, head.little)))
        elif is_self_leave(head.type):
            self.joined.pop(head.name, None)
            self._transitional.discard(head.name)
            self._tell(Left(head.name))
            self._settle(LEAVE, head.name, None)
        else:
            raise DecodeError("unexpected", f"a message of type {head.type:#x}")

    def _install(self, message: SpreadMessage) -> None:
        head = message.head
        group, members = head.name, head.groups
        body = read_view_body(message.data, head.little)
        cause = cause_of(head.type)
        who, sets = "", body.sets
        together = body.sets[body.own]
        if cause is not Cause.NETWORK:
            who = body.sets[0][0] if body.sets[0] else ""
            sets = ()
            own = self.private_group
            together = (own,) if who == own else tuple([name for name in members if name != who])
        view = View(group, body.id, members, together, cause, who, sets)
        self.joined[group] = view
        self._transitional.discard(group)
        self._tell(view)
        self._settle(JOIN, group, view)

    def _refuse(self, head: Head) -> None:
        """A join or leave that is under way, or a multicast that was."""
        what = {words.CAUSED_BY_JOIN: JOIN, words.CAUSED_BY_LEAVE: LEAVE}.get(head.rejected)
        error = refused("not_allowed")
        if what is None:
            self._tell(Refusal(error.code, error.what, error.remedy))
            return
        for group in head.groups[:1]:
            if self._changes.get(group) == what:
                del self._changes[group]
                self.outcomes.append(Outcome((what, group), None, error))

    def _settle(self, what: str, group: GroupName, value: View | None) -> None:
        """A join or leave that is under way has been ordered."""
        if self._changes.get(group) == what:
            del self._changes[group]
            self.outcomes.append(Outcome((what, group), value))

    def _tell(self, event: Event) -> None:
        if not self._leaving:
            self.events.append(event)

    def next_event(self) -> Event:
        """There must be one."""
        event = self.events.popleft()
        if type(event) is Message:
            self._waiting_bytes -= len(event.payload)
        return event

    def next_events(self) -> list[Event]:
        """All that wait; there must be one."""
        events = list(self.events)
        self.events.clear()
        self._waiting_bytes = 0
        return events

    def close_events(self, quietly: bool) -> None:
        """The application is told as the last thing, unless it wished so."""
        if quietly:
            self.events.clear()
        else:
            self.events.append(Closed(self.ended))
