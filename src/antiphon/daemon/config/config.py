"""The configuration of a cluster, as a daemon uses it.

load(path)     the file, checked; ConfigFindings with everything that is wrong
parse(text)    the same without looking at the disk
examine(text)  what is wrong and what is only odd, without an exception
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from antiphon.core.errors import UsageError
from antiphon.core.ids import DaemonId
from antiphon.daemon.config.checks import (
    all_on_loopback,
    check_clients,
    check_daemons,
    check_encryption,
    check_files,
    check_multicast,
    check_retain,
)
from antiphon.daemon.config.declaration import (
    BY_DEFAULT,
    LISTS,
    TABLES,
    AccessEntry,
    Clients,
    Cluster,
    DaemonEntry,
    EdgeEntry,
    Limits,
    Log,
    Network,
    Overlay,
    Records,
    RetainEntry,
    Spread,
    Store,
)
from antiphon.daemon.config.dials import KEYS
from antiphon.daemon.config.findings import ConfigFindings, Finding
from antiphon.daemon.config.overlay import check_edges, check_overlay
from antiphon.daemon.config.places import Places, usual_places
from antiphon.daemon.config.reading import Notes, Values, read_list, read_tables, read_toml
from antiphon.daemon.config.settings import (
    TABLES_OF_SETTINGS,
    build_settings,
    check_settings,
)
from antiphon.daemon.config.writing import FIELDS, write_toml
from antiphon.protocol.links.settings import LinkKind
from antiphon.protocol.presets import NodeSettings
from antiphon.wire.packet import WIRE_VERSION

ID_SPACE = 10**6
PACKET_BYTES = 1400
PACKET_BYTES_ON_LOOPBACK = 65_000
"""A full bundle fits: each packet costs a daemon about the same."""

PACKET_BYTES_BETWEEN_LOCAL_SITES = 8900
"""Links send at a rate, in packets that are small beside it."""


@dataclass(frozen=True, slots=True)
class Config:
    cluster: Cluster
    daemons: tuple[DaemonEntry, ...]
    network: Network
    overlay: Overlay
    edges: tuple[EdgeEntry, ...]
    limits: Limits
    records: Records
    log: Log
    clients: Clients
    spread: Spread
    access: tuple[AccessEntry, ...]
    """In the order of the file: the first that matches decides."""

    store: Store
    retain: tuple[RetainEntry, ...]
    """In the order of the file, too."""

    timeouts: Mapping[str, int | None]
    tuning: Mapping[str, int | None]
    hop: Mapping[str, int | None]
    tcp: Mapping[str, int | None]
    """None where the preset's number holds."""

    warnings: tuple[Finding, ...] = ()

    def daemon(self, name: str) -> DaemonEntry:
        for daemon in self.daemons:
            if daemon.name == name:
                return daemon
        names = ", ".join(daemon.name for daemon in self.daemons)
        raise UsageError("unknown_daemon", f"no daemon is called {name!r}", f"use one of {names}")

    @property
    def encrypted(self) -> bool:
        return bool(self.cluster.key_file)

    @property
    def packet_bytes(self) -> int:
        if self.network.packet_bytes:
            return self.network.packet_bytes
        if not all_on_loopback(self.daemons):
            return PACKET_BYTES
        return PACKET_BYTES_BETWEEN_LOCAL_SITES if self.sites else PACKET_BYTES_ON_LOOPBACK

    @property
    def site_names(self) -> tuple[str, ...]:
        """In the order of the file."""
        return tuple(dict.fromkeys(daemon.site for daemon in self.daemons))

    @property
    def sites(self) -> tuple[tuple[DaemonId, ...], ...]:
        """The daemons of each site; none if there is only one site."""
        found: dict[str, list[DaemonId]] = {name: [] for name in self.site_names}
        for daemon in self.daemons:
            found[daemon.site].append(daemon.id)
        return tuple(map(tuple, found.values())) if len(found) > 1 else ()

    def is_reached_by_tcp(self, daemon: DaemonEntry) -> bool:
        """Whether other daemons connect to it."""
        joined = [edge for edge in self.edges if edge.link == LinkKind.TCP]
        return any(daemon.site in edge.between for edge in joined)

    def node_settings(self, me: str) -> NodeSettings:
        """What the node of the daemon called `me` runs with."""
        self.daemon(me)
        return build_settings(self, self.cluster_hash())

    def cluster_hash(self, wire_version: int = WIRE_VERSION) -> int:
        """Of what all must share and nothing else: the rest may differ while a reload goes
        around. Each wire version has its own, so that a daemon can speak two of them."""
        kept = (entry.group for entry in self.retain)
        shared = (str(wire_version), self.cluster.name, self.daemons[0].site, *kept)
        return _hash("\0".join(shared), b"cluster")

    def effective_toml(self) -> str:
        """A file that says everything and means the same."""
        return write_toml(self)


def load(path: Path, places: Places | None = None) -> Config:
    """The file at `path`, or ConfigFindings."""
    return _config(examine_file(path, places))


def parse(text: str, source_name: str, places: Places | None = None) -> Config:
    """A text, or ConfigFindings; paths in it are relative to the current folder."""
    return _config(examine(text, source_name, Path(), places))


Examined = tuple[Config | None, tuple[Finding, ...]]
"""A configuration if it can be used, and all findings."""


def examine_file(path: Path, places: Places | None = None) -> Examined:
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        what = f"cannot be read: {(error.strerror or str(error)).lower()}"
        return None, (Finding(str(path), 0, "", what, "name a file that can be read"),)
    except UnicodeDecodeError:
        return None, (Finding(str(path), 0, "", "is not UTF-8", "write it as UTF-8"),)
    return examine(text, str(path), path.absolute().parent, places, files=True)


def examine(
    text: str, source: str, folder: Path, places: Places | None = None, files: bool = False
) -> Examined:
    """With `files`, those that it names are looked at too."""
    raw = read_toml(source, text)
    if isinstance(raw, Finding):
        return None, (raw,)
    notes = Notes(source, text)
    tables = read_tables(notes, raw, folder)
    lists = {name: read_list(notes, raw, name, folder) for name in LISTS}
    if not lists["daemon"]:
        notes.add(("daemon",), "no daemon is listed", "add a table [[daemon]] for each")
    found = _made(tables, lists, places or usual_places())
    _check(notes, found, files)
    if notes.broken:
        return None, notes.sorted()
    config = Config(**found, warnings=notes.sorted())
    return config, config.warnings


def daemon_id(name: str) -> DaemonId:
    """The same on every machine and for ever; never 0, which is nobody's. Short, for people
    read it in private group names; two that fall together are found when the file is read."""
    return DaemonId(_hash(name, b"daemon") % ID_SPACE + 1)


def _config(examined: Examined) -> Config:
    config, findings = examined
    if config is None:
        raise ConfigFindings(finding for finding in findings if not finding.warning)
    return config


def _made(
    tables: dict[str, Values | None], lists: dict[str, list[Values | None]], places: Places
) -> dict[str, Any]:
    """The fields of a Config; None in place of what cannot be used."""
    cluster = tables["cluster"]
    name = cluster["name"] if cluster else ""
    for row in lists["daemon"]:
        if row is not None:
            row["id"] = row["id"] or daemon_id(row["name"])
            if row["socket"] == BY_DEFAULT:
                row["socket"] = str(places.runtime / f"{name}.{row['name']}.sock")
    records = tables["records"]
    if records and records["directory"] == BY_DEFAULT:
        records["directory"] = str(places.state / name / "records")
    store = tables["store"]
    if store and store["directory"] == BY_DEFAULT:
        store["directory"] = str(places.state / name / "store")
    for row in lists["edge"]:
        if row is not None:
            row["hop"] = {key: row.pop(key) for key in KEYS["hop"]}
    made: dict[str, Any] = {name: tables[name] for name in KEYS}
    for table, kind in TABLES.items():
        values = tables[table]
        made[table] = None if values is None else kind(**values)
    for table, kind in LISTS.items():
        rows = (None if row is None else kind(**row) for row in lists[table])
        made[FIELDS.get(table, table)] = tuple(rows)
    return made


def _check(notes: Notes, found: dict[str, Any], files: bool) -> None:
    """Whatever can be checked in spite of what is broken."""
    cluster, clients = found["cluster"], found["clients"]
    daemons = _usable(found["daemons"])
    edges = _usable(found["edges"])
    if daemons:
        check_daemons(notes, daemons)
        check_multicast(notes, found["network"], daemons)
    check_retain(notes, _usable(found["retain"]))
    if daemons and cluster is not None:
        check_encryption(notes, cluster, daemons)
    if clients is not None:
        check_clients(notes, clients)
    if files and cluster is not None and clients is not None:
        check_files(notes, cluster, clients)
    if daemons and len(daemons) == len(found["daemons"]):
        names = tuple(dict.fromkeys(one.site for _, one in daemons))
        if found["overlay"] is not None:
            check_overlay(notes, names, found["overlay"])
        check_edges(notes, names, found["overlay"], edges)
    if not notes.broken_in(TABLES_OF_SETTINGS):
        sound = {"daemons": tuple(one for _, one in daemons), "access": (), "edges": ()}
        sound["retain"] = ()
        check_settings(notes, Config(**found | sound), edges)


def _usable(rows: tuple[Any, ...]) -> list[tuple[int, Any]]:
    """With their places in the file."""
    return [(place, row) for place, row in enumerate(rows) if row is not None]


def _hash(text: str, purpose: bytes) -> int:
    digest = blake2b(text.encode(), digest_size=8, person=b"antiphon " + purpose).digest()
    return int.from_bytes(digest)
