"""Made-up rows to the files of a table, as ingest would have written them."""

import shutil
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from antiphon.core.ids import NO_CONFIG, ConfigId, ViewId
from antiphon.core.trace import Record
from antiphon.pipeline.small import parquet
from antiphon.pipeline.tables import (
    OPEN,
    PLACE,
    RECORDS,
    SEGMENTS,
    segments_schema,
    table_schema,
    to_table,
)
from antiphon.records.arrow import load
from antiphon.records.schema import COLUMNS, default_column, rows_to_batch
from antiphon.records.segment import Heading

Longs = npt.NDArray[np.int64]

PART = "made"
MESSAGE_KINDS = ("submit", "send", "deliver", "hand")
SEND, DELIVER = 1, 2
SESSIONS_EACH = 5
WORLD = "world"
SOURCE = "sim"
"""Each run is a history by itself."""

FILE_ROWS = 400_000


class Columns(NamedTuple):
    """Rows about the messages of one configuration. `values`: kind, time, daemon, session, late,
    sender, group, service, number, stamp, and at, the message's place in the order."""

    config: ConfigId
    view: ViewId
    groups: tuple[str, ...]
    values: dict[str, Longs]


class TableWriter:
    """Every writer's rows in segments, rows of many segments mixed in files."""

    def __init__(self, tables: Path, run: str) -> None:
        self._tables, self._run = tables, run
        for name in (RECORDS, OPEN, SEGMENTS):
            (tables / name).mkdir(parents=True, exist_ok=True)
        self._folder = tables / RECORDS / f"run={run}" / f"part={PART}"
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        self._segments: dict[str, int] = {}
        self._sightings: list[tuple[Any, ...]] = []
        self._rng = np.random.default_rng(0)
        self._control: list[Any] = []
        self._files = 0
        self._delivered = 0

    def control(self, daemon: int, rows: Sequence[Record]) -> None:
        self._plain(f"d{daemon + 1}", rows)

    def world(self, rows: Sequence[Record]) -> None:
        self._plain(WORLD, rows)

    def _plain(self, writer: str, rows: Sequence[Record]) -> None:
        number = self._segment(writer, len(rows))
        heading = Heading(self._run, SOURCE, writer, number, 0, "boot")
        self._control.append(to_table(rows_to_batch(rows, heading), heading, 0))

    def _segment(self, writer: str, rows: int) -> int:
        number = self._segments.get(writer, 0)
        self._segments[writer] = number + 1
        path = f"{writer}-{self._run}-{number:08}.arrow"
        told = (path, True, self._run, writer, SOURCE, number, rows, "whole", "", PART)
        self._sightings.append(told)
        return number

    def messages(self, several: Sequence[Columns]) -> None:
        """Configurations that ran at the same time."""
        for columns in several:
            values = columns.values
            order = np.lexsort((values["at"], values["kind"], values["time"], values["daemon"]))
            values = {name: column[order] for name, column in values.items()}
            segment, row = np.empty((2, len(order)), np.int64)
            starts = np.flatnonzero(np.diff(values["daemon"], prepend=-1))
            for start, end in pairwise([*starts.tolist(), len(order)]):
                writer = f"d{values['daemon'][start] + 1}"
                segment[start:end] = self._segment(writer, end - start)
                row[start:end] = np.arange(end - start)
            values.update(segment=segment, row=row)
            self._delivered += int((values["kind"] >= DELIVER).sum())
            mixed = self._rng.permutation(len(order))
            for start in range(0, len(order), FILE_ROWS):
                chosen = mixed[start : start + FILE_ROWS]
                part = {name: column[chosen] for name, column in values.items()}
                self._write(_table(self._run, columns, part))

    def _write(self, table: Any) -> None:
        path = self._folder / f"{self._files:06}.parquet"
        self._files += 1
        parquet().write_table(table.drop_columns(["run"]), path, compression="zstd")

    def close(self) -> int:
        """Rows about deliveries that were written."""
        pa = load()
        self._write(pa.Table.from_batches(self._control))
        columns = map(list, zip(*self._sightings, strict=True))
        table = pa.table(list(columns), schema=segments_schema())
        parquet().write_table(table, self._tables / SEGMENTS / f"{self._run}.parquet")
        return self._delivered


def _table(run: str, columns: Columns, values: dict[str, Longs]) -> Any:
    """The columns of a table: whatever is not a number by its place in a short list."""
    pa = load()
    count = len(values["kind"])
    schema = table_schema()

    def chosen(name: str, options: list[Any], places: Any) -> Any:
        return pa.array(options, schema.field(name).type).take(pa.array(places))

    kind, sender = values["kind"], values["sender"]
    is_placed = (kind == SEND) | (kind == DELIVER)
    views = [_fields(columns.view)]
    origins = [
        {"daemon": number // SESSIONS_EACH + 1, "incarnation": 1, "number": number % 5 + 1}
        for number in range(int(sender.max()) + 1)
    ]
    groups = [[], *([name] for name in columns.groups)]
    in_group = np.where(kind == DELIVER, 0, values["group"] + 1)
    has_view = (kind == SEND) | (kind > DELIVER)
    writers = [f"d{number + 1}" for number in range(int(values["daemon"].max()) + 1)]
    made: dict[str, Any] = {
        "run": pa.repeat(pa.scalar(run), count),
        "writer": chosen("writer", writers, values["daemon"]),
        "source": pa.repeat(pa.scalar(SOURCE), count),
        "boot": pa.repeat(pa.scalar("boot"), count),
        "segment": values["segment"],
        "row": values["row"],
        "wall_us": values["time"],
        "kind": chosen("kind", list(MESSAGE_KINDS), kind),
        "time": values["time"],
        "node": values["daemon"] + 1,
        "incarnation": np.ones(count, np.int64),
        "session": np.where(is_placed, -1, values["session"] + 1),
        "config": chosen("config", [_config(NO_CONFIG), _config(columns.config)], is_placed + 0),
        "sequence": np.where(is_placed, values["stamp"], 0),
        "stamp": np.where(is_placed, values["stamp"], 0),
        "origin": chosen("origin", origins, sender),
        "first": values["number"],
        "count": np.ones(count, np.int64),
        "service": values["service"].astype(np.int32),
        "transitional": values["late"].astype(np.bool_) & (kind == DELIVER),
        "groups": chosen("groups", groups, in_group),
        "views": chosen("views", [[], views], has_view + 0),
        "value": np.where(kind == DELIVER, 0, (values["number"] * 64 + sender) % 2**32),
    }
    arrays = []
    for field in schema:
        column = made.get(field.name)
        if column is None:
            assert field.name in COLUMNS and field.name not in PLACE, "only records have defaults"
            one = default_column(field.name, 1)
            column = one.cast(field.type, safe=False).take(pa.array(np.zeros(count, np.int64)))
        arrays.append(column if isinstance(column, pa.Array) else pa.array(column, field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def _config(config: ConfigId) -> dict[str, int]:
    return config._asdict()


def _fields(view: ViewId) -> dict[str, Any]:
    return {**view._asdict(), "config": _config(view.config)}
