"""The first look at all rows: what segments there are, the rows that are not about messages,
whose story a client tells, and where in the order messages were stamped.

Every later step asks for less than this, or knows what to look for.
"""

import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from antiphon.core.trace import Kind
from antiphon.pipeline.session import part_count
from antiphon.pipeline.verify.files import Columns, Piece, lists, longs_of, read_piece
from antiphon.pipeline.verify.histories import Line, lines_of
from antiphon.pipeline.verify.names import Flags, Longs, distinct, list_numbers, mixed
from antiphon.records.arrow import load
from antiphon.records.gather import TOLD_BY_CLIENTS
from antiphon.records.schema import COLUMNS

CONTROL = (
    *(Kind.START, Kind.STOP, Kind.QUIET, Kind.REACH, Kind.TRANSITIONAL, Kind.INSTALL),
    *(Kind.OPEN, Kind.CLOSE, Kind.JOIN, Kind.LEAVE, Kind.VIEW, Kind.SIGNAL, Kind.LEFT),
    *(Kind.REFUSE, Kind.BUFFERS, Kind.BACKLOG),
)
SEEN = "what string, run string, blob binary"
LINES, ROWS, CLIENTS, STAMPS, WANTED = "lines", "rows", "clients", "stamps", "wanted"
SERVICES = "services"

PLACED = ("writer", "segment", "row", "wall_us", *COLUMNS)
"""What is kept of a row that is read again."""

CONFIG_FIELDS = ("epoch", "coordinator", "incarnation", "counter")
ORIGIN_FIELDS = ("daemon", "incarnation", "number")

Members = tuple[tuple[int, int], ...]


class FirstLook(NamedTuple):
    """What came to the driver. `rest` holds the other rows of `SEEN`."""

    lines: list[Line]
    clients: dict[str, Longs]
    """By run: hashes of the sessions that clients tell of."""

    wanted: dict[str, dict[int, Members]]
    """By run: the sets of daemons that messages were for, by their hash."""

    services: dict[str, frozenset[int]]
    """By run: those that its messages have."""

    rest: DataFrame


def look_at(pieces: DataFrame) -> FirstLook:
    seen = pieces.mapInArrow(_look, SEEN).persist(StorageLevel.MEMORY_AND_DISK)
    lines: list[Line] = []
    clients: dict[str, list[Longs]] = {}
    wanted: dict[str, dict[int, Members]] = {}
    services: dict[str, frozenset[int]] = {}
    for row in seen.where(seen.what.isin(LINES, CLIENTS, WANTED, SERVICES)).collect():
        found = pickle.loads(row.blob)
        if row.what == LINES:
            lines += found
        elif row.what == CLIENTS:
            clients.setdefault(row.run, []).append(found)
        elif row.what == SERVICES:
            services[row.run] = services.get(row.run, frozenset()) | found
        else:
            wanted.setdefault(row.run, {}).update(found)
    told = {run: distinct(np.concatenate(parts)) for run, parts in clients.items()}
    return FirstLook(lines, told, wanted, services, seen)


def pieces_of(spark: SparkSession, pieces: Sequence[Piece]) -> DataFrame:
    """The pieces as rows, one task each as far as there are many."""
    columns = "path string, run string, first int, end int, passed array<string>"
    table = spark.createDataFrame(list(pieces), columns)
    return table.repartition(min(len(pieces), part_count(spark)))


def read_pieces(batches: Iterable[Any]) -> Iterator[Columns]:
    """In a task: the rows of the pieces whose names come in."""
    for batch in batches:
        for line in batch.to_pylist():
            yield from read_piece(Piece(**line))


def _look(batches: Iterable[Any]) -> Iterator[Any]:
    for columns in read_pieces(batches):
        found = [(LINES, pickle.dumps(lines_of(columns)))]
        clients = _clients(columns)
        if len(clients):
            found.append((CLIENTS, pickle.dumps(clients)))
        control = np.flatnonzero(columns.has("kind", CONTROL))
        if len(control):
            found.append((ROWS, packed(columns.table(PLACED, control))))
        sends = np.flatnonzero(columns.has("kind", [Kind.SEND]) & (columns.longs("count") > 0))
        if len(sends):
            found.append((STAMPS, _stamps(columns, sends).tobytes()))
            seen = distinct(columns.longs("service")[sends]).tolist()
            found.append((SERVICES, pickle.dumps(frozenset(seen))))
            wanted = _wanted(columns, sends)
            if wanted:
                found.append((WANTED, pickle.dumps(wanted)))
        pa = load()
        whats, blobs = zip(*found, strict=True)
        arrays = [pa.array(whats), pa.array([columns.run] * len(whats)), pa.array(blobs)]
        yield pa.RecordBatch.from_arrays(arrays, names=["what", "run", "blob"])


def packed(table: Any) -> bytes:
    pa = load()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as out:
        out.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def unpacked(run: str, blob: bytes) -> Columns:
    table = load().ipc.open_stream(blob).read_all()
    return Columns(run, table.num_rows, table.select)


def is_told(columns: Columns) -> Flags:
    """Rows that a client tells better than its daemon."""
    return columns.has("kind", tuple(TOLD_BY_CLIENTS))


def _clients(columns: Columns) -> Longs:
    if "client" not in columns.codes("source")[1]:
        return np.empty(0, np.int64)
    chosen = columns.has("source", ["client"]) & is_told(columns)
    return distinct(columns.session_number[chosen])


def _stamps(columns: Columns, chosen: Longs) -> Longs:
    """Of each stamping: origin, first number, configuration, stamp, service."""
    config = mixed(*(columns.field("config", name)[chosen] for name in CONFIG_FIELDS))
    origin = mixed(*(columns.field("origin", name)[chosen] for name in ORIGIN_FIELDS))
    first, stamp, service = (columns.longs(name)[chosen] for name in ("first", "stamp", "service"))
    return np.stack([origin, first, config, stamp, service])


def _wanted(columns: Columns, chosen: Longs) -> dict[int, Members]:
    starts, counts, items = lists(columns.arrow("members")[0])
    full = chosen[counts[chosen] > 0]
    if not len(full):
        return {}
    numbers = member_sets(columns, full)
    _, first = np.unique(numbers, return_index=True)
    found: dict[int, Members] = {}
    for at in first.tolist():
        start, count = int(starts[full[at]]), int(counts[full[at]])
        members = items.slice(start, count).to_pylist()
        found[int(numbers[at])] = tuple(
            (one["daemon"] % 2**64, one["incarnation"] % 2**64) for one in members
        )
    return found


def member_sets(columns: Columns, chosen: Longs) -> Longs:
    """A number for each row's list of members; 0 for none."""
    starts, counts, items = lists(columns.arrow("members")[0])
    if not counts[chosen].any():
        return np.zeros(len(chosen), np.int64)
    each = mixed(*(longs_of(items.field(name)) for name in ("daemon", "incarnation")))
    return list_numbers(starts[chosen], counts[chosen], each)
