"""From a TOML file to a topology, with everything that is wrong in it, by line and key."""

import re
from dataclasses import asdict, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from antiphon.core.errors import ConfigError
from antiphon.daemon.config.findings import ConfigFindings, Finding
from antiphon.daemon.config.findings import Path as KeyPath
from antiphon.daemon.config.reading import Notes, read_toml
from antiphon.tools.wan.paths import unconnected
from antiphon.tools.wan.topology import (
    DOWN,
    HOSTS_MAX,
    SITES_MAX,
    TCP,
    UP,
    Link,
    LinkSettings,
    Site,
    Topology,
)

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
NAME_REMEDY = "use 1 to 32 of a-z, 0-9 and -"
LIMITS = {
    "delay_ms": (0.0, 10_000.0),
    "jitter_ms": (0.0, 10_000.0),
    "loss": (0.0, 1.0),
    "reorder": (0.0, 1.0),
    "reorder_ms": (0.0, 10_000.0),
    "mbit": (0.0, 100_000.0),
    "queue_kb": (1.0, 1_000_000.0),
}
CONGESTION_CONTROLS = ("cubic", "reno", "bbr")
SETTINGS = [field.name for field in fields(LinkSettings)]
Table = dict[str, Any]


def load(path: Path) -> Topology:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        remedy = "name a file that can be read, or a preset"
        raise ConfigError(str(path), f"cannot be read: {error}", remedy) from error
    return parse(text, str(path))


def parse(text: str, source: str) -> Topology:
    """The topology, or ConfigFindings."""
    raw = read_toml(source, text)
    if isinstance(raw, Finding):
        raise ConfigFindings([raw])
    notes = Notes(source, text)
    topology = _Reader(notes, raw).topology()
    if not notes.broken:
        for start, end in unconnected(topology)[:1]:
            notes.add(("link",), f"no way leads from {start} to {end}", "add a link between them")
    if notes.broken:
        raise ConfigFindings(notes.sorted())
    return topology


def changed(settings: LinkSettings, changes: Table) -> LinkSettings:
    """The same link with some properties changed, as a test or a bench does while it runs."""
    for key, value in changes.items():
        fault = _fault(key, value)
        if fault:
            raise ConfigError(key, *fault)
    return replace(settings, **changes)


class _Reader:
    """Faults do not stop it, so that all are found."""

    def __init__(self, notes: Notes, raw: Table) -> None:
        self._notes = notes
        self._raw = raw
        self._hosts: set[str] = set()
        self._links: dict[tuple[str, str], Link] = {}

    def topology(self) -> Topology:
        self._check_keys((), self._raw, ["name", "tcp", "routers", "site", "link"])
        name, tcp = self._raw.get("name", "wan"), self._raw.get("tcp", TCP)
        if not isinstance(name, str):
            self._notes.add(("name",), "is not a text", "write it in quotes")
        if tcp not in CONGESTION_CONTROLS:
            remedy = f"use one of {', '.join(CONGESTION_CONTROLS)}"
            self._notes.add(("tcp",), f"{tcp!r} is not known", remedy)
        tables = self._tables("site")
        sites = [self._site(place, table) for place, table in enumerate(tables)]
        if not 1 <= len(sites) <= SITES_MAX:
            self._notes.add(("site",), f"{len(sites)} sites", f"list 1 to {SITES_MAX}")
        routers = self._names(("routers",), self._raw.get("routers", []))
        places = [*(site.name for site in sites), *routers]
        for twice in sorted({place for place in places if places.count(place) > 1}):
            self._notes.add(("site",), f"two places are called {twice!r}", "rename one")
        for number, table in enumerate(self._tables("link")):
            self._link(("link", number), table, places)
        return Topology(str(name), tuple(sites), tuple(self._links.values()), str(tcp))

    def _tables(self, key: str) -> list[Table]:
        found = self._raw.get(key, [])
        if isinstance(found, list) and all(isinstance(one, dict) for one in found):
            return found
        self._notes.add((key,), "is not a list of tables", f"begin each with a line [[{key}]]")
        return []

    def _site(self, place: int, table: Table) -> Site:
        path: KeyPath = ("site", place)
        self._check_keys(path, table, ["name", "hosts", UP, DOWN])
        name = self._name((*path, "name"), table.get("name"))
        for end in (UP, DOWN):
            if end in table:
                settings = self._settings((*path, end), table[end], LinkSettings())
                self._links[name, end] = Link(name, end, settings)
        return Site(name, self._site_hosts((*path, "hosts"), name, table.get("hosts", 1)))

    def _site_hosts(self, path: KeyPath, site: str, hosts: Any) -> tuple[str, ...]:
        if isinstance(hosts, int) and not isinstance(hosts, bool):
            count = min(max(hosts, 0), HOSTS_MAX + 1)
            names = [site] if count == 1 else [f"{site}{n + 1}" for n in range(count)]
        else:
            names = self._names(path, hosts)
        if not 1 <= len(names) <= HOSTS_MAX:
            self._notes.add(path, f"{hosts} hosts", f"use 1 to {HOSTS_MAX}")
        for name in names:
            if name in self._hosts:
                self._notes.add(path, f"two hosts are called {name!r}", "rename one")
            self._hosts.add(name)
        return tuple(names)

    def _names(self, path: KeyPath, found: Any) -> list[str]:
        if isinstance(found, list):
            return [self._name((*path, place), name) for place, name in enumerate(found)]
        self._notes.add(path, "is not a list of names", 'write it as ["one", "two"]')
        return []

    def _name(self, path: KeyPath, name: Any) -> str:
        if name is None:
            self._notes.add(path, "is missing", "add it")
        elif not isinstance(name, str) or not NAME.fullmatch(name):
            self._notes.add(path, f"{name!r} is not a name", NAME_REMEDY)
        elif name in (UP, DOWN):
            self._notes.add(path, f"{name!r} is what access links are called", "use another name")
        return str(name)

    def _link(self, path: KeyPath, table: Table, places: list[str]) -> None:
        self._check_keys(path, table, ["between", "back", *SETTINGS])
        ends = table.get("between")
        where = (*path, "between")
        if not isinstance(ends, list) or len(ends) != 2 or ends[0] == ends[1]:
            self._notes.add(where, "does not name two places", 'write between = ["here", "there"]')
            return
        for end in ends:
            if end not in places:
                self._notes.add(where, f"{end!r} is no site and no router", "name one that is")
        here, there = map(str, ends)
        if (here, there) in self._links:
            self._notes.add(where, "these two have a link already", "remove one of them")
        forth = {key: value for key, value in table.items() if key in SETTINGS}
        settings = self._settings(path, forth, LinkSettings())
        self._links[here, there] = Link(here, there, settings)
        back = self._settings((*path, "back"), table.get("back", {}), settings)
        self._links[there, here] = Link(there, here, back)

    def _settings(self, path: KeyPath, table: Any, otherwise: LinkSettings) -> LinkSettings:
        """What the table does not say is as in `otherwise`."""
        if not isinstance(table, dict):
            self._notes.add(path, "is not a table", "write it as { mbit = 10.0 }")
            return otherwise
        self._check_keys(path, table, SETTINGS)
        good = asdict(otherwise)
        for key, value in table.items():
            fault = _fault(key, value)
            if not fault:
                good[key] = value
            elif key in SETTINGS:
                self._notes.add((*path, key), *fault)
        return LinkSettings(**good)

    def _check_keys(self, path: KeyPath, table: Table, known: list[str]) -> None:
        for key in table:
            if key not in known:
                self._notes.add((*path, key), *_unknown(key, known))


def _unknown(key: str, known: list[str]) -> tuple[str, str]:
    near = get_close_matches(key, known, n=1)
    remedy = f"did you mean {near[0]}?" if near else f"known here: {', '.join(known)}"
    return "there is no such key", remedy


def _fault(key: str, value: Any) -> tuple[str, str] | None:
    """What is wrong with a property of a link, and the remedy."""
    if key not in SETTINGS:
        return _unknown(key, SETTINGS)
    if key == "overtake":
        return None if isinstance(value, bool) else ("is not true or false", "write true or false")
    if not isinstance(value, int | float) or isinstance(value, bool):
        return "is not a number", "write a number"
    low, high = LIMITS[key]
    if not low <= value <= high:
        return f"{value:g} cannot be", f"use {low:g} to {high:g}"
    return None
