"""Which changes of the file a running daemon cannot take."""

from typing import Any

from antiphon.daemon.config.config import Config
from antiphon.daemon.config.declaration import TABLES, DaemonEntry, keys_of
from antiphon.daemon.config.dials import KEYS


def restart_needed(old: Config, new: Config, me: str) -> tuple[str, ...]:
    """Keys whose change takes a restart of the daemon called `me`; none: a reload will do.

    Entries of other daemons may come, go and change, and so may sites: their own restarts are
    their business. But a cluster of one site and one of several are not run alike.
    """
    before, after = (_entry(config, me) for config in (old, new))
    if before is None or after is None:
        return ("daemon",)
    found = [f"daemon.{name}" for name in _changed(DaemonEntry, before, after)]
    for table, kind in TABLES.items():
        changed = _changed(kind, getattr(old, table), getattr(new, table))
        found += [f"{table}.{name}" for name in changed]
    if old.packet_bytes != new.packet_bytes and "network.packet_bytes" not in found:
        found.append("network.packet_bytes")  # "auto" means something else now
    if old.encrypted != new.encrypted:
        found.append("cluster.key_file")  # other keys are taken, but not the first or none
    if bool(old.sites) != bool(new.sites) and "daemon.site" not in found:
        found.append("daemon.site")
    if old.edges != new.edges:
        found.append("edge")
    if old.retain != new.retain:
        found.append("retain")
    for table, keys in KEYS.items():
        one, other = getattr(old, table), getattr(new, table)
        found += [f"{table}.{name}" for name in keys if one[name] != other[name]]
    return tuple(found)


def _entry(config: Config, me: str) -> DaemonEntry | None:
    return next((daemon for daemon in config.daemons if daemon.name == me), None)


def _changed(kind: type[Any], one: Any, other: Any) -> list[str]:
    """Keys that take a restart and differ."""
    return [
        name
        for name, key in keys_of(kind).items()
        if key.restart and getattr(one, name) != getattr(other, name)
    ]
