"""Reads a spread.conf and writes our file, telling what has no counterpart.

Spread's segments become one site. A daemon's UDP port is Spread's plus 10, so that both systems
can run side by side until the last client has moved; clients keep their port.
"""

import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import NamedTuple

from antiphon.daemon.config.addresses import LOOPBACK, PORT_MAX, Address
from antiphon.daemon.config.declaration import CLIENT_PORT
from antiphon.daemon.config.findings import ConfigFindings, Finding
from antiphon.daemon.config.values import NAME
from antiphon.daemon.config.writing import toml_value

TOKEN = re.compile(r'[{}=!+]|"[^"]*"|[^\s{}=!+"]+')
PORTS_APART = 10
LEVELS = {
    **{"DEBUG": "debug", "INFO": "info", "WARNING": "warning"},
    **{"ERROR": "error", "CRITICAL": "error", "FATAL": "error"},
}
NO_COUNTERPART = {
    "daemonuser": "the service manager says who runs a daemon",
    "daemongroup": "the service manager says who runs a daemon",
    "debugflags": "see level in [log] and in [records]",
    "dangerousmonitor": "see admin in [clients]",
    "socketportreuse": "ports can always be used again at once",
    "runtimedir": "see socket in [[daemon]]",
    "eventtimestamp": "every line has a time",
    "eventprecisetimestamp": "every line has a time",
    "allowedauthmethods": "see [clients]",
    "requiredauthmethods": "see [clients]",
    "accesscontrolpolicy": "see [[access]]",
    "window": "see ring_packets_max in [tuning]",
    "personalwindow": "see member_packets_max in [tuning]",
}


class Unmatched(NamedTuple):
    """A line of which nothing is left."""

    line: int
    text: str
    why: str


class Word(NamedTuple):
    text: str
    line: int


@dataclass(slots=True)
class Daemon:
    name: str
    host: str
    port: int
    clients: list[str] = field(default_factory=list)
    """Interfaces; none: all of them."""


class Imported(NamedTuple):
    toml: str
    unmatched: tuple[Unmatched, ...]


def import_spread(text: str, source: str) -> Imported:
    """ConfigFindings if it is not a spread.conf."""
    return _Import(text, source).run()


class _Import:
    def __init__(self, text: str, source: str) -> None:
        self._source = source
        self._words = [
            Word(found[0], number)
            for number, line in enumerate(text.splitlines(), 1)
            for found in TOKEN.finditer(line.partition("#")[0])
        ]
        self._at = 0
        self._daemons: list[Daemon] = []
        self._multicasts: list[tuple[Address, int]] = []
        self._options: dict[str, dict[str, object]] = {}
        self._unmatched: list[Unmatched] = []

    def run(self) -> Imported:
        while self._at < len(self._words):
            word = self._next("a segment or an option")
            if word.text.lower() == "spread_segment":
                self._segment(word.line)
            elif re.match("[A-Za-z]", word.text):
                self._option(word)
            else:
                raise self._fault(word.line, f"{word.text!r} is out of place")
        if not self._daemons:
            raise self._fault(1, "no Spread_Segment names a daemon")
        return Imported(self._toml(), tuple(sorted(self._unmatched)))

    # Reading.

    def _segment(self, line: int) -> None:
        word = self._next("the segment's address")
        host, _, digits = word.text.rpartition(":") if ":" in word.text else (word.text, "", "")
        if digits and not (digits.isdecimal() and 0 < int(digits[:6]) <= PORT_MAX):
            raise self._fault(word.line, f"{digits!r} is not a port")
        port = int(digits) if digits else CLIENT_PORT
        other = port + PORTS_APART + 1
        if _is_ip(host) and ip_address(host).is_multicast:
            self._multicasts.append((Address(host, _above(other)), line))
        elif host and not host.startswith("127."):
            self._miss(line, f"Spread_Segment {word.text}", "daemons send to each, not to all")
        self._expect("{")
        while not self._take("}"):
            self._daemon(port)

    def _daemon(self, port: int) -> None:
        word = self._next("a daemon or }")
        if word.text in "{=!+":
            raise self._fault(word.line, f"{word.text!r} is not a daemon")
        host = word.text
        if not _is_ip(host) and self._sees_ip():
            host = self._next("an address").text
        name = re.sub(r"[^A-Za-z0-9._-]", "-", word.text).strip("-")[:64]
        if not NAME.fullmatch(name):
            raise self._fault(word.line, f"{word.text!r} cannot be a name")
        daemon = Daemon(name, host, port)
        if self._take("{"):
            self._interfaces(daemon)
        self._daemons.append(daemon)

    def _interfaces(self, daemon: Daemon) -> None:
        uses = ""
        while not self._take("}"):
            word = self._next("an interface or }")
            if re.fullmatch("[DCMdcm]+", word.text):
                uses += word.text.upper()
                continue
            if not _is_ip(word.text):
                raise self._fault(word.line, f"{word.text!r} is not an interface")
            if "D" in uses:
                daemon.host = word.text
            if "C" in uses:
                daemon.clients.append(word.text)
            if "M" in uses:
                self._miss(word.line, f"M {word.text}", "monitors connect as clients do")
            uses = ""

    def _option(self, word: Word) -> None:
        """Its value is the rest of the line, or what stands in braces."""
        values: list[str] = []
        self._take("=")
        self._take("+")
        if self._take("{"):
            while not self._take("}"):
                values.append(self._next("a flag or }").text)
        else:
            while self._at < len(self._words) and self._words[self._at].line == word.line:
                values.append(self._next("a value").text)
        value = " ".join(values).strip('"')
        name = word.text.lower()
        if name == "eventlogfile" and value:
            self._set("log", "file", value)
        elif name == "eventpriority" and value.upper() in LEVELS:
            self._set("log", "level", LEVELS[value.upper()])
        elif name == "maxsessionmessages" and value.isdecimal() and 0 < int(value[:7]) <= 10**6:
            self._set("limits", "backlog", int(value))
        else:
            usual = "see [timeouts]" if name.endswith("timeout") else "there is nothing like it"
            self._miss(word.line, word.text, NO_COUNTERPART.get(name, usual))

    def _set(self, table: str, key: str, value: object) -> None:
        self._options.setdefault(table, {})[key] = value

    def _miss(self, line: int, text: str, why: str) -> None:
        self._unmatched.append(Unmatched(line, text, why))

    def _sees_ip(self) -> bool:
        return self._at < len(self._words) and _is_ip(self._words[self._at].text)

    def _next(self, wanted: str) -> Word:
        if self._at >= len(self._words):
            last = self._words[-1].line if self._words else 1
            raise self._fault(last, f"the file ends where {wanted} should be")
        self._at += 1
        return self._words[self._at - 1]

    def _take(self, text: str) -> bool:
        if self._at < len(self._words) and self._words[self._at].text == text:
            self._at += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        word = self._next(text)
        if word.text != text:
            raise self._fault(word.line, f"{word.text!r} stands where {text} should be")

    def _fault(self, line: int, what: str) -> ConfigFindings:
        return ConfigFindings([Finding(self._source, line, "", what, "correct the spread.conf")])

    # Writing.

    def _toml(self) -> str:
        local = all(Address(one.host, one.port).is_loopback for one in self._daemons)
        tables = [("[cluster]", self._cluster(local))]
        tables += [("[[daemon]]", self._entry(daemon)) for daemon in self._daemons]
        if len(self._multicasts) == 1:
            tables.append(("[network]", {"multicast": str(self._multicasts[0][0])}))
        else:
            for address, line in self._multicasts:
                self._miss(line, f"Spread_Segment {address.host}", "a site has one multicast group")
        tables += [(f"[{name}]", table) for name, table in self._options.items()]
        parts = [
            "\n".join([head, *(f"{key} = {toml_value(value)}" for key, value in table.items())])
            for head, table in tables
        ]
        start = "" if local else "# To make the key file: antiphon keys new cluster.key\n"
        return start + "\n\n".join(parts) + "\n"

    def _cluster(self, local: bool) -> dict[str, object]:
        # Spread tells its clusters apart by their ports.
        name = {"name": f"spread-{self._daemons[0].port}"}
        return {**name} if local else {**name, "key_file": "cluster.key"}

    def _entry(self, daemon: Daemon) -> dict[str, object]:
        everywhere = LOOPBACK if Address(daemon.host, daemon.port).is_loopback else "0.0.0.0"
        hosts = daemon.clients or [everywhere]
        return {
            "name": daemon.name,
            "address": str(Address(daemon.host, _above(daemon.port + PORTS_APART))),
            "clients": [str(Address(host, daemon.port)) for host in hosts],
        }


def _above(port: int) -> int:
    """Ports end; there is room below then."""
    return port if port <= PORT_MAX else port - 2 * (PORTS_APART + 1)


def _is_ip(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
