"""Record files as the pipeline meets them: what one is, and its rows, whatever befell it.

A file may be torn, copied twice, of an older version, or still be written. None of that is an
error; it is told, and counted.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from antiphon.core.trace import SCHEMA
from antiphon.pipeline.tables import to_table
from antiphon.records import journal
from antiphon.records.arrow import Batch, load
from antiphon.records.schema import HEADING, rows_to_batch
from antiphon.records.segment import JOURNAL, SEGMENT, Heading

WHOLE = "whole"
TORN = "torn"
NEWER = "newer_schema"
GONE = "gone"
DUPLICATE = "duplicate"

BROKEN = (ValueError, OSError, KeyError, msgspec.MsgspecError)
NOTHING = Heading("", "", "")


class Sighting(NamedTuple):
    """What was found in a file."""

    path: str
    complete: bool
    """A segment, which never changes again; a journal may go on."""

    run: str
    writer: str
    source: str
    segment: int
    rows: int
    """That can be read."""

    state: str
    reason: str


def look(path: Path) -> Sighting:
    """Reads it to the end."""
    complete = path.suffix == SEGMENT
    heading, rows, state, reason = NOTHING, 0, WHOLE, ""
    try:
        heading = read_heading(path)
        if heading.schema > SCHEMA:
            state, reason = NEWER, f"schema {heading.schema}; {SCHEMA} is the newest known here"
        else:
            for batch in _batches(path, heading):
                rows += batch.num_rows
            if path.suffix == JOURNAL and journal.read_rows(path)[1]:
                state, reason = TORN, "the journal ends inside a frame"
    except FileNotFoundError:
        segment = path.with_suffix(SEGMENT)
        if not complete and segment.exists():
            return look(segment)  # which its journal has become meanwhile
        state, reason = GONE, "its writer has removed it"
    except BROKEN as error:
        state, reason = TORN, f"{type(error).__name__}: {error}".splitlines()[0]
    return Sighting(
        str(path),
        complete,
        heading.run,
        heading.name,
        heading.source,
        heading.number,
        rows,
        state,
        reason,
    )


def read_heading(path: Path) -> Heading:
    if path.suffix == JOURNAL:
        return journal.read_heading(path)
    with path.open("rb") as file, load().ipc.open_file(file) as opened:
        return msgspec.json.decode((opened.schema.metadata or {})[HEADING], type=Heading)


def rows_of(path: Path) -> Iterator[Batch]:
    """Rows of the table, up to where the file is broken. FileNotFoundError if a segment is gone
    since it was looked at: it must not count as taken."""
    first_row = 0
    try:
        heading = read_heading(path)
        for batch in _batches(path, heading):
            yield to_table(batch, heading, first_row)
            first_row += batch.num_rows
    except BROKEN as error:
        if isinstance(error, FileNotFoundError) and path.suffix == SEGMENT:
            raise
        # Else `look` has told why, or a journal has become a segment.


def _batches(path: Path, heading: Heading) -> Iterator[Batch]:
    if path.suffix == JOURNAL:
        rows, _ = journal.read_rows(path)
        if rows:
            yield rows_to_batch(rows, heading)
        return
    with path.open("rb") as file, load().ipc.open_file(file) as opened:
        for number in range(opened.num_record_batches):
            batch = opened.get_batch(number)
            batch.validate(full=True)  # spoiled offsets would lead anywhere in memory
            yield batch
