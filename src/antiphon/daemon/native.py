"""Our own client protocol at the daemon's end: frames to events, news to frames."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from antiphon.core.effects import (
    Closed,
    Define,
    Defined,
    Disconnect,
    Flow,
    Join,
    Joined,
    Leave,
    Left,
    Message,
    Multicast,
    Refused,
    Transition,
    View,
)
from antiphon.core.errors import AntiphonError, DecodeError, UsageError
from antiphon.core.ids import SessionId
from antiphon.daemon.dialect import Greeting, Heard, News, Request, Say
from antiphon.wire.body import read_body
from antiphon.wire.client import (
    BUNDLE_BYTES,
    CLIENT_VERSION,
    CLIENT_VERSION_OLDEST,
    FRAME_BYTES_MAX,
    HELLO_BYTES_MAX,
    MAGIC,
    TABLES_VERSION,
    Answer,
    Close,
    DefinedFrame,
    DefineFrame,
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
    pack_deliver,
    pack_frame,
    read_frame,
)
from antiphon.wire.ring import MESSAGE_BYTES_MAX
from antiphon.wire.tables import named

EVIDENCE_MAX = 4096
ALONE_BYTES = 262_144
TABLES_TOLD_MAX = 256
"""Of other sessions, to one client."""

PACKET_MARGIN = 1024
"""For what a packet has around a bundle, and a bundle around its messages."""


Answerer = Callable[[str, Query], Any]
"""(who asks, what) -> the answer; ValueError if there is none."""


def bundle_bytes_for(packet_bytes: int, daemons: int) -> int:
    """A bundle that fills a packet, if packets are long; else packets have parts of one. Where
    there is one daemon only, no packets are made, and it pays by bundle."""
    return ALONE_BYTES if daemons == 1 else max(BUNDLE_BYTES, packet_bytes - PACKET_MARGIN)


class Native:
    """What all clients of this protocol have in common at one daemon."""

    def __init__(self, daemon: str, answer: Answerer) -> None:
        self.daemon = daemon
        self.answer = answer
        self.bundle_bytes = BUNDLE_BYTES
        self.named: Callable[[str], str] = str
        """Puts the names of daemons in place of their ids."""

        self._last_view: tuple[object, bytes] = ((), b"")

    def dialect(self) -> "NativeDialect":
        return NativeDialect(self)

    def view_frame(self, view: View) -> bytes:
        """Packed once for all sessions that are told the same: a view names all its members."""
        told = (view.group, view.id, view.together)
        if told != self._last_view[0]:
            named = msgspec.structs.replace(view, evidence=self.named(view.evidence))
            self._last_view = (told, frame_of(named))
        return self._last_view[1]


class NativeDialect:
    """One client's."""

    __slots__ = ("_native", "_reader", "_session", "_told", "_version", "_who")

    def __init__(self, native: Native) -> None:
        self._native = native
        self._reader = NativeReader()
        self._session = 0
        self._told: dict[SessionId, int] = {}
        """Places of other sessions' tables that it knows, the one used last at the end."""

        self._version = 0
        self._who = ""

    def hear(self, data: bytes) -> Iterator[Heard]:
        for frame in self._reader.feed(data):
            if not self._session:
                yield self._greeting(frame)
                continue
            request = request_of(self._session, frame)
            if isinstance(request, Query):
                yield Say(self._answer(request))
            else:
                yield request

    def _greeting(self, frame: Frame | MulticastFrame | Message) -> Greeting:
        if not isinstance(frame, Hello):
            raise DecodeError("unexpected", f"{type(frame).__name__} before Hello")
        fault = version_fault(frame, CLIENT_VERSION_OLDEST, CLIENT_VERSION)
        if fault:
            raise UsageError("client_version", fault, "upgrade the older one")
        self._version = min(CLIENT_VERSION, frame.newest)
        return Greeting(frame.name, frame.priority, frame.membership, frame.token)

    def _answer(self, query: Query) -> bytes:
        try:
            answer = Answer(query.number, "", self._native.answer(self._who, query))
        except (ValueError, AntiphonError) as error:
            answer = Answer(query.number, str(error)[:4096], None)
        return pack_frame(answer)

    def welcome(self, session: SessionId, who: str) -> bytes:
        self._session = session.number
        self._who = who
        self._reader.frames.limit = FRAME_BYTES_MAX
        native = self._native
        return pack_frame(
            Welcome(self._version, session, native.daemon, MESSAGE_BYTES_MAX, native.bundle_bytes)
        )

    def message(self, message: Message) -> tuple[bytes, ...]:
        if not message.table:
            return pack_deliver(message)
        if self._version < TABLES_VERSION:
            return tuple([piece for one in by_name(message) for piece in pack_deliver(one)])
        return (self._table_frames(message), *pack_deliver(message))

    def _table_frames(self, message: Message) -> bytes:
        """What this client does not know of the table that a bundle refers to."""
        origin, table = message.origin, message.table
        told = self._told.pop(origin, 0)
        self._told[origin] = len(table)
        if told == len(table):
            return b""
        frames = pack_frame(TableFrame(origin, told, table[told:]))
        if len(self._told) > TABLES_TOLD_MAX:
            oldest = next(iter(self._told))
            del self._told[oldest]
            frames += pack_frame(ForgetFrame(oldest))
        return frames

    def tell(self, news: News) -> bytes:
        return self._native.view_frame(news) if isinstance(news, View) else frame_of(news)

    def refuse(self, code: str, what: str, remedy: str) -> bytes:
        return pack_frame(Refuse(code, what[:EVIDENCE_MAX], remedy, "")) + self.end(code)

    def end(self, reason: str) -> bytes:
        return pack_frame(Close(reason))


class NativeReader:
    """Bytes of one connection to frames; the magic first."""

    __slots__ = ("_begin", "frames")

    def __init__(self) -> None:
        self._begin = b""
        self.frames = FrameReader(HELLO_BYTES_MAX)

    def feed(self, data: bytes) -> list[Frame | MulticastFrame | Message]:
        if len(self._begin) < len(MAGIC):
            rest = len(MAGIC) - len(self._begin)
            self._begin += data[:rest]
            data = data[rest:]
            if not MAGIC.startswith(self._begin):
                raise DecodeError("unknown_protocol", f"the stream begins with {self._begin!r}")
            if not data:
                return []
        try:
            return [read_frame(frame) for frame in self.frames.feed(data)]
        except RecursionError:
            raise DecodeError("malformed", "a frame is nested too deeply") from None


def request_of(session: int, frame: Frame | MulticastFrame | Message) -> Request | Query:
    """What a session asks with a frame; DecodeError if a client never sends it."""
    match frame:
        case MulticastFrame(service, count, body, self_discard):
            return Multicast(session, service, count, body, self_discard)
        case JoinFrame(group):
            return Join(session, group)
        case LeaveFrame(group):
            return Leave(session, group)
        case DefineFrame(destinations):
            return Define(session, destinations)
        case Goodbye():
            return Disconnect(session)
        case Query():
            return frame
    raise DecodeError("unexpected", f"{type(frame).__name__} from a client")


def by_name(message: Message) -> Iterator[Message]:
    """The same for a client that knows of no tables."""
    chosen = message.chosen
    for first, end, body in named(read_body(message.body, message.count, message.table)):
        mine = tuple([at - first for at in chosen if first <= at < end])
        if mine or not chosen:
            number, count = message.first + first, end - first
            origin, service = message.origin, message.service
            yield Message(origin, number, count, service, body, message.transitional, mine)


def frame_of(news: News) -> bytes:
    match news:
        case View(group, id, members, together, cause, evidence):
            told = evidence[:EVIDENCE_MAX]
            return pack_frame(ViewFrame(group, id, members, together, cause, told))
        case Joined(group):
            return pack_frame(JoinedFrame(group))
        case Defined(places):
            return pack_frame(DefinedFrame(places))
        case Transition(group, id):
            return pack_frame(TransitionFrame(group, id))
        case Left(group):
            return pack_frame(LeftFrame(group))
        case Flow(is_open):
            return pack_frame(FlowFrame(is_open))
        case Refused(code, what, remedy, group):
            return pack_frame(Refuse(code, what[:EVIDENCE_MAX], remedy, group[:255]))
        case Closed(reason):
            return pack_frame(Close(reason))


def version_fault(hello: Hello, oldest: int, newest: int) -> str:
    """Empty if there is a version that both speak."""
    if hello.oldest <= newest and hello.newest >= oldest:
        return ""
    theirs = f"{hello.oldest} to {hello.newest}"
    return f"this client speaks versions {theirs} and this daemon {oldest} to {newest}"
