"""The words of Spread's client protocol: bits, codes, sizes, names, hints.

A hint carries the application's message type (our `kind`) and the byte order of who wrote it.
Nobody on the way converts it, so here it is always the number that its four bytes are when read
little-endian: whoever packs it so passes it on unchanged.
"""

from enum import IntEnum

from antiphon.core.errors import DecodeError
from antiphon.core.service import Service

# Bits of a message's type.

REGULAR = 0x3F
"""One bit for each service, weakest first, as in core.service."""

SELF_DISCARD = 0x40
MARKER = 0x80000080
"""Set by little-endian writers, clear from big-endian ones; reads the same from both sides."""

CAUSED_BY_JOIN = 0x100
CAUSED_BY_LEAVE = 0x200
CAUSED_BY_DISCONNECT = 0x400
CAUSED_BY_NETWORK = 0x800
CAUSES = 0xF00
VIEW = 0x1000
TRANSITION = 0x2000
MEMBERSHIP = 0x3F00
JOIN = 0x10000
LEAVE = 0x20000
KILL = 0x40000
REQUESTS = JOIN | LEAVE | KILL
REJECT = 0x400000

# Sizes.

NAME_BYTES = 32
"""Of a name field, with its NUL."""

NAME_BYTES_MAX = NAME_BYTES - 1
SESSION_NAME_BYTES_MAX = 10
DAEMON_NAME_BYTES_MAX = 19
GROUPS_MAX = 100
DATA_BYTES_MAX = 144_000
REST_BYTES_MAX = 143_952
"""Groups and data of what a client sends; above it the session ends."""

SAFE_REST_BYTES_MAX = 143_152
"""The same for a daemon of Spread 5.0.1, which stops at anything between this and the other."""

DELIVERY_BYTES_MAX = 16 * 1024 * 1024
"""Groups and data of what a daemon sends: a view lists every member twice."""

NAMES_REMEMBERED = 16_384


class Code(IntEnum):
    """One signed byte on the wire while connecting; the same values are results of Spread's own
    library."""

    ACCEPT_SESSION = 1
    ILLEGAL_SPREAD = -1
    COULD_NOT_CONNECT = -2
    REJECT_QUOTA = -3
    REJECT_NO_NAME = -4
    REJECT_ILLEGAL_NAME = -5
    REJECT_NOT_UNIQUE = -6
    REJECT_VERSION = -7
    CONNECTION_CLOSED = -8
    REJECT_AUTH = -9
    ILLEGAL_SESSION = -11
    ILLEGAL_SERVICE = -12
    ILLEGAL_MESSAGE = -13
    ILLEGAL_GROUP = -14
    BUFFER_TOO_SHORT = -15
    GROUPS_TOO_SHORT = -16
    MESSAGE_TOO_LONG = -17
    NET_ERROR_ON_SESSION = -18
    SP_BUG = -19
    ILLEGAL_TIME = -20


REJECTIONS = tuple(code for code in Code if code.name.startswith("REJECT"))


def service_bit(service: Service) -> int:
    return 1 << service


SERVICES = {service_bit(service): service for service in Service}


# Names.


def is_group_name(name: str) -> bool:
    """Whether Spread's clients can join it."""
    return 0 < len(name) <= NAME_BYTES_MAX and is_plain(name)


def is_session_name(name: str) -> bool:
    """Whether a client can ask for it; an empty one asks the daemon to invent one."""
    return len(name) <= SESSION_NAME_BYTES_MAX and is_plain(name)


def is_daemon_name(name: str) -> bool:
    return 0 < len(name) <= DAEMON_NAME_BYTES_MAX and is_plain(name)


def is_plain(name: str) -> bool:
    return all("\x24" <= character <= "\x7e" for character in name)


def fits_field(name: str) -> bool:
    """Whether a name can be told to Spread's clients at all."""
    raw = name.encode("utf-8", "surrogateescape")
    return len(raw) <= NAME_BYTES_MAX and b"\0" not in raw


_fields: dict[str, bytes] = {}
_names: dict[bytes, str] = {}


def pack_name(name: str) -> bytes:
    """A name field. The name must fit."""
    field = _fields.get(name)
    if field is None:
        assert fits_field(name), f"{name!r} fits no name field"
        field = name.encode("utf-8", "surrogateescape").ljust(NAME_BYTES, b"\0")
        if len(_fields) >= NAMES_REMEMBERED:
            _fields.clear()
        _fields[name] = field
    return field


def read_name(field: bytes) -> str:
    """What stands before the first NUL. Bytes that are no UTF-8 are kept as surrogates, so that
    a name is told back as it came."""
    name = _names.get(field)
    if name is None:
        raw, end, _ = field.partition(b"\0")
        if not end or len(field) != NAME_BYTES:
            raise DecodeError("bad_field", "a name without an end")
        name = raw.decode("utf-8", "surrogateescape")
        if len(_names) >= NAMES_REMEMBERED:
            _names.clear()
        _names[field] = name
    return name


def read_names(fields: bytes) -> tuple[str, ...]:
    return tuple(
        [read_name(fields[at : at + NAME_BYTES]) for at in range(0, len(fields), NAME_BYTES)]
    )


# Hints.

HINT_FOREIGN = ~0x80FFFF80 & 0xFFFFFFFF
"""Bits that no hint has, in either byte order."""


def swap(word: int) -> int:
    """The number that the same four bytes are in the other order."""
    return int.from_bytes(word.to_bytes(4, "little"), "big")


def pack_hint(kind: int, little: bool = True) -> int:
    shifted = (kind & 0xFFFF) << 8
    return shifted | MARKER if little else swap(shifted)


def read_kind(hint: int) -> int:
    """The application's number in a hint, -32768 to 32767."""
    if not hint & 0x80:
        hint = swap(hint)
    return ((hint >> 8 & 0xFFFF) ^ 0x8000) - 0x8000


def is_little(hint: int) -> bool:
    """Whether a little-endian machine wrote the message; its payload is in the same order."""
    return bool(hint & 0x80)
