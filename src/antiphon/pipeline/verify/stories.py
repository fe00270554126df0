"""What clients tell of their sessions in place of what their daemons tell.

All rows of such a session come together in one task, where records/gather puts them into one
story: the rows that count, each where it stands.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from pyspark import StorageLevel
from pyspark.sql import DataFrame

from antiphon.core.trace import Record
from antiphon.pipeline.session import part_count
from antiphon.pipeline.verify.batches import together
from antiphon.pipeline.verify.files import Columns
from antiphon.pipeline.verify.first_look import (
    CONTROL,
    PLACED,
    ROWS,
    is_told,
    packed,
    read_pieces,
    unpacked,
)
from antiphon.pipeline.verify.histories import STORY_MIDDLE, Segments
from antiphon.pipeline.verify.names import Flags, Longs, distinct
from antiphon.records.arrow import load
from antiphon.records.gather import Place, Placed, session_rows
from antiphon.records.schema import COLUMNS, arrow_schema, batch_to_rows

MESSAGES = "messages"
"""Rows of a story that are about messages; `ROWS` are the others."""

STORIES = "what string, blob binary"
BUCKETS = 64


def is_replaced(columns: Columns, sessions: Longs) -> Flags:
    """Rows that count only as far as they are in a story."""
    if not len(sessions):
        return np.zeros(columns.count, np.bool_)
    found: Flags = is_told(columns) & np.isin(columns.session_number, sessions)
    return found


def read_stories(pieces: DataFrame, segments: Segments, sessions: Longs) -> DataFrame:
    """Rows of all stories, with their places."""
    told = pieces.mapInArrow(_told(segments, sessions), "bucket int, client boolean, blob binary")
    count = min(BUCKETS, part_count(pieces.sparkSession))
    parts = told.repartition(count, "bucket").sortWithinPartitions("bucket")
    return parts.mapInArrow(_stories, STORIES).persist(StorageLevel.MEMORY_AND_DISK)


def _told(segments: Segments, sessions: Longs) -> Callable[[Iterable[Any]], Iterator[Any]]:
    def work(batches: Iterable[Any]) -> Iterator[Any]:
        pa = load()
        for columns in read_pieces(batches):
            at = np.flatnonzero(is_replaced(columns, sessions))
            if not len(at):
                continue
            t, tie = segments.places(columns)
            bucket = columns.session_number[at] % BUCKETS
            client = columns.has("source", ["client"])[at]
            for each in distinct(bucket).tolist():
                for is_client in (False, True):
                    mine = at[(bucket == each) & (client == is_client)]
                    if not len(mine):
                        continue
                    table = columns.table(PLACED, mine)
                    table = table.append_column("t", pa.array(t[mine]))
                    table = table.append_column("tie", pa.array(tie[mine]))
                    arrays = [pa.array([each], pa.int32()), pa.array([is_client])]
                    arrays.append(pa.array([packed(table)]))
                    yield pa.RecordBatch.from_arrays(arrays, names=["bucket", "client", "blob"])

    return work


def _stories(batches: Iterable[Any]) -> Iterator[Any]:
    pa = load()
    for _, lines in together(batches):
        tables = [pa.ipc.open_stream(blob).read_all() for _, blob in lines]
        client = np.repeat([is_client for is_client, _ in lines], [len(one) for one in tables])
        table = pa.concat_tables([plain(one) for one in tables])
        kept, t, tie = _joined(table, client)
        table = table.take(pa.array(kept)).drop_columns(["t", "tie"])
        table = table.append_column("t", pa.array(t)).append_column("tie", pa.array(tie))
        is_control = Columns("", len(table), table.select).has("kind", CONTROL)
        for what, chosen in ((ROWS, is_control), (MESSAGES, ~is_control)):
            blob = packed(table.filter(pa.array(chosen)))
            arrays = [pa.array([what]), pa.array([blob])]
            yield pa.RecordBatch.from_arrays(arrays, names=["what", "blob"])


def plain(table: Any) -> Any:
    """Texts instead of numbers of texts, which differ from table to table."""
    pa = load()
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(pa.string()))
    return table


def records_of(table: Any) -> list[Record]:
    """Spark has no unsigned numbers; the patterns are the same."""
    pa = load()
    schema = arrow_schema()
    found: list[Record] = []
    for batch in table.to_batches():
        arrays = [batch.column(name).cast(schema.field(name).type, safe=False) for name in COLUMNS]
        found += batch_to_rows(pa.RecordBatch.from_arrays(arrays, names=list(COLUMNS)))
    return found


def _joined(table: Any, is_client: Flags) -> tuple[Longs, Longs, Longs]:
    """Which rows count, and where they stand."""
    records = records_of(table)
    times, ties = table.column("t").to_pylist(), table.column("tie").to_pylist()
    number = {id(row): at for at, row in enumerate(records)}
    stories: dict[tuple[int, int, int], tuple[list[Placed], list[Placed]]] = {}
    order = sorted(range(len(records)), key=lambda at: (times[at], ties[at]))
    for at in order:
        row = records[at]
        told = stories.setdefault((row.node, row.incarnation, row.session), ([], []))
        told[not is_client[at]].append((Place(times[at], 0, ties[at]), row))
    found: list[tuple[int, int, int]] = []
    for story, daemons in stories.values():
        last, behind = None, 0
        for place, row in session_rows(story, daemons):
            behind = behind + 1 if place == last else 0
            last = place
            moved = min(behind, STORY_MIDDLE - 1) + place.before
            found.append((number[id(row)], place.time, place.position + moved))
    kept, t, tie = np.array(found, np.int64).reshape(-1, 3).T
    return kept, t, tie


def placed(run: str, blob: bytes, segments: Segments, sessions: Longs) -> Any:
    """Rows of the first look that count, with their places."""
    pa = load()
    columns = unpacked(run, blob)
    t, tie = segments.places(columns)
    kept = np.flatnonzero(~is_replaced(columns, sessions) & columns.is_ours)
    table = columns.table(tuple(COLUMNS), kept)
    return table.append_column("t", pa.array(t[kept])).append_column("tie", pa.array(tie[kept]))
