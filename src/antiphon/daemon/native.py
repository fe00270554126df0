"""Our own client protocol at the daemon's end: frames to events, news to frames."""

from antiphon.core.effects import (
    Closed,
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
from antiphon.core.errors import DecodeError
from antiphon.wire.client import (
    HELLO_BYTES_MAX,
    MAGIC,
    Close,
    FlowFrame,
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
    TransitionFrame,
    ViewFrame,
    pack_deliver,
    pack_frame,
    read_frame,
)

News = Message | View | Joined | Transition | Left | Refused | Flow | Closed
Request = Join | Leave | Multicast | Disconnect
EVIDENCE_MAX = 4096


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
        case Goodbye():
            return Disconnect(session)
        case Query():
            return frame
    raise DecodeError("unexpected", f"{type(frame).__name__} from a client")


def frame_of(news: News) -> bytes:
    match news:
        case Message():
            return pack_deliver(news)
        case View(group, id, members, together, cause, evidence):
            told = evidence[:EVIDENCE_MAX]
            return pack_frame(ViewFrame(group, id, members, together, cause, told))
        case Joined(group):
            return pack_frame(JoinedFrame(group))
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
