"""One connection to another daemon: its socket, its stream, and what has not gone yet."""

import errno
import socket
from collections import deque

from antiphon.core.ids import DaemonId, Member
from antiphon.core.machine import Instant
from antiphon.daemon.datagrams import SocketAddress
from antiphon.daemon.secure.stream import Stream

READ_BYTES = 262_144
WRITE_BYTES = 262_144
ROOM_BYTES = 49_152
"""What may wait here for the kernel."""

UNSENT_BYTES = 16_384
"""And there for the network: acks should not stand in a long line, and a slow way makes seconds
of what a fast one hardly notices."""

KEEPALIVE_S = 1
KEEPALIVE_PROBES = 3
UNANSWERED_MS = 6_000
"""A connection is broken when nothing was answered for so long."""


class Broken(Exception):
    """The connection has ended: why."""


class Pipe:
    """A socket and its queue. `called` is who was dialled; None: somebody has dialled us."""

    def __init__(
        self, made: socket.socket, called: DaemonId | None, stream: Stream, now: Instant
    ) -> None:
        self.socket = made
        self.file = made.fileno()
        """Its number, also when the socket is closed."""

        self.called = called
        self.stream = stream
        self.since = now
        self.connecting = called is not None
        self.up = False
        """The node has been told."""

        self.watched = False
        """The loop wakes up when it can be written to."""

        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._told = ROOM_BYTES
        """What the node believes that it may pour."""

    @property
    def peer(self) -> Member | None:
        return self.stream.peer

    @property
    def daemon(self) -> DaemonId | None:
        """Who is there, or should be."""
        return self.called if self.peer is None else self.peer.daemon

    @property
    def wants_to_write(self) -> bool:
        return self.connecting or bool(self._waiting)

    def finish_connecting(self) -> None:
        error = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            raise Broken(errno.errorcode.get(error, "unknown").lower())
        self.connecting = False

    def read(self) -> list[bytes]:
        """Packets that came; Untrusted or Broken ends it."""
        try:
            data = self.socket.recv(READ_BYTES)
        except BlockingIOError:
            return []
        except OSError as error:
            raise Broken(errno.errorcode.get(error.errno or 0, "unknown").lower()) from None
        if not data:
            raise Broken("ended")
        return self.stream.feed(data)

    def pour(self, packet: bytes) -> None:
        self._take_reply()  # it was sealed before
        self._told -= len(packet)
        self._queue(self.stream.seal(packet))

    def _take_reply(self) -> None:
        if self.stream.reply:
            self._queue(self.stream.reply)
            self.stream.reply = b""

    def _queue(self, data: bytes) -> None:
        self._waiting.append(data)
        self._waiting_bytes += len(data)

    def write(self) -> None:
        """What the kernel takes."""
        self._take_reply()
        while self._waiting and not self.connecting:
            data = self._next()
            try:
                sent = self.socket.send(data)
            except BlockingIOError:
                sent = 0
            except OSError as error:
                raise Broken(errno.errorcode.get(error.errno or 0, "unknown").lower()) from None
            self._waiting_bytes -= sent
            if sent < len(data):
                self._waiting.appendleft(data[sent:])
                return

    def _next(self) -> bytes:
        """Small pieces together, for each call costs more than a copy."""
        pieces = [self._waiting.popleft()]
        size = len(pieces[0])
        while self._waiting and size + len(self._waiting[0]) <= WRITE_BYTES:
            size += len(self._waiting[0])
            pieces.append(self._waiting.popleft())
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def new_room(self) -> int:
        """Bytes that may be poured, if that is worth telling; else 0."""
        room = ROOM_BYTES - self._waiting_bytes
        if self._told >= ROOM_BYTES // 2 or room < ROOM_BYTES // 2:
            return 0
        self._told = room
        return room


def calling(source: SocketAddress, target: SocketAddress) -> socket.socket:
    """A socket that connects there, from the address where we are known; OSError if it
    cannot."""
    family = socket.AF_INET6 if ":" in target[0] else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        prepare(made)
        made.bind((source[0], 0))
        outcome = made.connect_ex(target)
        if outcome not in (0, errno.EINPROGRESS):
            raise OSError(outcome, "cannot connect")
    except OSError:
        made.close()
        raise
    return made


def prepare(made: socket.socket) -> None:
    made.setblocking(False)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        (socket.TCP_NODELAY, 1),
        (socket.TCP_KEEPIDLE, KEEPALIVE_S),
        (socket.TCP_KEEPINTVL, KEEPALIVE_S),
        (socket.TCP_KEEPCNT, KEEPALIVE_PROBES),
        (socket.TCP_USER_TIMEOUT, UNANSWERED_MS),
        (socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES),
    ):
        made.setsockopt(socket.IPPROTO_TCP, option, value)
