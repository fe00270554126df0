"""One session with one daemon, without I/O: requests become bytes, bytes become events.

    join, leave, multicast, query, goodbye  -->  data_to_send
    receive_data, connection_lost           -->  events    for the application
                                                 outcomes  for whoever waits for an answer

A session ends once. What another session takes over from it, client/crossing.py says.
"""

from collections.abc import Callable
from typing import Any

from antiphon.client.crossing import Crossing, after_gap
from antiphon.client.errors import QueryFailed, Refused, disconnected
from antiphon.client.events import (
    Closed,
    Event,
    Left,
    Participant,
    Refusal,
    Transition,
    View,
)
from antiphon.client.inbox import LastMessages, Unmade, Views
from antiphon.client.numbering import DEFINE, JOIN, LEAVE, Change, Numbering
from antiphon.client.outbox import Outbox, Request, join_payload
from antiphon.client.outcomes import HELLO, QUERY, Key, Outcome
from antiphon.client.records import ClientRecords, Sink
from antiphon.client.waiting import Waiting
from antiphon.core import effects
from antiphon.core.errors import DecodeError, UsageError
from antiphon.core.ids import GroupName, SessionId, group_name_fault, private_group
from antiphon.core.service import Service
from antiphon.wire.body import Table, read_body
from antiphon.wire.client import (
    CLIENT_VERSION,
    CLIENT_VERSION_OLDEST,
    MAGIC,
    TABLES_VERSION,
    Answer,
    Close,
    DefinedFrame,
    FlowFrame,
    ForgetFrame,
    Frame,
    FrameReader,
    Goodbye,
    Hello,
    JoinedFrame,
    JoinFrame,
    LeaveFrame,
    LeftFrame,
    MulticastFrame,
    Query,
    Refuse,
    TableFrame,
    TransitionFrame,
    ViewFrame,
    Welcome,
    pack_frame,
    read_frame,
)

PENDING_BYTES_HIGH = 1024 * 1024
"""So much may wait for the daemon before a sender must wait itself."""

PENDING_BYTES_LOW = 256 * 1024
"""Below this it may go on."""

SEND_BYTES = 24 * 1024
"""Small requests are handed to the transport together, up to this; a full bundle goes alone, for a
copy of it costs more than a call. What was handed over cannot be held back any more."""

EVENTS_MAX = 20_000
EVENT_BYTES_MAX = 16 * 1024 * 1024
"""So much may wait for the application; then the library reads no more, and the daemon decides."""

PATIENCE = 4
"""So much further it reads while the application waits for something other than events."""


class ClientSession:
    def __init__(
        self, hello: Hello, sink: Sink | None = None, clock: Callable[[], int] | None = None
    ) -> None:
        self.name = hello.name
        self.membership = hello.membership
        self.welcome: Welcome | None = None
        self.events = Waiting()
        self.outcomes: list[Outcome] = []
        self.ended = ""
        """Why the session has ended; empty while it has not."""

        self.joined: dict[GroupName, View | None] = {}
        self.changes: dict[GroupName, Change] = {}
        """Under way: at most one for each group."""

        self.last = LastMessages(self.joined)
        self._views = Views(self.joined)
        self._tables: dict[SessionId, Table] = {}
        """What other sessions have defined, as far as their bundles came here."""

        self.numbering = Numbering()
        self.outbox = Outbox(hello.name)
        self._urgent: list[bytes] = [MAGIC + pack_frame(hello)]
        """Not in line, and not held up by flow control."""

        self._flow_open = True
        self._pressed = False
        self._leaving = False
        self._queries = 0
        self._reader = FrameReader()
        self._sink = sink
        self._clock = clock
        self._records: ClientRecords | None = None
        self.crossing: Crossing | None = None
        """While groups are rejoined after a gap: events are held back there."""

    # What the session is.

    @property
    def id(self) -> SessionId:
        assert self.welcome is not None, "no session before the welcome"
        return self.welcome.session

    @property
    def private_group(self) -> GroupName:
        return private_group(self.name, self.id.daemon)

    @property
    def views(self) -> dict[GroupName, View]:
        return {name: view for name, view in self.joined.items() if view is not None}

    @property
    def writable(self) -> bool:
        """Whether a sender may go on; else it waits for this to change."""
        if self._pressed and self.outbox.size <= PENDING_BYTES_LOW:
            self._pressed = False
        elif not self._pressed and self.outbox.size >= PENDING_BYTES_HIGH:
            self._pressed = True
        return not self._pressed

    def full(self, patience: int = 1) -> bool:
        """Whether the application has taken so little that nothing more is read for it. While
        groups are rejoined it could not take more, so then never."""
        if self.crossing is not None:
            return False
        return (
            len(self.events) >= patience * EVENTS_MAX
            or self.events.later_bytes >= patience * EVENT_BYTES_MAX
        )

    # Requests.

    def join(self, group: GroupName) -> Key:
        self._check_group(group)
        if group in self.joined:
            raise UsageError("already_joined", f"in {group!r} already", "join each group once")
        return self._change(Change(JOIN, group), pack_frame(JoinFrame(group)))

    def leave(self, group: GroupName) -> Key:
        self._check_group(group)
        if group not in self.joined:
            raise UsageError("not_joined", f"not in {group!r}", "leave what was joined")
        return self._change(Change(LEAVE, group), pack_frame(LeaveFrame(group)))

    def multicast(
        self,
        groups: Any,
        payload: Any,
        service: Any = Service.AGREED,
        kind: Any = 0,
        self_discard: Any = False,
        key: Any = None,
    ) -> None:
        """Whatever a caller brings: what cannot be is told. Nothing goes along with a bundle of a
        session that has ended."""
        if key is None and self.outbox.go_along(groups, payload, service, kind, self_discard):
            return
        if self.ended or self._leaving:
            raise disconnected(self.ended or "client")
        whole = payload if type(payload) is bytes else join_payload(payload)
        assert self.welcome is not None, "nothing is sent before the welcome"
        if len(whole) > self.welcome.message_bytes_max:
            raise UsageError(
                "too_long",
                f"a message of {len(whole)} bytes",
                f"send at most {self.welcome.message_bytes_max} at a time",
            )
        if type(service) is not Service:
            service = Service(service)
        self.outbox.multicast(groups, whole, service, kind, self_discard, key)

    def query(self, what: str, arguments: dict[str, Any]) -> Key:
        if self.ended or self._leaving:
            raise disconnected(self.ended or "client")
        self._queries += 1
        self._urgent.append(pack_frame(Query(self._queries, what, arguments)))
        return QUERY, self._queries

    def goodbye(self) -> None:
        """After everything that was asked before. Events that come now are not wanted."""
        if not self._leaving and not self.ended:
            self._leaving = True
            self.events.clear()
            self.outbox.ask(pack_frame(Goodbye()))

    def data_to_send(self) -> bytes:
        """For the transport, which takes all of it; empty if it has to wait."""
        parts = self._urgent
        self._urgent = []
        if self.welcome is not None and not self.ended:
            size = 0
            while self._flow_open and size < SEND_BYTES:
                request = self.outbox.pop()
                if request is None:
                    break
                self._number(request)
                parts.append(request.frame)
                size += len(request.frame)
        if self._records is not None:
            self._records.spill()
        return b"".join(parts) if len(parts) != 1 else parts[0]

    def stop_sending(self) -> None:
        """The daemon takes no more; what it said before its end is still to be read."""
        self._urgent.clear()
        self._flow_open = False

    @property
    def wants_to_send(self) -> bool:
        """Whether `data_to_send` has something."""
        if self._urgent:
            return True
        return bool(self.welcome and self._flow_open and self.outbox.size and not self.ended)

    def _check_group(self, group: GroupName) -> None:
        if self.ended or self._leaving:
            raise disconnected(self.ended or "client")
        fault = group_name_fault(group)
        if fault:
            raise UsageError("bad_group", fault, "use another group name")
        if group in self.changes:
            raise UsageError(
                "change_under_way", f"a join or leave of {group!r} is under way", "await it first"
            )

    def _change(self, change: Change, frame: bytes) -> Key:
        self.changes[change.group] = change
        self.outbox.ask(frame, change)
        return change.what, change.group

    def _number(self, request: Request) -> None:
        """The daemon numbers what it takes, so this happens when it is handed over."""
        change = request.change
        if change is not None:
            number = self.numbering.take_change(change)
            if self._records is not None:
                self._records.ask(change, number)
        elif request.count:
            first = self.numbering.take(request.service, request.count)
            if self._records is not None:
                self._records.submit(request, first, self.outbox.destinations.table)

    # What comes.

    def receive_data(self, data: bytes) -> None:
        if self.ended:
            return
        try:
            for packed in self._reader.feed(data):
                self._take(read_frame(packed))
                if self.ended:
                    return
        except DecodeError as error:
            self.connection_lost("bad_frame", str(error))
        if self._records is not None:
            self._records.spill()

    def connection_lost(self, reason: str, detail: str = "") -> None:
        """There will be no more; `reason` is a code."""
        if self.ended:
            return
        self.ended = reason
        self.outbox.close_bundle()  # nothing goes along any more
        if self._records is not None:
            self._records.close(reason, self.numbering.sent + 1)
        if self.welcome is None:
            self.outcomes.append(Outcome((HELLO, ""), None, disconnected(reason, detail)))

    def _take(self, frame: Frame | MulticastFrame | effects.Message) -> None:
        match frame:
            case effects.Message():
                self._deliver(frame)
            case ViewFrame():
                self._install(frame)
            case FlowFrame(open=is_open):
                self._flow_open = is_open
            case JoinedFrame(group=group):
                self._enter(group, None)
                self._settle(JOIN, group, None)
            case DefinedFrame(places=places):
                self._define(places)
            case TableFrame():
                self._learn_table(frame)
            case ForgetFrame(origin=origin):
                self._tables.pop(origin, None)
            case TransitionFrame(group=group, id=view):
                if self._records is not None:
                    self._records.signal(group, view)
                self._tell(Transition(group, view))
            case LeftFrame(group=group):
                self._leave_group(group)
            case Answer(number=number, error=fault, result=result):
                remedy = "see what can be asked: antiphon status --help"
                error = QueryFailed("query_failed", fault, remedy) if fault else None
                self.outcomes.append(Outcome((QUERY, number), result, error))
            case Refuse():
                self._refuse(frame)
            case Close(reason=reason):
                self.connection_lost(reason)
            case Welcome():
                self._open(frame)
            case _:
                raise DecodeError("unexpected", type(frame).__name__)

    def _open(self, welcome: Welcome) -> None:
        if self.welcome is not None:
            raise DecodeError("unexpected", "a second welcome")
        if not CLIENT_VERSION_OLDEST <= welcome.version <= CLIENT_VERSION:
            raise DecodeError("client_version", f"the daemon chose version {welcome.version}")
        self.welcome = welcome
        self.outbox.bundle_bytes = welcome.bundle_bytes
        self.outbox.destinations.may_define = welcome.version >= TABLES_VERSION
        if self._sink is not None:
            assert self._clock is not None, "records need a clock"
            self._records = ClientRecords(self._sink, self._clock, self.id, self.private_group)
        self.outcomes.append(Outcome((HELLO, ""), welcome))

    def _deliver(self, told: effects.Message) -> None:
        body = read_body(told.body, told.count, self._tables.get(told.origin, ()))
        self.last.note(told, body)
        if told.origin == self.id and told.service >= Service.FIFO:
            self.numbering.saw(told.first + (told.chosen[-1] if told.chosen else told.count - 1))
        if self._records is not None:
            self._records.hand(told, body, self.joined)
        if self._leaving:
            return
        waiting = self.events if self.crossing is None else self.crossing.held
        waiting.add(Unmade(told, body, self._views), len(told.body))

    def _define(self, places: int) -> None:
        """What was asked to be in the table of this session is, or is not."""
        change = Change(DEFINE, "")
        if self.outbox.destinations.answer(places):
            self.numbering.settle(change)
            if self._records is not None:
                self._records.settle(change, DEFINE)
        else:
            self.numbering.refuse(change)
            if self._records is not None:
                self._records.refuse(change)

    def _learn_table(self, frame: TableFrame) -> None:
        table = self._tables.get(frame.origin, ())
        if frame.first != len(table):
            raise DecodeError("bad_field", "a table grows at its end")
        self._tables[frame.origin] = table + frame.destinations

    def _enter(self, group: GroupName, view: View | None) -> None:
        if group not in self.joined:
            self.last.settle()
        self._views.forget()
        self.joined[group] = view

    def _install(self, frame: ViewFrame) -> None:
        members = tuple([Participant(id, name) for id, name in frame.members])
        group = frame.group
        view = View(group, frame.id, members, frame.together, frame.cause, frame.evidence)
        if self._records is not None:
            self._records.settle(self.changes.get(group), JOIN)
            self._records.view(view, self.joined.get(group))
        self._enter(group, view)
        self._tell(view)
        self._settle(JOIN, group, view)

    def _leave_group(self, group: GroupName) -> None:
        self.last.forget(group)
        view = self.joined.pop(group, None)
        self._views.forget()
        if self._records is not None and view is not None:
            self._records.settle(self.changes.get(group), LEAVE)
            self._records.left(group, view)
        self._tell(Left(group))
        self._settle(LEAVE, group, None)

    def _settle(self, what: str, group: GroupName, value: View | None) -> None:
        """A join or leave that is under way has been ordered."""
        change = self.changes.get(group)
        if change is None or change.what != what:
            return
        del self.changes[group]
        self.numbering.settle(change)
        if self._records is not None:
            self._records.settle(change, what)
        self.outcomes.append(Outcome((what, group), value))
        self._crossed(group, value, refused=False)

    def _refuse(self, frame: Refuse) -> None:
        error = Refused(frame.code, frame.what, frame.remedy)
        if self.welcome is None:
            self.ended = frame.code
            self.outcomes.append(Outcome((HELLO, ""), None, error))
            return
        change = self.changes.pop(frame.group, None)
        if change is None:
            self._tell(Refusal(frame.code, frame.what, frame.remedy))
            return
        self.numbering.refuse(change)
        if self._records is not None:
            self._records.refuse(change)
        self.outcomes.append(Outcome((change.what, frame.group), None, error))
        self._crossed(frame.group, None, refused=True)

    def _tell(self, event: Event) -> None:
        if self.crossing is not None:
            self.crossing.held.add((event,))
        elif not self._leaving:
            self.events.add((event,))

    def next_event(self) -> Event:
        """There must be one."""
        return self.events.take()

    def next_events(self) -> list[Event]:
        """As many as came together; there must be one."""
        return list(self.events.portion())

    # From one session to the next.

    def close_events(self, quietly: bool) -> None:
        """No session follows. The application is told as the last thing, unless it wished so."""
        if quietly:
            self.events.clear()
        else:
            self.events.add((Closed(self.ended),))

    def resume(self, old: "ClientSession") -> None:
        """Go on where `old` ended: its events first, then a gap, then what comes here."""
        assert old.ended and self.welcome is not None
        self.events = old.events
        self.crossing = after_gap(old)
        for group, change in old.changes.items():
            if change.what == LEAVE:
                self.events.add((Left(group),))
                self.outcomes.append(Outcome((LEAVE, group), None))
        for group in self.crossing.groups:
            self.join(group)
        self.outbox.take_over(old.outbox)
        if not self.crossing.waiting:
            self._cross(self.crossing)

    def _crossed(self, group: GroupName, view: View | None, refused: bool) -> None:
        if self.crossing is not None and self.crossing.decide(group, view, refused):
            self._cross(self.crossing)

    def _cross(self, crossing: Crossing) -> None:
        self.crossing = None
        self.events.add((crossing.gap(self.id),))
        self.events.add_all(crossing.held)
        self.events.add([Left(group) for group in crossing.refused])
