"""Opens a socket to a daemon: one address, several in order, or whichever answers first."""

import select
import socket
import ssl
import time
from collections.abc import Sequence
from typing import Any

from antiphon.client.errors import Unreachable
from antiphon.client.options import Address
from antiphon.wire.door import local_door

WOULD_BLOCK = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)

READ_BYTES = 262_144
"""At a time: several bundles."""

SEND_BUFFER_BYTES = 1 << 20
"""Of a Unix socket. A writer that has filled it is not woken before three quarters are free again:
in a short one it and its daemon work by turns. Of TCP the system finds out by itself."""


def _keep_buffers_in_the_heap() -> None:
    """The C library has seen one longer than ours come and go: from then on it takes them from its
    heap, and does not map and unmap each."""
    bytes(4 * READ_BYTES)


_keep_buffers_in_the_heap()


def open_socket(address: Address, timeout: float, tls: ssl.SSLContext | None) -> socket.socket:
    """Connected, encrypted if asked, and from here on non-blocking. Raises OSError."""
    if address.path:
        return prepare(_connect_unix(address.path, timeout), address, timeout, tls)
    door = local_door(address.host, address.port)
    if door and tls is None:
        try:
            return prepare(_connect_unix(door, timeout), address, timeout, tls)
        except OSError:
            pass  # nobody there: perhaps by TCP
    plain = socket.create_connection((address.host, address.port), timeout)
    return prepare(plain, address, timeout, tls)


def _connect_unix(name: str | bytes, timeout: float) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.settimeout(timeout)
        made.connect(name)
    except OSError:
        made.close()
        raise
    return made


def open_nearest(
    addresses: Sequence[Address], timeout: float, tls: ssl.SSLContext | None
) -> tuple[int, socket.socket]:
    """The address, by its place, that answers first. Raises OSError."""
    deadline = time.monotonic() + timeout
    trying: dict[int, tuple[int, socket.socket]] = {}
    poll = select.poll()
    winner: int | None = None
    try:
        for place, address in enumerate(addresses):
            begun = begin_connect(address)
            if begun is not None:
                trying[begun.fileno()] = (place, begun)
                poll.register(begun, select.POLLOUT)
        while len(trying) and winner is None:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise TimeoutError("no address answered in time")
            for fd, _ in poll.poll(remaining * 1000):
                _, answered = trying[fd]
                if answered.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0:
                    winner = fd
                    break
                poll.unregister(fd)
                trying.pop(fd)[1].close()
        if winner is None:
            raise ConnectionRefusedError("no address accepts connections")
        place, plain = trying.pop(winner)
    finally:
        for _, other in trying.values():
            other.close()
    return place, prepare(plain, addresses[place], timeout, tls)


def begin_connect(address: Address) -> socket.socket | None:
    """A connection under way, or None if it failed at once."""
    family = socket.AF_UNIX
    where: str | tuple[Any, ...] = address.path
    try:
        if not address.path:
            found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
            family, _, _, _, where = found[0]
        begun = socket.socket(family, socket.SOCK_STREAM)
    except OSError:
        return None
    begun.setblocking(False)
    try:
        begun.connect(where)
    except BlockingIOError:
        pass
    except OSError:
        begun.close()
        return None
    return begun


def prepare(
    plain: socket.socket, address: Address, timeout: float, tls: ssl.SSLContext | None
) -> socket.socket:
    try:
        plain.settimeout(timeout)
        if plain.family == socket.AF_UNIX:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        else:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock = plain if tls is None else tls.wrap_socket(plain, server_hostname=address.host)
    except (OSError, ValueError):
        plain.close()
        raise
    sock.setblocking(False)
    return sock


def unreachable(faults: Sequence[tuple[Address, Exception]]) -> Unreachable:
    told = ", ".join(f"{address} ({fault or type(fault).__name__})" for address, fault in faults)
    return Unreachable(
        "no_daemon", f"no daemon answered at {told}", "check the address, and that the daemon runs"
    )
