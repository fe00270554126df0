"""What a session of Spread's protocol was asked for, checked."""

import re
from typing import NamedTuple

from antiphon.client.options import Address, parse_address
from antiphon.core.errors import UsageError
from antiphon.wire.spread.handshake import OURS, TOKEN_BYTES_MAX, Hello
from antiphon.wire.spread.words import SESSION_NAME_BYTES_MAX, is_session_name

UNIX_DIRECTORY = "/tmp"
"""Where Spread's daemons put their sockets; fixed when Spread is built."""


class Options(NamedTuple):
    address: Address
    hello: Hello
    token: str
    timeout: float


def find_daemon(text: str) -> Address:
    """As Spread's library does: a bare port is a Unix socket on this machine."""
    if re.fullmatch(r"\d+", text):
        return Address("", 0, f"{UNIX_DIRECTORY}/{text}")
    return parse_address(text)


def check_options(
    address: str, name: str | None, membership: bool, priority: int, token: str, timeout: float
) -> Options:
    """Raises UsageError for what cannot be."""
    name = name or ""
    if not is_session_name(name):
        raise UsageError(
            "bad_name",
            f"{name!r} cannot be a session's name",
            f"use up to {SESSION_NAME_BYTES_MAX} ASCII characters from '$' to '~', or None",
        )
    if priority not in (0, 1):
        raise UsageError("bad_choice", f"priority={priority!r}", "use 0 or 1")
    if len(token.encode()) > TOKEN_BYTES_MAX:
        raise UsageError(
            "bad_token", "the token is too long", f"use at most {TOKEN_BYTES_MAX} bytes"
        )
    hello = Hello(OURS, name, membership, priority)
    return Options(find_daemon(address), hello, token, timeout)
