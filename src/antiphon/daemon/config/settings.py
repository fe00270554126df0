"""From the file's keys to the settings of the protocol, and their complaints back to keys."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from antiphon.core.errors import ConfigError
from antiphon.core.keeping import KeepRule, RetainSettings
from antiphon.core.trace import Level
from antiphon.daemon.config.dials import DIALS, HOP, MEMBERSHIP, NODE, PRESETS, STREAM, TCP
from antiphon.daemon.config.findings import Path
from antiphon.daemon.config.overlay import Entries, edge_hop, edge_settings
from antiphon.daemon.config.reading import Notes
from antiphon.protocol.presets import NodeSettings
from antiphon.protocol.sessions.access import AccessRule
from antiphon.protocol.sessions.settings import SessionSettings
from antiphon.protocol.stream.settings import StreamSettings

if TYPE_CHECKING:
    from antiphon.daemon.config.config import Config

LIMITS = {
    "sessions": "sessions_max",
    "groups": "memberships_max",
    "table_bytes": "table_bytes_max",
    "backlog": "backlog_max",
    "backlog_bytes": "backlog_bytes_max",
    "courtesy_bytes": "courtesy_bytes",
    "queue_bytes_low": "queue_bytes_low",
    "queue_bytes_high": "queue_bytes_high",
    "queue_bundle_bytes": "queue_bundle_bytes",
    "queue_bytes": "queue_bytes_max",
}
"""A key of [limits] and the setting it is."""

PATHS: dict[str, Path] = {
    "packet_bytes": ("network", "packet_bytes"),
    **{field: ("limits", key) for key, field in LIMITS.items()},
    **{dial.field: (table, key) for table, dials in DIALS.items() for key, dial in dials.items()},
}
"""Where a setting stands in the file."""

LONGEST_BYTES = 65_000
LONGEST_PACKETS_MAX = {
    "ring_packets_max": 120,
    "member_packets_max": 40,
    "window_packets_low": 150,
    "window_packets_max": 300,
    "control_packets_reserve": 8,
}
"""Counts are meant for packets of a few thousand bytes. Of the longest there are at most so many:
enough for a rotation that takes milliseconds, and buffers of some megabytes."""

TABLES_OF_SETTINGS = {str(path[0]) for path in PATHS.values()} | {"overlay"}
"""If one of these is broken, what its numbers mean together cannot be said."""


def build_settings(config: "Config", cluster: int) -> NodeSettings:
    """ConfigError if they do not fit each other."""
    settings = PRESETS[config.network.preset]
    for build in _layers(config):
        settings = build(settings)
    daemons = tuple(sorted(daemon.id for daemon in config.daemons))
    level = Level(config.records.level)
    edges = edge_settings(config.site_names, config.overlay, config.edges, settings)
    kept = (KeepRule(one.group, one.max_bytes, one.max_age) for one in config.retain)
    return replace(
        settings,
        cluster=cluster,
        daemons=daemons,
        sites=config.sites,
        edges=edges,
        level=level,
        retain=RetainSettings(tuple(kept)),
    )


def check_settings(notes: Notes, config: "Config", edges: Entries) -> None:
    """What is wrong in one layer does not hide what is wrong in another."""
    settings = PRESETS[config.network.preset]
    for build in _layers(config):
        try:
            settings = build(settings)
        except ConfigError as error:
            path = PATHS[error.key]
            notes.add(path, _with_keys(error.what), _with_keys(error.remedy))
    if notes.broken_in(["hop", "edge"]):
        return
    for place, entry in edges:
        try:
            edge_hop(entry, settings.hop)
        except ConfigError as error:
            path = ("edge", place, PATHS[error.key][-1])
            notes.add(path, _with_keys(error.what), _with_keys(error.remedy))


Build = Callable[[NodeSettings], NodeSettings]


def _layers(config: "Config") -> Iterator[Build]:
    """Each layer's step from the preset to what the file says."""
    packet_bytes = config.packet_bytes
    usual = PRESETS[config.network.preset].stream
    stream = {**_fewer(usual, packet_bytes), **_turned(config, STREAM)}
    stream["packet_bytes"] = packet_bytes
    measured = config.overlay.weights == "measured"
    membership = {**_turned(config, MEMBERSHIP), "measured_weights": measured}
    hop = _hop(config)
    yield lambda old: replace(old, stream=replace(old.stream, **stream))
    yield lambda old: replace(old, membership=replace(old.membership, **membership))
    yield lambda old: replace(old, hop=replace(old.hop, **hop))
    yield lambda old: replace(old, tcp=replace(old.tcp, **_turned(config, TCP)))
    yield lambda old: replace(old, sessions=_sessions(config))
    yield lambda old: replace(old, **_turned(config, NODE))


def _fewer(stream: StreamSettings, packet_bytes: int) -> dict[str, Any]:
    """Of packets that are very long fewer are on their way: what matters is bytes."""
    return {
        name: min(getattr(stream, name), most * LONGEST_BYTES // packet_bytes)
        for name, most in LONGEST_PACKETS_MAX.items()
    }


def _turned(config: "Config", layer: str) -> dict[str, Any]:
    """The numbers of a layer that the file gives."""
    return {
        dial.field: value
        for table, dials in DIALS.items()
        for key, dial in dials.items()
        if dial.layer == layer and (value := getattr(config, table)[key]) is not None
    }


def _hop(config: "Config") -> dict[str, Any]:
    """Packets are as long as everywhere, and one may always leave at once."""
    given = _turned(config, HOP)
    if config.sites:
        given["packet_bytes"] = config.packet_bytes
        usual = PRESETS[config.network.preset].hop.burst_bytes
        given.setdefault("burst_bytes", max(config.packet_bytes, usual))
    return given


def _sessions(config: "Config") -> SessionSettings:
    rules = tuple(
        AccessRule(entry.group, entry.who, "join" in entry.may, "send" in entry.may)
        for entry in config.access
    )
    limits: dict[str, Any] = {
        setting: getattr(config.limits, key) for key, setting in LIMITS.items()
    }
    return SessionSettings(**limits, rules=rules)


def _with_keys(text: str) -> str:
    """Settings by the names that the file has for them."""

    def key(word: re.Match[str]) -> str:
        path = PATHS.get(word[0])
        return str(path[-1]) if path else word[0]

    return re.sub(r"\w+", key, text)
