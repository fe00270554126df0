"""A session without a daemon, for tests: bytes in, bytes out."""

from antiphon.client.records import Sink
from antiphon.client.session import ClientSession
from antiphon.core import effects
from antiphon.core.ids import ConfigId, DaemonId, Incarnation, SessionId, ViewId
from antiphon.core.service import Service
from antiphon.core.trace import Cause, Record
from antiphon.wire.body import pack_body
from antiphon.wire.client import (
    MAGIC,
    Frame,
    FrameReader,
    Hello,
    MulticastFrame,
    ViewFrame,
    Welcome,
    pack_deliver,
    pack_frame,
    read_frame,
)

ME = SessionId(DaemonId(3), Incarnation(9), 4)
OTHER = SessionId(DaemonId(5), Incarnation(2), 1)
CONFIG = ConfigId(1, DaemonId(3), Incarnation(9), 1)


class Rows:
    """A sink that keeps what it gets."""

    def __init__(self) -> None:
        self.rows: list[Record] = []
        self.closed = False

    def add(self, record: Record) -> None:
        self.rows.append(record)

    def close(self) -> None:
        self.closed = True


def view_id(position: int) -> ViewId:
    return ViewId(CONFIG, position, 0)


def view_frame(group: str, position: int, *members: SessionId, cause: Cause = Cause.JOIN) -> Frame:
    labelled = tuple((one, f"n{one.number}") for one in members or (ME,))
    return ViewFrame(group, view_id(position), labelled, (ME,), cause, "")


def fresh(sink: Sink | None = None, membership: bool = True) -> ClientSession:
    """Has said hello and heard nothing."""
    hello = Hello(2, 3, "alice", 0, membership, "")
    return ClientSession(hello, sink, lambda: 1_000)


def welcomed(
    sink: Sink | None = None, membership: bool = True, id: SessionId = ME
) -> ClientSession:
    session = fresh(sink, membership)
    sent = session.data_to_send()
    assert sent.startswith(MAGIC)
    tell(session, Welcome(3, id, "three", 1 << 20))
    session.outcomes.clear()
    return session


def tell(session: ClientSession, *frames: Frame) -> None:
    session.receive_data(b"".join(pack_frame(frame) for frame in frames))


def asked(session: ClientSession) -> list[Frame | MulticastFrame | effects.Message]:
    """Everything that it hands over now."""
    frames = []
    while data := session.data_to_send():
        frames += [read_frame(one) for one in FrameReader().feed(data)]
    return frames


def bundle(
    *messages: tuple[tuple[str, ...], bytes],
    origin: SessionId = OTHER,
    first: int = 1,
    service: Service = Service.AGREED,
    chosen: tuple[int, ...] = (),
    sender: str = "bob",
) -> effects.Message:
    table = tuple(dict.fromkeys(groups for groups, _ in messages))
    places = tuple(table.index(groups) for groups, _ in messages)
    kinds = tuple(range(len(messages)))
    body = pack_body(table, places, kinds, tuple(one for _, one in messages), sender)
    return effects.Message(origin, first, len(messages), service, body, False, chosen)


def deliver(session: ClientSession, told: effects.Message) -> None:
    session.receive_data(b"".join(pack_deliver(told)))
