"""The effective configuration: every key with the value that holds, as plain values or TOML."""

import json
from typing import TYPE_CHECKING, Any

from antiphon.daemon.config.declaration import LISTS, TABLES, EdgeEntry, Key, keys_of
from antiphon.daemon.config.dials import DIALS, KEYS, setting
from antiphon.daemon.config.overlay import edge_hop
from antiphon.daemon.config.settings import build_settings
from antiphon.protocol.links.settings import LinkKind

if TYPE_CHECKING:
    from antiphon.daemon.config.config import Config

ORDER = [
    *("cluster", "daemon", "network", "overlay", "hop", "tcp", "edge", "limits", "records"),
    *("store", "retain", "log", "clients", "spread", "access", "timeouts", "tuning"),
]
FIELDS = {"daemon": "daemons", "edge": "edges"}
"""Where the name of a table is not that of the field."""


def plain(config: "Config") -> dict[str, Any]:
    """Tables of texts, numbers and lists, as a file would have them."""
    return {name: _plain(config, name) for name in ORDER}


def write_toml(config: "Config") -> str:
    parts = []
    for name, table in plain(config).items():
        for each in table if name in LISTS else [table]:
            head = f"[[{name}]]" if name in LISTS else f"[{name}]"
            parts.append("\n".join([head, *(f"{key} = {toml_value(each[key])}" for key in each)]))
    return "\n\n".join(parts) + "\n"


def _plain(config: "Config", name: str) -> Any:
    if name in KEYS:
        settings = build_settings(config, cluster=0)
        numbers = {key: setting(settings, dial) for key, dial in DIALS[name].items()}
        return _written(numbers, KEYS[name])
    values = getattr(config, FIELDS.get(name, name))
    if name in LISTS:
        keys = keys_of(LISTS[name])
        written = [_written({key: getattr(one, key) for key in keys}, keys) for one in values]
        return [table | _hop(config, one) for table, one in zip(written, values, strict=True)]
    keys = keys_of(TABLES[name])
    table = _written({key: getattr(values, key) for key in keys}, keys)
    if name == "network":
        table["packet_bytes"] = config.packet_bytes
    return table


def _hop(config: "Config", entry: Any) -> dict[str, Any]:
    """An edge has keys of [hop] beside its own, unless it is a TCP link."""
    if not isinstance(entry, EdgeEntry) or entry.link == LinkKind.TCP:
        return {}
    hop = edge_hop(entry, build_settings(config, cluster=0).hop)
    numbers = {key: getattr(hop, dial.field) for key, dial in DIALS["hop"].items()}
    return _written(numbers, KEYS["hop"])


def _written(values: dict[str, Any], keys: dict[str, Key]) -> dict[str, Any]:
    return {name: keys[name].kind.write(value) for name, value in values.items()}


def toml_value(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    # JSON's texts are TOML's, as long as they are printable, and all texts here are.
    return json.dumps(value, ensure_ascii=False)
