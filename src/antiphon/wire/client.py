"""Between a client and its daemon: frames on a byte stream.

    u32  length of what follows      A stream begins with MAGIC, so that one port can serve
    u8   tag                         several protocols: no Spread or TLS client begins so.
    ...  by tag                      Then the client says Hello, and the daemon Welcome or Refuse.

Multicast and deliver, the two hot frames, are packed by hand around a bundle's body
(wire/body.py), which passes through the daemon unread. All others are declared here once,
with their bounds. A frame that is not as declared ends the connection with its reason.
"""

from enum import IntEnum
from struct import Struct, error
from typing import Annotated, Any

import msgspec

from antiphon.core.effects import Message
from antiphon.core.errors import DecodeError
from antiphon.core.ids import Counter, DaemonId, Incarnation, SessionId, ViewId
from antiphon.core.service import Service
from antiphon.core.trace import Cause
from antiphon.wire.changes import Destinations
from antiphon.wire.ring import BUNDLE_BYTES_MAX

MAGIC = b"APHN"
CLIENT_VERSION = 3
CLIENT_VERSION_OLDEST = 2
"""A daemon speaks its own version and the one before it."""

TABLES_VERSION = 3
"""From this on bundles may refer to tables."""

LENGTH = Struct(">I")
MULTICAST_HEAD = Struct(">BBBH")  # tag, service, flags, count
DELIVER_HEAD = Struct(">BQQIQBBHH")  # tag, origin (3), first, service, flags, count, chosen

SELF_DISCARD = 1
TRANSITIONAL = 1

FRAME_BYTES_MAX = BUNDLE_BYTES_MAX + 1024
BUNDLE_BYTES = 32 * 1024
"""So large a client makes its bundles, unless it is told otherwise."""

CRUMB_BYTES = 4096
"""Less of a frame is not kept as it came: somebody may send it byte by byte."""

HELLO_BYTES_MAX = 4096
"""Of a client that has not been let in."""


class ClientTag(IntEnum):
    """Append only."""

    HELLO = 1
    JOIN = 2
    LEAVE = 3
    MULTICAST = 4
    GOODBYE = 5
    QUERY = 6
    DEFINE = 7

    WELCOME = 65
    REFUSE = 66
    VIEW = 67
    JOINED = 68
    TRANSITION = 69
    LEFT = 70
    DELIVER = 71
    FLOW = 72
    CLOSE = 73
    ANSWER = 74
    DEFINED = 75
    TABLE = 76
    FORGET = 77


Name = Annotated[str, msgspec.Meta(max_length=255)]
Text = Annotated[str, msgspec.Meta(max_length=4096)]


class Frame(msgspec.Struct, gc=False, array_like=True, forbid_unknown_fields=True):
    """Base of all frames that are declared."""


# From the client.


class Hello(Frame):
    oldest: Counter
    """The oldest and the newest version the client speaks."""

    newest: Counter
    name: Name
    priority: Annotated[int, msgspec.Meta(ge=0, le=255)]
    membership: bool
    token: Annotated[str, msgspec.Meta(max_length=1024)]
    """Empty, or a secret that the daemon's token file knows."""


class JoinFrame(Frame):
    group: Name


class LeaveFrame(Frame):
    group: Name


class DefineFrame(Frame):
    """Put these behind the destinations in my table. Defined is the answer."""

    destinations: Destinations


class Goodbye(Frame):
    """What was sent before is still sent; then the connection ends."""


class Query(Frame):
    """Something about the daemon, for operators: `what` and its arguments."""

    number: Counter
    what: Name
    arguments: Annotated[dict[str, Any], msgspec.Meta(max_length=64)]


# From the daemon.


class Welcome(Frame):
    version: Counter
    session: SessionId
    daemon: Name
    """Its name in the configuration."""

    message_bytes_max: Counter
    bundle_bytes: Annotated[int, msgspec.Meta(ge=1024, le=BUNDLE_BYTES_MAX)] = BUNDLE_BYTES
    """Messages are put together up to this: it suits the daemon's packets."""


class Refuse(Frame):
    code: Name
    what: Text
    remedy: Text
    group: Name


class ViewFrame(Frame):
    group: Name
    id: ViewId
    members: tuple[tuple[SessionId, Name], ...]
    together: tuple[SessionId, ...]
    cause: Cause
    evidence: Text


class JoinedFrame(Frame):
    group: Name


class TransitionFrame(Frame):
    group: Name
    id: ViewId


class LeftFrame(Frame):
    group: Name


class FlowFrame(Frame):
    open: bool


class DefinedFrame(Frame):
    """Your table has so many places, and bundles may refer to them."""

    places: Counter


class TableFrame(Frame):
    """More of another session's table, for bundles that come now."""

    origin: SessionId
    first: Counter
    """Place of the first of these."""

    destinations: Destinations


class ForgetFrame(Frame):
    """Nothing that comes refers to this session's table, or it is told once more."""

    origin: SessionId


class Close(Frame):
    """The last frame: why the daemon ends the session."""

    reason: Name


class Answer(Frame):
    number: Counter
    error: Text
    """Empty, or why there is no answer."""

    result: Any


FRAMES: dict[ClientTag, type[Frame]] = {
    ClientTag.HELLO: Hello,
    ClientTag.JOIN: JoinFrame,
    ClientTag.LEAVE: LeaveFrame,
    ClientTag.GOODBYE: Goodbye,
    ClientTag.QUERY: Query,
    ClientTag.DEFINE: DefineFrame,
    ClientTag.WELCOME: Welcome,
    ClientTag.REFUSE: Refuse,
    ClientTag.VIEW: ViewFrame,
    ClientTag.JOINED: JoinedFrame,
    ClientTag.TRANSITION: TransitionFrame,
    ClientTag.LEFT: LeftFrame,
    ClientTag.FLOW: FlowFrame,
    ClientTag.CLOSE: Close,
    ClientTag.ANSWER: Answer,
    ClientTag.DEFINED: DefinedFrame,
    ClientTag.TABLE: TableFrame,
    ClientTag.FORGET: ForgetFrame,
}
_TAGS = {frame: tag for tag, frame in FRAMES.items()}
_DECODERS: dict[int, msgspec.msgpack.Decoder[Any]] = {
    tag: msgspec.msgpack.Decoder(frame) for tag, frame in FRAMES.items()
}
_encode = msgspec.msgpack.Encoder().encode


def pack_frame(frame: Frame) -> bytes:
    body = _encode(frame)
    return LENGTH.pack(1 + len(body)) + bytes([_TAGS[type(frame)]]) + body


Packed = bytes | memoryview | list[memoryview]
"""A frame without its length, in pieces if it came so; the first has all that is before a body."""


class MulticastFrame(msgspec.Struct, gc=False):
    service: Service
    count: int
    body: bytes
    self_discard: bool


def pack_multicast(service: Service, count: int, body: list[bytes], self_discard: bool) -> bytes:
    """The body in parts, as `body_parts` makes them."""
    head = MULTICAST_HEAD.pack(ClientTag.MULTICAST, service, self_discard, count)
    size = len(head) + sum(map(len, body))
    return b"".join([LENGTH.pack(size), head, *body])


def pack_deliver(message: Message) -> tuple[bytes, bytes]:
    """What comes before the body, and the body: it may go to many, and is not copied."""
    chosen = message.chosen
    head = DELIVER_HEAD.pack(
        ClientTag.DELIVER,
        *message.origin,
        message.first,
        message.service,
        message.transitional,
        message.count,
        len(chosen),
    )
    if chosen:
        head += Struct(f">{len(chosen)}H").pack(*chosen)
    assert isinstance(message.body, bytes), "a daemon has it for itself"
    return LENGTH.pack(len(head) + len(message.body)) + head, message.body


def read_frame(frame: Packed) -> Frame | MulticastFrame | Message:
    """One frame without its length."""
    if not frame:
        raise DecodeError("too_short", "an empty frame")
    rest: list[memoryview] = []
    if isinstance(frame, list):
        if frame[0][0] == ClientTag.MULTICAST:
            frame, *rest = frame  # its body is put together without what is before it
        else:
            frame = memoryview(b"".join(frame))
    tag = frame[0]
    try:
        if tag == ClientTag.DELIVER:
            return _read_deliver(frame)
        if tag == ClientTag.MULTICAST:
            _, service, flags, count = MULTICAST_HEAD.unpack_from(frame)
            body = b"".join([frame[MULTICAST_HEAD.size :], *rest])
            return MulticastFrame(Service(service), count, body, flag(flags, SELF_DISCARD))
        decoder = _DECODERS.get(tag)
        if decoder is None:
            raise DecodeError("unknown_tag", f"frame {tag}")
        decoded: Frame = decoder.decode(memoryview(frame)[1:])
        return decoded
    except (error, ValueError, RecursionError, msgspec.DecodeError) as fault:
        raise DecodeError("malformed", f"frame {tag}: {fault}") from None


def _read_deliver(frame: bytes | memoryview) -> Message:
    unpacked = DELIVER_HEAD.unpack_from(frame)
    _, daemon, life, session, first, service, flags, count, chosen_count = unpacked
    at = DELIVER_HEAD.size
    chosen: tuple[int, ...] = ()
    if chosen_count:
        chosen = Struct(f">{chosen_count}H").unpack_from(frame, at)
        at += 2 * chosen_count
        if max(chosen) >= count:
            raise DecodeError("bad_field", "deliver: a message that the bundle does not have")
    origin = SessionId(DaemonId(daemon), Incarnation(life), session)
    transitional = flag(flags, TRANSITIONAL)
    body = frame[at:]
    return Message(origin, first, count, Service(service), body, transitional, chosen)


def flag(flags: int, bit: int) -> bool:
    """The only flag there may be."""
    if flags & ~bit:
        raise DecodeError("bad_field", f"flags {flags:#x}")
    return bool(flags & bit)


class FrameReader:
    """Cuts a stream into frames, however its bytes were split on their way. A frame that came in
    one piece stays where it is, and what is split is put together once, by who reads it."""

    __slots__ = ("_crumbs", "_length_begun", "_missing", "_pieces", "limit")

    def __init__(self, limit: int = FRAME_BYTES_MAX) -> None:
        self.limit = limit
        self._length_begun = b""
        """Of the next frame, if not all of it has come."""

        self._missing = 0
        """Of the frame that has begun; 0 if none has."""

        self._pieces: list[memoryview] = []
        """What has come of it."""

        self._crumbs = bytearray()
        """What came after these in parts too small to be kept one by one."""

    def feed(self, data: bytes) -> list[Packed]:
        """The frames that are complete now, without their lengths."""
        frames: list[Packed] = []
        view = memoryview(data)
        at, end = 0, len(data)
        if self._missing:
            at = self._go_on(view, frames)
        elif self._length_begun:
            at = LENGTH.size - len(self._length_begun)
            begin = self._length_begun + data[:at]
            self._length_begun = b""
            if len(begin) < LENGTH.size:
                self._length_begun = begin
                return frames
            at = self._begin(view, at, self._length(begin, 0), frames)
        while end - at >= LENGTH.size:
            at = self._begin(view, at + LENGTH.size, self._length(data, at), frames)
        self._length_begun += data[at:]
        return frames

    def _begin(self, view: memoryview, at: int, length: int, frames: list[Packed]) -> int:
        """A frame of that length comes; where what comes after it begins."""
        stop = at + length
        if stop <= len(view):
            frames.append(view[at:stop])
            return stop
        self._missing = stop - len(view)
        self._keep(view[at:])
        return len(view)

    def _go_on(self, view: memoryview, frames: list[Packed]) -> int:
        here = view[: self._missing]
        self._keep(here)
        self._missing -= len(here)
        if not self._missing:
            self._sweep()
            pieces, self._pieces = self._pieces, []
            frames.append(pieces)
        return len(here)

    def _keep(self, piece: memoryview) -> None:
        """All but the last are of some size, so they are not too many."""
        if len(piece) < CRUMB_BYTES or 0 < len(self._crumbs) < CRUMB_BYTES:
            self._crumbs += piece
        else:
            self._sweep()
            self._pieces.append(piece)

    def _sweep(self) -> None:
        if self._crumbs:
            self._pieces.append(memoryview(self._crumbs))
            self._crumbs = bytearray()

    def _length(self, data: bytes, at: int) -> int:
        (length,) = LENGTH.unpack_from(data, at)
        if length > self.limit:
            raise DecodeError("too_long", f"a frame of {length} bytes; {self.limit} are allowed")
        return int(length)
