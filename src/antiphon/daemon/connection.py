"""One client's stream: what came and is not read, what is to go and has not gone."""

import socket
import ssl
from collections import deque
from itertools import accumulate, islice
from typing import Any

from antiphon.daemon.dialect import Dialect
from antiphon.daemon.listeners import is_beside
from antiphon.wire.door import LOOPBACK

READ_BYTES = 262_144
PIECES_MAX = 64
"""Handed to the system in one call."""

TLS_WRITE_BYTES = 262_144
"""Put together for one call where it has to be."""

SEND_BUFFER_BYTES = 1 << 20
NEW, TLS_HANDSHAKE, OPEN, CLOSING = "new", "handshake", "open", "closing"
TLS_RECORD = 0x16
"""First byte of a TLS client; none of our protocols begins so."""


class Gone(Exception):
    """The stream has ended: why."""


class Connection:
    """A socket and its queue. It knows bytes; sessions are somebody else's business."""

    __slots__ = (
        "socket",
        "file",
        "who",
        "is_beside",
        "state",
        "session",
        "dialect",
        "since",
        "reading",
        "watched",
        "_waiting",
        "_waiting_bytes",
        "_marks",
        "_written",
        "_queued",
    )

    def __init__(self, accepted: socket.socket, who: str, now: int) -> None:
        accepted.setblocking(False)
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        if accepted.family != socket.AF_UNIX:
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self.socket = accepted
        self.file = accepted.fileno()
        """Its number, also when the socket is closed."""

        self.who = who
        self.is_beside = is_beside(accepted)
        """It could have come by TCP."""

        self.state = NEW
        self.session = 0
        self.dialect: Dialect | None = None
        """Known with the first byte."""

        self.since = now
        self.reading = True
        self.watched = 0
        """What the system was told to wake us for."""

        self._waiting: deque[bytes | memoryview] = deque()
        self._waiting_bytes = 0
        self._marks: deque[tuple[int, int]] = deque()
        """(end in the stream, bytes of messages) of each news that has not gone."""

        self._queued = self._written = 0

    @property
    def is_private(self) -> bool:
        """Nobody on the network can read it."""
        if self.socket.family == socket.AF_UNIX:
            return not self.is_beside
        return isinstance(self.socket, ssl.SSLSocket)

    @property
    def address(self) -> str:
        """Where it comes from, if that is another machine or could be."""
        if self.is_beside:
            return LOOPBACK
        if self.socket.family == socket.AF_UNIX:
            return ""
        try:
            return str(self.socket.getpeername()[0])
        except OSError as error:
            raise Gone(_reason(error)) from None

    def fileno(self) -> int:
        return self.socket.fileno()

    # In.

    def starts_with_tls(self) -> bool:
        try:
            first = self.socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError as error:
            raise Gone(_reason(error)) from None
        return bool(first) and first[0] == TLS_RECORD

    def wrap(self, context: ssl.SSLContext) -> None:
        try:
            self.socket = context.wrap_socket(
                self.socket, server_side=True, do_handshake_on_connect=False
            )
        except OSError as error:  # it was reset a moment ago
            raise Gone(f"tls: {_reason(error)}") from None
        self.state = TLS_HANDSHAKE

    def shake_hands(self) -> bool:
        """True when both sides are through."""
        assert isinstance(self.socket, ssl.SSLSocket)
        try:
            self.socket.do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return False
        except (ssl.SSLError, OSError) as error:
            raise Gone(f"tls: {_reason(error)}") from None
        self.state = NEW
        certificate: dict[str, Any] = dict(self.socket.getpeercert() or {})
        names = {name: value for part in certificate.get("subject", ()) for name, value in part}
        if "commonName" in names:
            self.who = f"tls:{names['commonName']}"
        return True

    def read(self) -> bytes:
        """What is there, within reason; empty if nothing is."""
        pieces: list[bytes] = []
        while True:
            try:
                piece = self.socket.recv(READ_BYTES)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                break
            except OSError as error:
                raise Gone(_reason(error)) from None
            if not piece:
                if pieces:
                    break  # the end is read again in the next turn
                raise Gone("disconnected")
            pieces.append(piece)
            # What TLS has read ahead no turn of the loop would tell us of.
            if not isinstance(self.socket, ssl.SSLSocket) or not self.socket.pending():
                break
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    # Out.

    def queue(self, pieces: tuple[bytes, ...], is_news: bool = False, size: int = 0) -> None:
        """News without bytes are gone with what was queued before them."""
        for piece in pieces:
            if piece:
                self._waiting.append(piece)
                self._waiting_bytes += len(piece)
                self._queued += len(piece)
        if is_news:
            self._marks.append((self._queued, size))

    @property
    def waiting(self) -> bool:
        return bool(self._waiting)

    @property
    def waiting_bytes(self) -> int:
        return self._waiting_bytes

    def write(self) -> tuple[int, int]:
        """Send what the system takes; how many news went with it, and their bytes."""
        while self._waiting:
            try:
                sent = self._send(list(islice(self._waiting, PIECES_MAX)))
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                break
            except OSError as error:
                raise Gone(_reason(error)) from None
            if not self._forget(sent):
                break
        return self._gone_by()

    def _send(self, pieces: list[bytes | memoryview]) -> int:
        if not isinstance(self.socket, ssl.SSLSocket):
            return self.socket.sendmsg(pieces)
        sizes = accumulate(map(len, pieces))
        fit = sum(size <= TLS_WRITE_BYTES for size in sizes)
        return self.socket.send(b"".join(pieces[: max(1, fit)]))

    def _forget(self, sent: int) -> bool:
        """So much has gone; False if that ended within a piece, for the system was full."""
        self._written += sent
        self._waiting_bytes -= sent
        waiting = self._waiting
        while sent:
            first = waiting.popleft()
            if len(first) > sent:
                waiting.appendleft(memoryview(first)[sent:])
                return False
            sent -= len(first)
        return True

    def _gone_by(self) -> tuple[int, int]:
        marks, written = self._marks, self._written
        count = size = 0
        while marks and marks[0][0] <= written:
            count += 1
            size += marks.popleft()[1]
        return count, size

    def close(self) -> None:
        self.socket.close()


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
