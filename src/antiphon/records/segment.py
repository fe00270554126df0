"""What a record file is called and what it says about itself.

<name>-<run>-<number>.arrow     a segment: closed, complete, never changed again
<name>-<run>-<number>.rows      the journal of the segment that is being written
<name>-<run>-<number>.tmp       a segment that is not complete; nobody reads it
"""

import re
from pathlib import Path
from typing import NamedTuple

import msgspec

from antiphon.core.errors import UsageError
from antiphon.core.trace import SCHEMA

SEGMENT = ".arrow"
JOURNAL = ".rows"
UNFINISHED = ".tmp"

SOURCES = ("daemon", "client", "sim")
"""Who writes: a daemon, a client's library, or whoever plays the world (simulator, chaos)."""


class Heading(msgspec.Struct, frozen=True):
    """Written into every file, so that a renamed or copied one is still known."""

    run: str
    """All files of one run are judged together."""

    source: str
    name: str
    """The writer; with run and number the identity of a segment."""

    number: int = 0
    wall_offset_us: int = 0
    """Add it to `time` to get microseconds since 1970, by the clock of that machine."""

    boot: str = ""
    """Which boot of which machine: times of one boot can be compared as they are."""

    schema: int = SCHEMA


class SegmentName(NamedTuple):
    name: str
    run: str
    number: int

    def path(self, directory: Path, suffix: str) -> Path:
        return directory / f"{self.name}-{self.run}-{self.number:08}{suffix}"


def parse_name(path: Path) -> SegmentName | None:
    """None if this is no record file."""
    parts = re.fullmatch(r"(.+)-([^-]+)-(\d{8,})", path.stem)
    if parts is None or path.suffix not in (SEGMENT, JOURNAL, UNFINISHED):
        return None
    return SegmentName(parts[1], parts[2], int(parts[3]))


def check_words(name: str, run: str, source: str) -> None:
    """The caller's words can be a file name and be found again in it."""
    if not re.fullmatch(r"[\w.-]+", name):
        raise UsageError(
            "bad_record_name", f"{name!r} cannot name a record file", "use letters, digits, - . _"
        )
    if not re.fullmatch(r"[\w.]+", run):
        raise UsageError("bad_run_name", f"{run!r} cannot name a run", "use letters, digits, . _")
    if source not in SOURCES:
        raise UsageError(
            "bad_record_source", f"{source!r} writes no records", "use " + ", ".join(SOURCES)
        )
