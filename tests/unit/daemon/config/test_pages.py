"""docs/configuration.md has a row for each key, with its default, and no other."""

import re
from pathlib import Path
from typing import Any

import pytest

from antiphon.daemon.config.config import parse
from antiphon.daemon.config.declaration import (
    BY_DEFAULT,
    FROM_NAME,
    LISTS,
    REQUIRED,
    TABLES,
    Key,
    keys_of,
)
from antiphon.daemon.config.dials import DIALS, KEYS, PRESETS, setting
from antiphon.daemon.config.values import IDENTITY
from antiphon.daemon.config.writing import toml_value

PAGE = (Path(__file__).resolve().parents[4] / "docs" / "configuration.md").read_text("utf-8")


def rows(table: str) -> dict[str, tuple[str, str]]:
    """Key to the next two cells."""
    head = f"\n### [[{table}]]\n" if table in LISTS else f"\n### [{table}]\n"
    section = PAGE.partition(head)[2].partition("\n### ")[0]
    found = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) ?\|", section, re.M)
    return {key: (first, second) for key, first, second in found}


def shown(key: Key) -> str:
    if key.default is REQUIRED:
        return "required"
    if key.kind is IDENTITY:
        assert key.default == FROM_NAME
        return "from the name"
    return "from the names" if key.default == BY_DEFAULT else written(key, key.default)


def written(key: Key, value: Any) -> str:
    return f"`{toml_value(key.kind.write(value))}`"


@pytest.mark.parametrize("table", [*TABLES, *LISTS])
def test_every_key_has_its_row(table: str) -> None:
    keys = keys_of({**TABLES, **LISTS}[table])
    assert rows(table) == {
        name: (shown(key), "restart" if key.restart else "reload") for name, key in keys.items()
    }


@pytest.mark.parametrize("table", KEYS)
def test_every_number_of_the_protocol_has_its_row(table: str) -> None:
    expected = {}
    for name, dial in DIALS[table].items():
        key = KEYS[table][name]
        lan, wan = (written(key, setting(PRESETS[preset], dial)) for preset in ("lan", "wan"))
        expected[name] = (lan, "" if wan == lan else wan)
    assert rows(table) == expected


def test_the_smallest_file_on_the_page_can_be_used() -> None:
    blocks = re.findall(r"^```\w*\n(.*?)^```$", PAGE, re.M | re.S)
    (block,) = (text for text in blocks if text.startswith("[cluster]"))
    assert parse(block, "page").cluster.name == "lab"
