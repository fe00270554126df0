"""A client of Spread's protocol without a library: its bytes are made and read here by hand, and
say also what no library would."""

import select
import socket
import struct
from types import TracebackType
from typing import NamedTuple

PATIENCE_S = 10.0
MARKER = 0x80000080
UNRELIABLE, RELIABLE, FIFO, CAUSAL, AGREED, SAFE = 1, 2, 4, 8, 16, 32
SELF_DISCARD = 0x40
JOINED, LEFT, DISCONNECTED, NETWORK = 0x1100, 0x1200, 0x1400, 0x1800
SELF_LEAVE, TRANSITION = 0x200, 0x2000
JOIN, LEAVE, KILL, REJECT = 0x10000, 0x20000, 0x40000, 0x400000


def field(name: str | bytes) -> bytes:
    raw = name.encode() if isinstance(name, str) else name
    return raw + bytes(32 - len(raw))


def hello(name: str, membership: bool = True, version: tuple[int, ...] = (5, 0, 1)) -> bytes:
    return bytes([*version, membership, len(name)]) + name.encode()


def choice(*methods: str) -> bytes:
    return b"".join(one.encode() + bytes(30 - len(one)) for one in methods).ljust(90, b"\0")


def packed(
    kind: int, own: str, groups: list[str | bytes], data: bytes = b"", hint: int = 0
) -> bytes:
    """Little-endian."""
    counts = struct.pack("<3I", len(groups), hint << 8 | MARKER, len(data))
    names = b"".join(map(field, groups))
    return struct.pack("<I", kind | MARKER) + field(own) + counts + names + data


def packed_big(
    kind: int, own: str, groups: list[str | bytes], data: bytes = b"", hint: int = 0
) -> bytes:
    counts = struct.pack(">3I", len(groups), hint << 8, len(data))
    return struct.pack(">I", kind) + field(own) + counts + b"".join(map(field, groups)) + data


class Got(NamedTuple):
    """One message from a daemon, which are all little-endian."""

    kind: int
    name: str
    groups: tuple[str, ...]
    hint: bytes
    data: bytes
    rejected: int = 0


class Seen(NamedTuple):
    """The body of a view."""

    id: bytes
    sets: tuple[tuple[str, ...], ...]
    offset: int


def name_in(raw: bytes) -> str:
    return raw[: raw.index(0)].decode("utf-8", "surrogateescape")


def names_in(raw: bytes) -> tuple[str, ...]:
    return tuple(name_in(raw[at : at + 32]) for at in range(0, len(raw), 32))


def read_view(data: bytes) -> Seen:
    count, offset = struct.unpack_from("<2I", data, 12)
    sets = []
    at = 20
    for _ in range(count):
        (size,) = struct.unpack_from("<I", data, at)
        sets.append(names_in(data[at + 4 : at + 4 + 32 * size]))
        at += 4 + 32 * size
    assert at == len(data)
    return Seen(data[:12], tuple(sets), offset)


def cut(stream: bytes) -> tuple[list[Got], bytes]:
    """The messages that are whole, and the rest."""
    found = []
    at = 0
    while len(stream) - at >= 48:
        kind, raw, groups, hint, size = struct.unpack_from("<I32sI4sI", stream, at)
        assert kind & MARKER == MARKER
        kind &= ~MARKER
        start = at + 48 + (4 if kind & REJECT else 0)
        stop = start + 32 * groups + size
        if stop > len(stream):
            break
        rejected = struct.unpack_from("<I", stream, at + 48)[0] & ~MARKER if kind & REJECT else 0
        names = names_in(stream[start : start + 32 * groups])
        data = stream[start + 32 * groups : stop]
        found.append(Got(kind, name_in(raw), names, hint, data, rejected))
        at = stop
    return found, stream[at:]


class RawSpread:
    def __init__(self, address: tuple[str, int] | str, receive_bytes: int = 0) -> None:
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.settimeout(PATIENCE_S)
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.connect(address)
        self.own = ""
        self.ended = False
        self._unread = b""
        self._got: list[Got] = []

    def __enter__(self) -> "RawSpread":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            assert piece, f"the end, after {data!r}"
            data += piece
        return data

    def methods(self) -> str:
        return self.exactly(self.exactly(1)[0]).decode()

    def accepted(self) -> str:
        """The private group that the daemon gives us; versions from 3.15 on."""
        code, *_, size = self.exactly(5)
        assert code == 1
        self.own = self.exactly(size).decode()
        return self.own

    def code(self) -> int:
        """Why we are not let in; then nothing comes."""
        (code,) = struct.unpack("b", self.exactly(1))
        assert self.socket.recv(1) == b""
        return int(code)

    def open(self, name: str, membership: bool = True) -> str:
        self.send(hello(name, membership))
        assert "NULL" in self.methods().split()
        self.send(choice("NULL"))
        return self.accepted()

    def join(self, group: str | bytes) -> None:
        self.send(packed(JOIN, self.own, [group]))

    def leave(self, group: str) -> None:
        self.send(packed(LEAVE, self.own, [group]))

    def say(self, groups: list[str | bytes], data: bytes, kind: int = AGREED) -> None:
        self.send(packed(kind, self.own, groups, data))

    def next(self) -> Got | None:
        """None at the end."""
        while not self._got:
            try:
                data = self.socket.recv(1 << 20)
            except ConnectionResetError:
                data = b""
            if not data:
                assert not self._unread, "an end within a message"
                return None
            self._got, self._unread = cut(self._unread + data)
        return self._got.pop(0)

    def is_readable(self) -> bool:
        return bool(self._got) or bool(select.select([self.socket], [], [], 0)[0])

    def next_of(self, kind: int) -> Got:
        """Past all others."""
        while True:
            got = self.next()
            assert got is not None, "the end"
            if got.kind == kind:
                return got

    def joined(self, count: int) -> Got:
        """The view in which the group has so many members."""
        while True:
            got = self.next()
            assert got is not None, "the end"
            if got.kind & 0x1000 and len(got.groups) == count:
                return got
