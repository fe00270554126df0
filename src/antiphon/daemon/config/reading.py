"""From TOML to the declared tables: every value by its kind, every fault with its line."""

import re
import tomllib
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path as FilePath
from typing import Any

from antiphon.daemon.config.declaration import LISTS, REQUIRED, TABLES, Key, keys_of
from antiphon.daemon.config.dials import KEYS
from antiphon.daemon.config.findings import Fault, Finding, Path, spelled
from antiphon.daemon.config.lines import Lines

Values = dict[str, Any]


class Notes:
    """Findings in one text, as they come up."""

    def __init__(self, source: str, text: str) -> None:
        self._source = source
        self._lines = Lines(text)
        self._findings: list[Finding] = []

    def add(self, path: Path, what: str, remedy: str, warning: bool = False) -> None:
        line = self.line(path)
        self._findings.append(Finding(self._source, line, spelled(path), what, remedy, warning))

    def line(self, path: Path) -> int:
        return self._lines.of(path)

    @property
    def broken(self) -> bool:
        return any(not finding.warning for finding in self._findings)

    def broken_in(self, tables: Iterable[str]) -> bool:
        heads = {re.split(r"[.\[]", one.key)[0] for one in self._findings if not one.warning}
        return not heads.isdisjoint(tables)

    def sorted(self) -> tuple[Finding, ...]:
        return tuple(sorted(self._findings, key=lambda finding: finding.line))


def read_toml(source: str, text: str) -> Values | Finding:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        told = re.fullmatch(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", str(error))
        assert told is not None
        line = int(told[2]) if told[2] else max(1, len(text.rstrip().splitlines()))
        return Finding(source, line, "", f"not TOML: {told[1].lower()}", "correct this line")
    except (RecursionError, ValueError):
        what = "a number is too long, or lists are nested too deeply"
        return Finding(source, 1, "", what, "keep to the keys there are")


def read_tables(notes: Notes, raw: Values, folder: FilePath) -> dict[str, Values | None]:
    """Each table that may be there once; None for one that cannot be used."""
    known = {**{name: keys_of(table) for name, table in TABLES.items()}, **KEYS}
    for name in raw:
        if name not in known and name not in LISTS:
            _add_unknown(notes, (name,), [*known, *LISTS])
    found: dict[str, Values | None] = {}
    for name, keys in known.items():
        table = raw.get(name, {})
        if isinstance(table, dict):
            found[name] = _read_table(notes, table, keys, (name,), folder)
        else:
            notes.add((name,), "is not one table", f"write it below a line [{name}]")
            found[name] = None
    return found


def read_list(notes: Notes, raw: Values, name: str, folder: FilePath) -> list[Values | None]:
    """All tables of one name in their order; None for each that cannot be used."""
    tables = raw.get(name, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        notes.add((name,), "is not a list of tables", f"begin each with a line [[{name}]]")
        return [None]
    keys = keys_of(LISTS[name]) | (KEYS["hop"] if name == "edge" else {})
    return [
        _read_table(notes, table, keys, (name, place), folder) for place, table in enumerate(tables)
    ]


def _read_table(
    notes: Notes, table: Values, keys: dict[str, Key], path: Path, folder: FilePath
) -> Values | None:
    """Faults do not stop it: a default stands in where there is one."""
    for name in table:
        if name not in keys:
            _add_unknown(notes, (*path, name), list(keys))
    values: Values = {}
    for name, key in keys.items():
        if name in table:
            try:
                values[name] = _resolved(key, key.kind.read(table[name]), folder)
                continue
            except Fault as fault:
                notes.add((*path, name), fault.what, fault.remedy)
            except ValueError:  # Python does not print numbers of thousands of digits
                notes.add((*path, name), "the number is too long", "use a smaller one")
        elif key.default is REQUIRED:
            notes.add((*path, name), "is missing", "add it")
        if key.default is not REQUIRED:
            values[name] = key.default
    return values if len(values) == len(keys) else None


def _resolved(key: Key, value: Any, folder: FilePath) -> Any:
    return str(folder / value) if key.is_path and value else value


def _add_unknown(notes: Notes, path: Path, known: list[str]) -> None:
    near = get_close_matches(str(path[-1]), known, n=1)
    remedy = f"did you mean {near[0]}?" if near else f"known here: {', '.join(sorted(known))}"
    notes.add(path, "there is no such key", remedy)
