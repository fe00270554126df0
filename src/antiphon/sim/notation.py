"""How scripts spell words, times, places, links and settings, read and written."""

import re
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Any, NamedTuple, TypeVar

from antiphon.core.errors import ConfigError
from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.sim.places import ROLES, Place, rank

UNITS = {"us": 1, "ms": MILLISECOND, "s": SECOND}
BITS = {"bit": 1, "kbit": 1_000, "mbit": 1_000_000, "gbit": 1_000_000_000}
TIME = re.compile(r"([+-]?)(\d+(?:\.\d+)?)(us|ms|s)")
ROLE = re.compile(r"(site|lead)([1-9]\d*)")
BANDWIDTH = re.compile(r"(\d+)(bit|kbit|mbit|gbit)")
MICROSECONDS = "_us"
BITS_IN_A_SECOND = "_bits"
ANY = "*"

Settings = TypeVar("Settings")
Part = TypeVar("Part", bound=Place)


class Link(NamedTuple):
    """From one place to another, or both ways; daemon 0 is any."""

    source: Place
    target: Place
    both: bool

    def __str__(self) -> str:
        sign = "-" if self.both else ">"
        return f"{self.source or ANY} {sign} {self.target or ANY}"


class Tokens:
    """The words of one line, taken from the left. `#` as a word starts a comment, for a
    private group begins with the same sign."""

    def __init__(self, number: int, line: str) -> None:
        words = [] if line.lstrip().startswith("#") else line.split()
        self._words = words[: words.index("#")] if "#" in words else words
        self._at = 0
        self._number = number

    @property
    def empty(self) -> bool:
        return self._at >= len(self._words)

    def fault(self, what: str, remedy: str) -> ConfigError:
        return ConfigError(f"line {self._number}", what, remedy)

    def peek(self) -> str:
        return "" if self.empty else self._words[self._at]

    def next(self, what: str) -> str:
        if self.empty:
            raise self.fault(f"{what} is missing at the end", "see docs of the script format")
        self._at += 1
        return self._words[self._at - 1]

    def skip(self, word: str) -> bool:
        found = self.peek() == word
        self._at += found
        return found

    def expect_end(self) -> None:
        if not self.empty:
            raise self.fault(f"{self.peek()!r} is too much", "remove it")

    def choice(self, what: str, known: tuple[str, ...]) -> str:
        word = self.next(what)
        if word not in known:
            raise self.fault(f"{word!r} is not {what}", "use one of " + ", ".join(known))
        return word

    def integer(self, what: str, least: int) -> int:
        word = self.next(what)
        if not word.isascii() or not word.isdigit() or int(word) < least:
            raise self.fault(f"{word!r} is no {what}", f"write a whole number from {least} on")
        return int(word)

    def host(self) -> int:
        return self.integer("daemon", least=1)

    def place(self, any_allowed: bool = True) -> Place:
        """0 for any."""
        match = ROLE.fullmatch(self.peek())
        if match is not None:
            self._at += 1
            return ROLES[match[1]](int(match[2]))
        return 0 if any_allowed and self.skip(ANY) else self.host()

    def session(self) -> tuple[int, int]:
        word = self.next("a session")
        match = re.fullmatch(r"([1-9]\d*)\.([1-9]\d*)", word)
        if match is None:
            raise self.fault(f"{word!r} is no session", "write DAEMON.SLOT, as in 1.2")
        return int(match[1]), int(match[2])

    def link(self) -> Link:
        source = self.place()
        sign = self.choice("the sign of a link", (">", "-"))
        return Link(source, self.place(), sign == "-")

    def sides(self) -> tuple[tuple[Place, ...], ...]:
        """The rest of the line: `1 2 | 3 4`."""
        return self._parts(lambda: self.place(any_allowed=False))

    def sites(self) -> tuple[tuple[int, ...], ...]:
        """The rest of the line, daemons only."""
        return self._parts(self.host)

    def _parts(self, read: Callable[[], Part]) -> tuple[tuple[Part, ...], ...]:
        parts: list[list[Part]] = [[]]
        while not self.empty:
            if self.skip("|"):
                parts.append([])
            else:
                parts[-1].append(read())
        named = [place for part in parts for place in part]
        if not all(parts) or len(set(named)) < len(named):
            raise self.fault("a side is empty or a daemon on two sides", "write '1 2 | 3'")
        return tuple(tuple(sorted(part, key=rank)) for part in parts)

    def chance(self) -> float:
        word = self.next("a probability")
        return read_chance(self, word)

    def times(self) -> int:
        word = self.next("how many times")
        if re.fullmatch(r"x[1-9]\d*", word) is None:
            raise self.fault(f"{word!r} is no count", "write it as x3")
        return int(word[1:])


def read_chance(tokens: Tokens, word: str) -> float:
    if re.fullmatch(r"\d+(\.\d+)?(e-\d+)?", word) is None or float(word) > 1:
        raise tokens.fault(f"{word!r} is no probability", "write a number from 0 to 1")
    return float(word)


def read_time(tokens: Tokens, word: str, signed: bool = False) -> int:
    """Microseconds."""
    match = TIME.fullmatch(word)
    if match is None or (match[1] and not signed):
        raise tokens.fault(f"{word!r} is no time", "write it as 300us, 20ms or 1.5s")
    whole, _, part = match[2].partition(".")
    unit = UNITS[match[3]]
    if int(part.ljust(6, "0")[:6] or 0) * unit % SECOND or len(part) > 6:
        raise tokens.fault(f"{word!r} is finer than a microsecond", "round it")
    value = int(whole) * unit + int(part.ljust(6, "0")) * unit // SECOND
    return -value if match[1] == "-" else value


def write_parts(parts: Iterable[Iterable[Place]]) -> str:
    return " | ".join(" ".join(map(str, part)) for part in parts)


def write_time(value: int, signed: bool = False) -> str:
    sign = "-" if value < 0 else "+" if signed else ""
    size = abs(value)
    for name, unit in (("s", SECOND), ("ms", MILLISECOND)):
        if size % unit == 0:
            return f"{sign}{size // unit}{name}"
    return f"{sign}{size}us"


def read_amounts(tokens: Tokens, over: Settings) -> Settings:
    """The rest of the line: `latency=200us loss=0.01`, over these settings."""
    usual: Any = over
    known = {_spelling(each.name): each for each in fields(usual)}
    values: dict[str, Any] = {}
    while not tokens.empty:
        name, sign, amount = tokens.next("a setting").partition("=")
        if name not in known or not sign:
            raise tokens.fault(f"{name!r} is no setting here", "use " + ", ".join(known))
        values[known[name].name] = _read_amount(tokens, known[name].name, known[name].type, amount)
    changed: Settings = replace(usual, **values)
    return changed


def write_amounts(settings: Settings, over: Settings) -> str:
    """What differs from these settings."""
    changed: Any = settings
    parts = []
    for each in fields(changed):
        value = getattr(settings, each.name)
        if value != getattr(over, each.name):
            parts.append(f"{_spelling(each.name)}={_write_amount(each.name, value)}")
    return " ".join(parts)


def _spelling(name: str) -> str:
    return name.removesuffix(MICROSECONDS).removesuffix(BITS_IN_A_SECOND).replace("_", "-")


def _read_amount(tokens: Tokens, name: str, kind: Any, amount: str) -> Any:
    if name.endswith(MICROSECONDS):
        return read_time(tokens, amount)
    if name.endswith(BITS_IN_A_SECOND):
        match = BANDWIDTH.fullmatch(amount)
        if match is None:
            raise tokens.fault(f"{amount!r} is no bandwidth", "write it as 100mbit")
        return int(match[1]) * BITS[match[2]]
    if name == "rate":
        return _read_rate(tokens, amount)
    if kind is float:
        return read_chance(tokens, amount)
    if not amount.isdigit() or int(amount) < 1:
        raise tokens.fault(f"{amount!r} is no count", "write a whole number")
    return int(amount)


def _read_rate(tokens: Tokens, amount: str) -> float:
    if re.fullmatch(r"\d+(\.\d+)?", amount) is None or not float(amount):
        raise tokens.fault(f"{amount!r} is no rate", "write a number above 0")
    return float(amount)


def _write_amount(name: str, value: Any) -> str:
    if name.endswith(MICROSECONDS):
        return write_time(value)
    if name.endswith(BITS_IN_A_SECOND):
        unit = next(unit for unit in reversed(BITS) if value % BITS[unit] == 0)
        return f"{value // BITS[unit]}{unit}"
    if isinstance(value, int):
        return str(value)
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)
