"""The files of the tables, read by tasks themselves.

Spark turns every nested value into rows and back before Python has it; Arrow reads a column as
it lies in the file, twenty times as fast. So a task gets names of files, and reads what it needs.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np

from antiphon.check.reading import PROFILE
from antiphon.core.errors import UsageError
from antiphon.pipeline.in_hand import newest
from antiphon.pipeline.small import parquet
from antiphon.pipeline.tables import RECORDS, SEGMENTS
from antiphon.pipeline.verify.names import Flags, Longs, mixed
from antiphon.records.arrow import load
from antiphon.records.schema import default_column

LARGE = 32 << 20
"""Bytes of a file whose parts are read by several tasks."""

TEXTS = ["kind", "writer", "source", "boot", "profile", "detail"]
"""Columns with few different values."""


class Piece(NamedTuple):
    """A file of a table, or some row groups of it."""

    path: str
    run: str
    first: int
    end: int
    """Row groups; −1 for all of them."""

    passed: list[str]
    """Segments whose rows here do not count any more, as `segment_name` tells them."""


def segment_name(writer: str, segment: int) -> str:
    return f"{segment} {writer}"


def find_pieces(tables: Path, runs: Sequence[str] = ()) -> list[Piece]:
    """All files with rows that count: of parts that were finished, and of segments in hand."""
    if not (tables / SEGMENTS).exists():
        remedy = "run antiphon pipeline ingest first"
        raise UsageError("no_tables", f"there are no tables in {tables}", remedy)
    # First, so that a segment taken from now on is in both tables rather than in neither.
    in_hand = _files(newest(tables))
    columns = ["part", "run", "writer", "segment"]
    told = parquet().read_table(tables / SEGMENTS, columns=columns).to_pylist()
    parts = {line["part"] for line in told if line["part"]}
    taken: dict[str, list[str]] = {}
    for line in told:
        if line["part"]:
            name = segment_name(line["writer"], line["segment"])
            taken.setdefault(line["run"], []).append(name)
    found: list[Piece] = []
    for path in (*_files(tables / RECORDS), *in_hand):
        named = dict(part.split("=", 1) for part in path.relative_to(tables).parts if "=" in part)
        run = unquote(named["run"])
        if (runs and run not in runs) or named.get("part", "") not in parts | {""}:
            continue
        found += _cut(path, run, [] if "part" in named else taken.get(run, []))
    return found


def _files(folder: Path) -> list[Path]:
    """Without those at which Spark is at work."""
    return sorted(
        path
        for path in folder.rglob("*.parquet")
        if not any(part.startswith(("_", ".")) for part in path.relative_to(folder).parts)
    )


def _cut(path: Path, run: str, passed: list[str]) -> Iterator[Piece]:
    if path.stat().st_size < LARGE:
        yield Piece(str(path.absolute()), run, 0, -1, passed)
        return
    for group in range(parquet().ParquetFile(path).num_row_groups):
        yield Piece(str(path.absolute()), run, group, group + 1, passed)


class Columns:
    """Rows of one run with their columns as arrays, each read when it is asked for."""

    def __init__(self, run: str, count: int, read: Any) -> None:
        self.run = run
        self.count = count
        self._read = read
        self._held: dict[str, Any] = {}

    def arrow(self, *names: str) -> list[Any]:
        missing = [name for name in names if name not in self._held]
        if missing:
            table = self._read(missing)
            for name in missing:
                self._held[name] = _whole(table.column(name))
        return [self._held[name] for name in names]

    def longs(self, name: str) -> Longs:
        (column,) = self.arrow(name)
        return longs_of(column)

    def field(self, name: str, *path: str) -> Longs:
        (column,) = self.arrow(name)
        for part in path:
            column = column.field(part)
        return longs_of(column)

    def codes(self, name: str) -> tuple[Longs, list[str | None]]:
        """Of a column of texts: numbers of the texts, and the texts."""
        (column,) = self.arrow(name)
        if not load().types.is_dictionary(column.type):
            column = column.dictionary_encode()
        return longs_of(column.indices), column.dictionary.to_pylist()

    def has(self, name: str, texts: Sequence[str]) -> Flags:
        """Rows whose text is one of these."""
        codes, known = self.codes(name)
        wanted = np.array([text in texts for text in known], np.bool_)
        return wanted[codes] if len(wanted) else np.zeros(len(codes), np.bool_)

    @cached_property
    def is_ours(self) -> Flags:
        """Rows of the profile that is judged."""
        return self.has("profile", [PROFILE])

    @cached_property
    def session_number(self) -> Longs:
        return mixed(self.longs("node"), self.longs("incarnation"), self.longs("session"))

    def groups(self) -> tuple[Longs, Longs, Longs, list[str | None]]:
        """Where the groups of each row begin, how many it has; their numbers, and names."""
        (column,) = self.arrow("groups")
        starts, counts, items = lists(column)
        items = items.dictionary_encode()
        return starts, counts, longs_of(items.indices), items.dictionary.to_pylist()

    def table(self, names: Sequence[str], chosen: Longs) -> Any:
        """Some columns of some rows, as Arrow has them."""
        pa = load()
        columns = self.arrow(*names)
        return pa.table(columns, names=list(names)).take(pa.array(chosen))


def lists(column: Any) -> tuple[Longs, Longs, Any]:
    """Of a column of lists: where each begins, how many it has, and the items of all."""
    offsets = column.offsets.to_numpy().astype(np.int64)
    return offsets[:-1], np.diff(offsets), column.values


def view_numbers(items: Any) -> Longs:
    """Of views without their group; 0 for none."""
    config, fields = items.field("config"), ("epoch", "coordinator", "incarnation", "counter")
    parts = [longs_of(config.field(name)) for name in fields]
    parts += [longs_of(items.field(name)) for name in ("position", "lineage")]
    found = mixed(*parts) if len(items) else np.empty(0, np.int64)
    if items.null_count:
        found[~items.is_valid().to_numpy(zero_copy_only=False)] = 0
    return found


def _whole(column: Any) -> Any:
    pa = load()
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # nothing at all
        column = pa.array([], column.type)
    return column


def longs_of(column: Any) -> Longs:
    pa = load()
    if column.null_count:
        column = column.fill_null(0)
    if column.type != pa.int64():
        column = column.cast(pa.int64(), safe=False)
    found: Longs = column.to_numpy(zero_copy_only=False)
    return found


def read_piece(piece: Piece) -> Iterator[Columns]:
    """The rows of a piece, a row group at a time."""
    file = parquet().ParquetFile(piece.path, read_dictionary=TEXTS)
    groups = range(piece.first, file.num_row_groups if piece.end < 0 else piece.end)
    for group in groups:
        count = file.metadata.row_group(group).num_rows
        if not count:
            continue
        columns = Columns(piece.run, count, partial(_read, file, group, count))
        yield _without(columns, piece.passed) if piece.passed else columns


def _without(columns: Columns, passed: Sequence[str]) -> Columns:
    codes, writers = columns.codes("writer")
    names = zip(codes.tolist(), columns.longs("segment").tolist(), strict=True)
    gone = set(passed)
    kept = [segment_name(str(writers[code]), segment) not in gone for code, segment in names]
    at = np.flatnonzero(kept)
    return Columns(columns.run, len(at), lambda names: columns.table(names, at))


def _read(file: Any, group: int, count: int, names: list[str]) -> Any:
    held = set(file.schema_arrow.names)
    table = file.read_row_group(group, [name for name in names if name in held], use_threads=False)
    for name in names:
        if name not in held:  # of a part that an older version wrote
            table = table.append_column(name, default_column(name, count))
    return table
