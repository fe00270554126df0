"""Kinds of values a key may have: how each is read from the file, and written to it again."""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from antiphon.core.weights import WEIGHT_MAX
from antiphon.daemon.config.addresses import (
    read_address,
    read_listening,
    read_multicast,
    read_network,
)
from antiphon.daemon.config.amounts import (
    AUTO,
    read_rate,
    read_size,
    read_time,
    read_timeout,
    write_rate,
    write_size,
    write_time,
)
from antiphon.daemon.config.findings import Fault

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
SOMEBODY = re.compile(r"(uid|token|tls):\S+")
ID_MAX = 2**63 - 1
"""The largest number TOML has; ids need only be apart."""


def _same(value: Any) -> Any:
    return value


class Kind(NamedTuple):
    read: Callable[[object], Any]
    """Raises Fault for what cannot be used."""

    write: Callable[[Any], Any] = _same


def read_text(value: object) -> str:
    if not isinstance(value, str):
        raise Fault(f"{value!r} is not a text", "write it in quotes")
    if not value.isprintable():
        raise Fault("the text holds a control character", "remove it")
    return value


def read_switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise Fault(f"{value!r} is neither true nor false", "write true or false")
    return value


def read_place(value: object) -> str:
    """A path that is the same wherever the file is, or a word in its stead."""
    text = read_text(value)
    if text not in ("", "auto") and not text.startswith("/"):
        raise Fault(f"{text!r} is not a path", 'write "auto", "" or a path that begins with /')
    return text


def read_name(value: object) -> str:
    text = read_text(value)
    if not NAME.fullmatch(text):
        raise Fault(
            f"{text!r} cannot be a name",
            "use 1 to 64 letters, digits, dots, dashes and underscores, a letter or digit first",
        )
    return text


def read_id(value: object) -> int:
    return _whole(value, 1, ID_MAX)


def read_packet_bytes(value: object) -> int:
    """0 stands for "auto"; which numbers are possible the stream knows."""
    if value == AUTO:
        return 0
    try:
        return _whole(value, 1, 65_507)
    except Fault as fault:
        raise Fault(fault.what, 'write "auto", or bytes such as 1400') from None


def read_weight(value: object) -> int | None:
    """None stands for "auto"."""
    return None if value == AUTO else _whole(value, 1, WEIGHT_MAX)


def read_pair(value: object) -> tuple[str, str]:
    """Two sites, in the order that gives directions a meaning."""
    names = NAMES.read(value)
    if len(names) != 2 or names[0] == names[1]:
        raise Fault(f"{value!r} is not two sites", 'write two of them, such as ["east", "west"]')
    return names[0], names[1]


def read_mode(value: object) -> int:
    text = value if isinstance(value, str) else ""
    if not re.fullmatch("0?[0-7]{3}", text):
        raise Fault(f"{value!r} is not a file mode", 'write it as text, such as "0660"')
    return int(text, 8)


def read_somebody(value: object) -> str:
    """What a client has proved to be. All clients of the Unix socket have a user id."""
    text = read_text(value)
    if text == "unix":
        return "uid:*"
    if text != "*" and not SOMEBODY.fullmatch(text):
        raise Fault(
            f"{text!r} is nobody a client can be",
            'write "*", "unix", "uid:1000", "token:NAME" or "tls:NAME"',
        )
    return text


def read_pattern(value: object) -> str:
    text = read_text(value)
    if not text:
        raise Fault("the pattern is empty", 'write a group or a pattern such as "orders.*"')
    return text


def count(low: int, high: int) -> Kind:
    return Kind(lambda value: _whole(value, low, high))


def choice(*words: str) -> Kind:
    def read(value: object) -> str:
        if not isinstance(value, str) or value not in words:
            raise Fault(f"{value!r} is not a choice here", f"write one of {', '.join(words)}")
        return value

    return Kind(read)


def several(kind: Kind) -> Kind:
    """A list; all that is wrong with its items is one fault."""

    def read(value: object) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise Fault(f"{value!r} is not a list", "write it in [ ]")
        return tuple(kind.read(item) for item in value)

    def write(values: Sequence[Any]) -> list[Any]:
        return [kind.write(value) for value in values]

    return Kind(read, write)


def _whole(value: object, low: int, high: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise Fault(f"{value!r} is not a whole number", f"use {low} to {high}")
    if not low <= value <= high:
        side = "below" if value < low else "above"
        raise Fault(f"{value} is {side} {low if value < low else high}", f"use {low} to {high}")
    return value


TEXT = Kind(read_text)
NAMED = Kind(read_name)
IDENTITY = Kind(read_id)
SWITCH = Kind(read_switch)
PLACE = Kind(read_place)
PATTERN = Kind(read_pattern)
SIZE = Kind(read_size, write_size)
TIME = Kind(read_time, write_time)
RATE = Kind(read_rate, write_rate)
WEIGHT = Kind(read_weight, lambda weight: AUTO if weight is None else weight)
TIMEOUT = Kind(read_timeout, write_time)
ADDRESS = Kind(read_address, str)
LISTENING = several(Kind(read_listening, str))
NETWORKS = several(Kind(read_network))
MULTICAST = Kind(read_multicast, lambda address: str(address or ""))
PACKET_BYTES = Kind(read_packet_bytes, lambda size: size or AUTO)
MODE = Kind(read_mode, lambda mode: f"{mode:04o}")
NAMES = several(NAMED)
PAIR = Kind(read_pair, list)
PAIRS = several(PAIR)
SOMEBODIES = several(Kind(read_somebody))
