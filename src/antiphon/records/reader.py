"""Reads record files: complete segments, and the journals of segments that never were.

What cannot be read is named and counted, not raised: a crash tears files, and the rest of the
run is still worth reading. Only a newer schema is refused, for its rows would be misread.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec

from antiphon.core.errors import ConfigError, UsageError
from antiphon.core.trace import SCHEMA, Record
from antiphon.records import journal
from antiphon.records.arrow import load
from antiphon.records.schema import HEADING, batch_to_rows
from antiphon.records.segment import JOURNAL, SEGMENT, UNFINISHED, Heading, SegmentName


@dataclass
class Notes:
    """What reading met besides rows."""

    torn: dict[str, str] = field(default_factory=dict)
    """Files that cannot be read to their end, and why."""

    duplicates: int = 0
    unfinished: int = 0


class Segment(NamedTuple):
    path: Path
    heading: Heading

    @property
    def identity(self) -> SegmentName:
        return SegmentName(self.heading.name, self.heading.run, self.heading.number)


def read_segments(paths: Iterable[Path], notes: Notes | None = None) -> Iterator[Record]:
    """All rows of these files and directories, writer by writer, each in its own order."""
    notes = Notes() if notes is None else notes
    for segment in find_segments(paths, notes):
        yield from rows_of(segment, notes)


def find_segments(paths: Iterable[Path], notes: Notes) -> list[Segment]:
    """Each segment once, in the order of writer and number."""
    found: dict[SegmentName, Segment] = {}
    for path in _files(paths, notes):
        segment = _open(path, notes)
        if segment is None:
            continue
        if found.setdefault(segment.identity, segment) is not segment:
            notes.duplicates += 1
    return [found[identity] for identity in sorted(found)]


def _files(paths: Iterable[Path], notes: Notes) -> list[Path]:
    """Segments before journals: of the two the segment is complete."""
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise UsageError("no_records", f"there is no {path}", "name a directory of records")
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
        notes.unfinished += sum(one.suffix == UNFINISHED for one in inside)
        files += [one for one in inside if one.suffix in (SEGMENT, JOURNAL)]
    return sorted(files, key=lambda path: path.suffix != SEGMENT)


def _open(path: Path, notes: Notes) -> Segment | None:
    try:
        heading = _segment_heading(path) if path.suffix == SEGMENT else journal.read_heading(path)
    except FileNotFoundError:
        return None  # a running writer has just removed it
    except (ValueError, OSError, KeyError, msgspec.MsgspecError) as error:
        notes.torn[str(path)] = _first_line(error)
        return None
    if heading.schema > SCHEMA:
        raise ConfigError(
            str(path),
            f"it has schema {heading.schema}, this program reads schemas up to {SCHEMA}",
            "read it with the version of antiphon that wrote it, or a newer one",
        )
    return Segment(path, heading)


def _segment_heading(path: Path) -> Heading:
    with path.open("rb") as file, load().ipc.open_file(file) as opened:
        metadata = opened.schema.metadata or {}
        return msgspec.json.decode(metadata[HEADING], type=Heading)


def rows_of(segment: Segment, notes: Notes) -> list[Record]:
    """The rows of one segment, as far as it can be read."""
    rows: list[Record] = []
    try:
        if segment.path.suffix == JOURNAL:
            rows, is_torn = journal.read_rows(segment.path)
            if is_torn:
                notes.torn[str(segment.path)] = "the journal ends inside a frame"
            return rows
        with segment.path.open("rb") as file, load().ipc.open_file(file) as opened:
            for number in range(opened.num_record_batches):
                batch = opened.get_batch(number)
                batch.validate(full=True)  # spoiled offsets would lead anywhere in memory
                rows += batch_to_rows(batch)
    except FileNotFoundError:
        pass  # too old by now, or a journal that has become a segment
    except (ValueError, OSError, KeyError) as error:
        notes.torn[str(segment.path)] = _first_line(error)
    return rows


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]
