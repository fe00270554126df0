"""Records as Arrow columns, and back, exactly.

The columns are those of core/trace.Record, in its order, behind a few that say where a row
comes from. Ids are structs of unsigned numbers, for daemons and lives have 64 bits.

Most values of a segment repeat, so whatever is not a plain number is converted once for each
distinct value and then taken by index, which Arrow does much faster than Python.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate, chain, repeat, starmap
from operator import attrgetter
from typing import Any, NamedTuple

from antiphon.core.ids import ConfigId, Member, SessionId, ViewId
from antiphon.core.trace import Kind, Record
from antiphon.records.arrow import Array, Batch, DataType, Schema, load
from antiphon.records.segment import Heading


class Ids(NamedTuple):
    """A tuple of numbers and tuples, written as a struct; None is null."""

    make: Callable[[Iterable[Any]], Any]
    fields: tuple[tuple[str, "Shape"], ...]


class Many(NamedTuple):
    """A tuple of any length, written as a list."""

    item: "Shape"


Shape = str | Ids | Many
"""The name of an Arrow type, or what such are put together to."""

DAEMON_ID = ("daemon", "uint64")
LIFE = ("incarnation", "uint64")
CONFIG = Ids(
    ConfigId._make,
    (("epoch", "uint64"), ("coordinator", "uint64"), LIFE, ("counter", "uint32")),
)
SESSION = Ids(SessionId._make, (DAEMON_ID, LIFE, ("number", "uint32")))
MEMBER = Ids(Member._make, (DAEMON_ID, LIFE))
VIEW = Ids(ViewId._make, (("config", CONFIG), ("position", "uint64"), ("lineage", "uint64")))

COLUMNS: dict[str, Shape] = {
    "kind": "string",
    "time": "int64",
    "node": "uint64",
    "incarnation": "uint64",
    "session": "int64",
    "config": CONFIG,
    "base": CONFIG,
    "sequence": "uint64",
    "stamp": "uint64",
    "origin": SESSION,
    "first": "uint64",
    "count": "uint64",
    "service": "uint8",
    "transitional": "bool_",
    "groups": Many("string"),
    "views": Many(VIEW),
    "members": Many(MEMBER),
    "sessions": Many(SESSION),
    "together": Many(SESSION),
    "peer": "uint64",
    "reason": "string",
    "detail": "string",
    "value": "int64",
    "limit": "int64",
    "profile": "string",
    "size": "uint64",
}
"""Every column of a Record; those of an older schema are a subset, the rest at its default."""

ORIGIN_COLUMNS: dict[str, Shape] = {
    "schema": "uint16",
    "run": "string",
    "source": "string",
    "wall_us": "int64",
}
"""Where a row comes from: the same in all rows of a segment, but for the time."""

HEADING = b"antiphon"
"""Key of the file's metadata."""

DEFAULTS: dict[str, Any] = dict(
    zip(
        Record.__struct_fields__[-len(Record.__struct_defaults__) :],
        Record.__struct_defaults__,
        strict=True,
    )
)
KINDS = {kind.value: kind for kind in Kind}


@cache
def arrow_schema() -> Schema:
    pa = load()
    named = {**ORIGIN_COLUMNS, **COLUMNS}
    return pa.schema([pa.field(name, _type(shape)) for name, shape in named.items()])


@cache
def _type(shape: Shape) -> DataType:
    pa = load()
    match shape:
        case Ids():
            return pa.struct([pa.field(name, _type(part)) for name, part in shape.fields])
        case Many():
            return pa.list_(_type(shape.item))
    return getattr(pa, shape)()


# Rows to columns.


def rows_to_batch(rows: Sequence[Record], heading: Heading) -> Batch:
    pa = load()
    columns = {name: list(map(attrgetter(name), rows)) for name in COLUMNS}
    arrays = {name: _column(columns[name], COLUMNS[name]) for name in COLUMNS}
    count = len(rows)
    arrays["schema"] = pa.repeat(pa.scalar(heading.schema, pa.uint16()), count)
    arrays["run"] = pa.repeat(pa.scalar(heading.run), count)
    arrays["source"] = pa.repeat(pa.scalar(heading.source), count)
    arrays["wall_us"] = pa.compute.add(
        arrays["time"], pa.scalar(heading.wall_offset_us, pa.int64())
    )
    schema = arrow_schema()
    return pa.RecordBatch.from_arrays([arrays[name] for name in schema.names], schema=schema)


def default_column(name: str, count: int) -> Array:
    """For rows whose writer did not know the column yet."""
    return _column([DEFAULTS[name]] * count, COLUMNS[name])


def _column(values: list[Any], shape: Shape) -> Array:
    pa = load()
    if isinstance(shape, str):
        return pa.array(values, _type(shape))
    numbered: defaultdict[Any, int] = defaultdict()
    numbered.default_factory = numbered.__len__  # a value not seen before gets the next number
    places = pa.array(list(map(numbered.__getitem__, values)), pa.int32())
    return _array(list(numbered), shape).take(places)


def _array(values: Sequence[Any], shape: Shape) -> Array:
    pa = load()
    match shape:
        case Ids():
            nothing = (None,) * len(shape.fields)
            parts = zip(*(one or nothing for one in (*values, None)), strict=True)
            children = [
                _array(part[:-1], inner)
                for part, (_, inner) in zip(parts, shape.fields, strict=True)
            ]
            mask = pa.array([one is None for one in values], pa.bool_())
            return pa.StructArray.from_arrays(children, fields=list(_type(shape)), mask=mask)
        case Many():
            ends = accumulate(map(len, values), initial=0)
            items = _array(list(chain.from_iterable(values)), shape.item)
            return pa.ListArray.from_arrays(pa.array(list(ends), pa.int32()), items)
    return pa.array(values, _type(shape))


# Columns to rows.


def batch_to_rows(batch: Batch) -> Iterator[Record]:
    """The records of a batch of this schema or an older one."""
    count = batch.num_rows
    held = set(batch.schema.names)
    known: dict[Any, Any] = {}
    columns: list[Any] = []
    for name, shape in COLUMNS.items():
        if name not in held:
            columns.append(repeat(DEFAULTS[name], count))
        elif name == "kind":
            columns.append(map(KINDS.__getitem__, batch.column(name).to_pylist()))
        else:
            columns.append(_values(batch.column(name), shape, known))
    return starmap(Record, zip(*columns, strict=True))


def _values(array: Array, shape: Shape, known: dict[Any, Any]) -> list[Any]:
    """Equal ids become one object, for a trace names few of them many times."""
    match shape:
        case Ids():
            parts = [
                _values(array.field(place), inner, known)
                for place, (_, inner) in enumerate(shape.fields)
            ]
            made = [shape.make(one) for one in zip(*parts, strict=True)]
            ids = [known.setdefault((shape.make, one), one) for one in made]
            if array.null_count:
                there = array.is_valid().to_pylist()
                return [one if is_there else None for one, is_there in zip(ids, there, strict=True)]
            return ids
        case Many():
            items = _values(array.flatten(), shape.item, known)
            lengths = array.value_lengths().to_pylist()
            starts = accumulate(lengths, initial=0)
            return [tuple(items[at : at + n]) for at, n in zip(starts, lengths, strict=False)]
    plain: list[Any] = array.to_pylist()
    return plain
