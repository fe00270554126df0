"""The effective configuration: every key with the value that holds, as plain values or TOML."""

import json
from typing import TYPE_CHECKING, Any

from antiphon.daemon.config.declaration import LISTS, TABLES, Key, keys_of
from antiphon.daemon.config.dials import DIALS, KEYS, PRESETS, setting

if TYPE_CHECKING:
    from antiphon.daemon.config.config import Config

ORDER = [
    *("cluster", "daemon", "network", "limits", "records", "log", "clients", "spread", "access"),
    *("timeouts", "tuning"),
]
FIELDS = {"daemon": "daemons"}
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
        preset = PRESETS[config.network.preset]
        given = getattr(config, name)
        numbers = {key: setting(preset, dial) for key, dial in DIALS[name].items()}
        numbers |= {key: value for key, value in given.items() if value is not None}
        return _written(numbers, KEYS[name])
    values = getattr(config, FIELDS.get(name, name))
    if name in LISTS:
        keys = keys_of(LISTS[name])
        return [_written({key: getattr(one, key) for key in keys}, keys) for one in values]
    keys = keys_of(TABLES[name])
    table = _written({key: getattr(values, key) for key in keys}, keys)
    if name == "network":
        table["packet_bytes"] = config.packet_bytes
    return table


def _written(values: dict[str, Any], keys: dict[str, Key]) -> dict[str, Any]:
    return {name: keys[name].kind.write(value) for name, value in values.items()}


def toml_value(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    # JSON's texts are TOML's, as long as they are printable, and all texts here are.
    return json.dumps(value, ensure_ascii=False)
