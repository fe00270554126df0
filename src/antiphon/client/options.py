"""What `connect` was asked for, checked once, and kept for the sessions after a gap."""

import random
import re
import secrets
import ssl
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from antiphon.client.records import Sink
from antiphon.client.session import ClientSession
from antiphon.core.errors import UsageError
from antiphon.core.ids import PRIVATE_MARK, SESSION_NAME_BYTES_MAX
from antiphon.wire.client import CLIENT_VERSION, CLIENT_VERSION_OLDEST, Hello

TIMEOUT_S = 10.0
ORDER, NEAREST = "order", "nearest"
TRY_ANOTHER = ("too_many_sessions", "daemon_stopping")
"""A daemon that refuses so is passed over, if there is another."""

RETRY_FIRST_S = 0.05
RETRY_MAX_S = 1.0


class Address(NamedTuple):
    host: str
    port: int
    path: str = ""
    """Of a Unix socket; then there is no host."""

    def __str__(self) -> str:
        return self.path or f"{self.port}@{self.host}"


def parse_address(text: str) -> Address:
    if text.startswith("unix:") or text.startswith("/"):
        path = text.removeprefix("unix:")
        if path:
            return Address("", 0, path)
    for pattern in (r"(?P<port>\d+)(@(?P<host>.+))?", r"\[?(?P<host>[^\]]+)\]?:(?P<port>\d+)"):
        parts = re.fullmatch(pattern, text)
        if parts and 0 < int(parts["port"]) < 65536:
            return Address(parts["host"] or "localhost", int(parts["port"]))
    raise UsageError(
        "bad_address",
        f"{text!r} is no address",
        "use 4803@host, host:4803, 4803, /path/to.sock or unix:/path",
    )


@dataclass(frozen=True, slots=True)
class Options:
    addresses: tuple[Address, ...]
    hello: Hello
    choose: str
    tls: ssl.SSLContext | None
    sink: Sink | None
    timeout: float
    failover: bool

    def new_session(self) -> ClientSession:
        return ClientSession(self.hello, self.sink, clock)


def check_options(
    addresses: str | Sequence[str],
    name: str | None,
    membership: bool,
    priority: int,
    token: str,
    choose: str,
    tls: ssl.SSLContext | None,
    records: str | Path | Sink | None,
    timeout: float,
    failover: bool,
) -> Options:
    """Raises UsageError for what cannot be."""
    listed = [addresses] if isinstance(addresses, str) else list(addresses)
    parsed = tuple(parse_address(text) for text in listed)
    if not parsed:
        raise UsageError("bad_address", "there is no address", "name at least one daemon")
    if tls is not None and any(address.path for address in parsed):
        raise UsageError("bad_choice", "TLS on a Unix socket", "use TCP addresses with tls=")
    if choose not in (ORDER, NEAREST):
        raise UsageError("bad_choice", f"choose={choose!r}", "use 'order' or 'nearest'")
    if priority not in range(256):
        raise UsageError("bad_choice", f"priority={priority!r}", "use 0 to 255")
    if records is not None and not membership:
        raise UsageError(
            "bad_choice", "records of a session without views", "leave membership at True"
        )
    name = f"c{secrets.token_hex(6)}" if name is None else name
    valid = name.isprintable() and 0 < len(name.encode()) <= SESSION_NAME_BYTES_MAX
    if not valid or PRIVATE_MARK in name:
        raise UsageError(
            "bad_name",
            f"{name!r} cannot be a session's name",
            f"use 1 to {SESSION_NAME_BYTES_MAX} printable bytes without {PRIVATE_MARK!r}",
        )
    hello = Hello(CLIENT_VERSION_OLDEST, CLIENT_VERSION, name, priority, membership, token)
    sink = open_sink(records, name) if isinstance(records, str | Path) else records
    return Options(parsed, hello, choose, tls, sink, timeout, failover)


def check_profile(guarantee: object, role: str) -> None:
    """Reserved for profiles in which receivers choose their guarantee."""
    if guarantee is not None or role != "both":
        raise UsageError(
            "not_in_profile",
            "a strong group has one guarantee, and its members send and receive",
            "leave guarantee=None and role='both'",
        )


def clock() -> int:
    """Microseconds; only differences mean anything."""
    return time.monotonic_ns() // 1000


def open_sink(directory: str | Path, name: str) -> Sink:
    """Segments in a directory. pyarrow is loaded only for those who want them."""
    from antiphon.records.writer import SegmentWriter

    unique = f"{re.sub(r'[^A-Za-z0-9_]', '_', name)}_{secrets.token_hex(4)}"
    return SegmentWriter(Path(directory), unique, "client", "run", clock)


def pauses() -> Iterator[float]:
    """Seconds between attempts to reach a daemon again: growing, and not all clients at once."""
    pause = RETRY_FIRST_S
    while True:
        yield pause * random.uniform(0.5, 1.0)
        pause = min(2 * pause, RETRY_MAX_S)
