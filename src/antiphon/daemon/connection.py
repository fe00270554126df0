"""One client's stream: what came and is not read, what is to go and has not gone."""

import socket
import ssl
from collections import deque
from typing import Any

from antiphon.daemon.dialect import Dialect

READ_BYTES = 65_536
READ_BYTES_SMALL = 8_192
REQUESTS_MANY = 64
"""A client that asks many things in few bytes is read in small portions: each request costs
the daemon the same, and others want their turn."""

WRITE_BYTES = 262_144
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
        "state",
        "session",
        "dialect",
        "since",
        "reading",
        "_read_bytes",
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
        self.state = NEW
        self.session = 0
        self.dialect: Dialect | None = None
        """Known with the first byte."""

        self.since = now
        self.reading = True
        self._read_bytes = READ_BYTES
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._marks: deque[tuple[int, int]] = deque()
        """(end in the stream, bytes of messages) of each news that has not gone."""

        self._queued = self._written = 0

    @property
    def is_private(self) -> bool:
        """Nobody on the network can read it."""
        return self.socket.family == socket.AF_UNIX or isinstance(self.socket, ssl.SSLSocket)

    @property
    def address(self) -> str:
        """Where it comes from, if that is another machine or could be."""
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
                piece = self.socket.recv(self._read_bytes)
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

    def note_requests(self, count: int) -> None:
        self._read_bytes = READ_BYTES_SMALL if count > REQUESTS_MANY else READ_BYTES

    # Out.

    def queue(self, data: bytes, is_news: bool = False, size: int = 0) -> None:
        """News without bytes are gone with what was queued before them."""
        if data:
            self._waiting.append(data)
        self._waiting_bytes += len(data)
        self._queued += len(data)
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
            data = self._next()
            try:
                sent = self.socket.send(data)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                self._waiting.appendleft(data)
                break
            except OSError as error:
                raise Gone(_reason(error)) from None
            self._written += sent
            self._waiting_bytes -= sent
            if sent < len(data):
                self._waiting.appendleft(data[sent:])
                break
        return self._gone_by()

    def _next(self) -> bytes:
        """The next piece: small ones together, for each call costs more than a copy."""
        first = self._waiting.popleft()
        if not self._waiting or len(first) >= WRITE_BYTES:
            return first
        pieces = [first]
        size = len(first)
        while self._waiting and size + len(self._waiting[0]) <= WRITE_BYTES:
            piece = self._waiting.popleft()
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)

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
