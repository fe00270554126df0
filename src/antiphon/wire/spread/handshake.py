"""How a Spread session begins.

    client                               daemon
    hello: version, flags, name   -->
                                  <--    methods that it allows     (clients from 3.16 on)
    choice: up to three methods   -->                               (the same)
    what a method wants           -->
                                  <--    accept: version, private group; or a code

Method TOKEN is ours: one byte n, then n bytes of a secret in UTF-8. NULL and IP want nothing.

Each reader is given all bytes that have come and not been used. It returns None while they are
too few, else what they say and how many it used. A daemon's readers return a Code where the
client must be told one.
"""

from typing import NamedTuple

from antiphon.core.errors import DecodeError
from antiphon.wire.spread.words import (
    NAME_BYTES_MAX,
    REJECTIONS,
    SESSION_NAME_BYTES_MAX,
    Code,
    is_session_name,
)


class Version(NamedTuple):
    major: int
    minor: int
    patch: int = 0


OURS = Version(5, 0, 1)
"""What we say we are, on either side."""

OLDEST = Version(3, 1)
HAS_PATCH = Version(3, 15)
HAS_METHODS = Version(3, 16)
HAS_PRIORITY = Version(3, 8)

NULL, IP, TOKEN = "NULL", "IP", "TOKEN"

METHOD_BYTES = 30
METHODS_CHOSEN_MAX = 3
CHOICE_BYTES = METHOD_BYTES * METHODS_CHOSEN_MAX
METHODS_BYTES_MAX = 90
TOKEN_BYTES_MAX = 255
GREETING_BYTES_MAX = 5 + SESSION_NAME_BYTES_MAX + CHOICE_BYTES + 1 + TOKEN_BYTES_MAX
"""All that a client can have to say before it is let in."""

MEMBERSHIP_FLAG = 1
PRIORITY_SHIFT = 4


class Hello(NamedTuple):
    version: Version
    name: str
    """Empty: the daemon invents one."""

    membership: bool
    priority: int = 0

    @property
    def asks_methods(self) -> bool:
        """Whether it is told the methods and chooses among them."""
        return self.version >= HAS_METHODS


class Accept(NamedTuple):
    version: Version
    private_group: str


# The daemon's side.


def read_hello(data: bytes) -> tuple[Hello | Code, int] | None:
    if len(data) < 2:
        return None
    version = Version(data[0], data[1])
    if version < OLDEST or version.major > 127:
        return Code.REJECT_VERSION, 2
    at = 2
    if version >= HAS_PATCH:
        if len(data) < 3:
            return None
        version = Version(data[0], data[1], data[2])
        at = 3
    if len(data) < at + 2:
        return None
    flags, size = data[at], data[at + 1]
    at += 2
    if size > SESSION_NAME_BYTES_MAX:
        return Code.REJECT_ILLEGAL_NAME, at
    if len(data) < at + size:
        return None
    name = data[at : at + size].decode("latin-1")
    at += size
    if not is_session_name(name):
        return Code.REJECT_ILLEGAL_NAME, at
    return Hello(version, name, bool(flags & MEMBERSHIP_FLAG), flags >> PRIORITY_SHIFT), at


def pack_methods(methods: tuple[str, ...]) -> bytes:
    listed = "".join(f"{method} " for method in methods).encode()
    assert len(listed) <= METHODS_BYTES_MAX, "clients read no longer list"
    return bytes([len(listed)]) + listed


def read_choice(data: bytes) -> tuple[tuple[str, ...] | Code, int] | None:
    """The methods that a client chose, in its order; whether they are allowed is not known."""
    if len(data) < CHOICE_BYTES:
        return None
    slots = [data[at : at + METHOD_BYTES] for at in range(0, CHOICE_BYTES, METHOD_BYTES)]
    names = [slot.partition(b"\0")[0].decode("latin-1") for slot in slots]
    if not names[0]:
        return Code.REJECT_AUTH, CHOICE_BYTES
    return tuple([name for name in names if name]), CHOICE_BYTES


def read_token(data: bytes) -> tuple[str | Code, int] | None:
    if not data or len(data) < 1 + data[0]:
        return None
    used = 1 + data[0]
    try:
        return data[1:used].decode(), used
    except UnicodeDecodeError:
        return Code.REJECT_AUTH, used


def pack_accept(client: Version, private_group: str, version: Version = OURS) -> bytes:
    name = private_group.encode("ascii")
    assert len(name) <= NAME_BYTES_MAX, "clients read no longer name"
    told = version if client >= HAS_PATCH else version[:2]
    return bytes([Code.ACCEPT_SESSION, *told, len(name)]) + name


def pack_rejection(code: Code) -> bytes:
    assert code in REJECTIONS, f"{code.name} is not told to clients"
    return bytes([code & 0xFF])


# The client's side.


def pack_hello(hello: Hello) -> bytes:
    name = hello.name.encode("ascii")
    assert len(name) <= SESSION_NAME_BYTES_MAX, "checked before"
    version = hello.version if hello.version >= HAS_PATCH else hello.version[:2]
    flags = hello.priority << PRIORITY_SHIFT | hello.membership
    return bytes([*version, flags, len(name)]) + name


def read_methods(data: bytes) -> tuple[tuple[str, ...] | Code, int] | None:
    if not data:
        return None
    size = data[0]
    if size & 0x80:
        return read_rejection(size), 1
    if size > METHODS_BYTES_MAX:
        raise DecodeError("bad_field", f"{size} bytes of methods")
    if len(data) < 1 + size:
        return None
    return tuple(data[1 : 1 + size].decode("latin-1").split()), 1 + size


def pack_choice(methods: tuple[str, ...]) -> bytes:
    assert 0 < len(methods) <= METHODS_CHOSEN_MAX
    return b"".join(method.encode("ascii").ljust(METHOD_BYTES, b"\0") for method in methods).ljust(
        CHOICE_BYTES, b"\0"
    )


def pack_token(token: str) -> bytes:
    secret = token.encode()
    assert len(secret) <= TOKEN_BYTES_MAX, "checked before"
    return bytes([len(secret)]) + secret


def read_accept(data: bytes, client: Version) -> tuple[Accept | Code, int] | None:
    if not data:
        return None
    if data[0] & 0x80:
        return read_rejection(data[0]), 1
    if data[0] != Code.ACCEPT_SESSION:
        raise DecodeError("bad_field", f"an answer of {data[0]}")
    numbers = 3 if client >= HAS_PATCH else 2
    at = 2 + numbers
    if len(data) < at:
        return None
    size = data[at - 1]
    if size > NAME_BYTES_MAX or any(number & 0x80 for number in data[1:at]):
        raise DecodeError("bad_field", "a version or name that cannot be")
    if len(data) < at + size:
        return None
    version = Version(*data[1 : 1 + numbers])
    name = data[at : at + size].decode("latin-1")
    if version < OLDEST or name[:1] != "#" or name.count("#") != 2 or not name.isprintable():
        raise DecodeError("bad_field", f"version {version}, private group {name!r}")
    return Accept(version, name), at + size


def read_rejection(byte: int) -> Code:
    try:
        return Code(byte - 0x100)
    except ValueError:
        raise DecodeError("bad_field", f"code {byte - 0x100}") from None
