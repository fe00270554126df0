"""Every record survives the way to columns and back."""

import string
import subprocess
import sys
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.core.ids import ConfigId, Member, SessionId, ViewId
from antiphon.core.trace import SCHEMA, Kind, Record
from antiphon.records.schema import COLUMNS, arrow_schema, batch_to_rows, rows_to_batch
from antiphon.records.segment import Heading

HEADING = Heading("r", "daemon", "d1", wall_offset_us=1_000)

wide = st.integers(0, 2**64 - 1)
small = st.integers(0, 2**32 - 1)
signed = st.integers(-(2**63), 2**63 - 1)
words = st.text(string.printable + "äß⏳", max_size=8)
members = st.builds(Member, wide, wide)
configs = st.builds(ConfigId, wide, wide, wide, small)
sessions = st.builds(SessionId, wide, wide, small)
views = st.builds(ViewId, configs, wide, wide)


def many(item: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(item, max_size=3).map(tuple)


BY_TYPE: dict[str, st.SearchStrategy[Any]] = {
    "uint64": wide,
    "int64": signed,
    "uint8": st.integers(0, 255),
    "string": words,
    "bool_": st.booleans(),
}
SPECIAL: dict[str, st.SearchStrategy[Any]] = {
    "kind": st.sampled_from(Kind),
    "config": configs,
    "base": configs,
    "origin": sessions,
    "groups": many(words),
    "views": many(st.none() | views),
    "members": many(members),
    "sessions": many(sessions),
    "together": many(sessions),
}
records = st.builds(
    Record,
    **{
        name: SPECIAL[name] if name in SPECIAL else BY_TYPE[shape]
        for name, shape in COLUMNS.items()
        if name in SPECIAL or isinstance(shape, str)
    },
)


@given(st.lists(records | st.builds(Record, st.sampled_from(Kind), signed, wide), max_size=8))
@settings(max_examples=150, deadline=None)
def test_rows_come_back_as_they_were(rows: list[Record]) -> None:
    for row in rows:
        row.time = max(-(2**62), min(row.time, 2**62))  # the wall time must fit too
    back = list(batch_to_rows(rows_to_batch(rows, HEADING)))
    assert back == rows
    assert [type(row.kind) for row in back] == [Kind] * len(rows)


def test_every_column_of_a_record_is_a_column_of_the_file() -> None:
    assert tuple(COLUMNS) == Record.__struct_fields__


def test_a_row_says_where_it_comes_from() -> None:
    batch = rows_to_batch([Record(Kind.START, 5, 1)], HEADING)
    told = {name: batch.column(name).to_pylist() for name in arrow_schema().names[:4]}
    assert told == {"schema": [SCHEMA], "run": ["r"], "source": ["daemon"], "wall_us": [1_005]}


def test_a_column_that_an_older_schema_lacks_has_its_default() -> None:
    rows = [Record(Kind.START, 5, 1, limit=7, profile="regional")]
    older = rows_to_batch(rows, HEADING).drop_columns(["limit", "profile"])
    assert list(batch_to_rows(older)) == [Record(Kind.START, 5, 1)]


def test_the_room_loads_pyarrow_only_when_it_is_used() -> None:
    program = (
        "import sys, antiphon.records.writer, antiphon.records.gather, antiphon.records.schema;"
        "print([name for name in sys.modules if name.startswith('pyarrow')])"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert shown.stdout == "[]\n", shown
