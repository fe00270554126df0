"""The table of records: its columns, in types that Spark has.

They are those of a record file, behind where a row stood. Spark has no unsigned numbers, so
64 bits keep their pattern and change their sign, which loses nothing; smaller ones grow.
"""

from collections.abc import Mapping
from functools import cache

from antiphon.records.arrow import Array, Batch, DataType, Schema, load
from antiphon.records.schema import COLUMNS, arrow_schema, default_column
from antiphon.records.segment import Heading

RECORDS = "records"
OPEN = "open"
SEGMENTS = "segments"

PLACE = {
    "run": "string",
    "writer": "string",
    "source": "string",
    "boot": "string",
    "segment": "int64",
    "row": "int64",
    "wall_us": "int64",
}
"""Where a row stood: rows of a writer are in the order of segment and row."""

SIGHTING = {
    "path": "string",
    "complete": "bool_",
    "run": "string",
    "writer": "string",
    "source": "string",
    "segment": "int64",
    "rows": "int64",
    "state": "string",
    "reason": "string",
    "part": "string",
}
"""What became of a file: see segments.py, and in which part its rows are."""


@cache
def table_schema() -> Schema:
    pa = load()
    recorded = arrow_schema()
    fields = [pa.field(name, signed(recorded.field(name).type)) for name in COLUMNS]
    return pa.schema([*_schema(PLACE), *fields])


@cache
def segments_schema() -> Schema:
    return _schema(SIGHTING)


def _schema(kinds: Mapping[str, str]) -> Schema:
    pa = load()
    return pa.schema([pa.field(name, getattr(pa, kind)()) for name, kind in kinds.items()])


@cache
def signed(kind: DataType) -> DataType:
    """The type of a column as Spark can read it."""
    pa = load()
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(one.name, signed(one.type)) for one in kind])
    if pa.types.is_list(kind):
        return pa.list_(signed(kind.value_type))
    if pa.types.is_unsigned_integer(kind):
        return pa.int64() if kind.bit_width >= 32 else pa.int32()
    return kind


def to_table(batch: Batch, heading: Heading, first_row: int) -> Batch:
    """Rows of a file as rows of the table. Columns that an older schema did not have get the
    values that its writer meant."""
    pa = load()
    count = batch.num_rows
    held = set(batch.schema.names)
    place = {
        "run": heading.run,
        "writer": heading.name,
        "source": heading.source,
        "boot": heading.boot,
        "segment": heading.number,
    }
    arrays: dict[str, Array] = {
        name: pa.repeat(pa.scalar(value), count) for name, value in place.items()
    }
    arrays["row"] = pa.array(range(first_row, first_row + count), pa.int64())
    arrays["wall_us"] = batch.column("wall_us")
    for name in COLUMNS:
        column = batch.column(name) if name in held else default_column(name, count)
        arrays[name] = column.cast(signed(column.type), safe=False)
    schema = table_schema()
    return pa.RecordBatch.from_arrays([arrays[name] for name in schema.names], schema=schema)
