"""Writes the records of one process to segments, and never stands in its way.

    add       appends to a list
    spill     hands new rows to the journal; call it before what they tell of leaves the process
    maybe_rotate   turns a batch of rows to columns when there are enough, closes a full segment

Nothing here raises for the sake of a disk: rows that cannot be written are dropped and counted,
and the next segment that can be written begins with a `drop` row that says how many.
"""

import errno
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import msgspec

from antiphon.core.errors import ConfigError
from antiphon.core.machine import SECOND
from antiphon.core.trace import Kind, Record
from antiphon.records.arrow import load
from antiphon.records.journal import frame
from antiphon.records.retention import Retention
from antiphon.records.schema import HEADING, arrow_schema, rows_to_batch
from antiphon.records.segment import (
    JOURNAL,
    SEGMENT,
    UNFINISHED,
    Heading,
    SegmentName,
    check_words,
)

DISK_FULL = "disk_full"
IO_ERROR = "records_io"
OVERFLOW = "records_overflow"
"""Reasons of drops."""

FULL = (errno.ENOSPC, errno.EDQUOT)
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

OpenFile = Callable[[Path], IO[bytes]]


@dataclass(frozen=True, slots=True)
class SegmentLimits:
    batch_rows: int = 2_000
    """Converted at once: some 8 ms during which the loop stands still. More only when so many have
    come in a turn that they would gather: then a quarter of what is held."""

    segment_rows: int = 20_000
    segment_bytes: int = 4 << 20
    """Of the journal; columns take about a quarter of it."""

    segment_age_us: int = 10 * SECOND
    """Readers that take only complete segments lag behind by so much."""

    held_rows_max: int = 50_000
    """In memory, if nobody calls `spill`; what comes on top is dropped."""

    retry_us: int = SECOND
    """After a failure the disk is left alone for so long, and rows are dropped."""


def open_new(path: Path) -> IO[bytes]:
    return path.open("wb")


def boot_id() -> str:
    """Empty where the system does not tell."""
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return ""


class SegmentWriter:
    def __init__(
        self,
        directory: Path,
        name: str,
        source: str,
        run: str,
        clock: Callable[[], int],
        *,
        max_bytes: int = 1 << 30,
        max_age_us: int = 7 * 24 * 3600 * SECOND,
        limits: SegmentLimits | None = None,
        wall: Callable[[], int] = lambda: time.time_ns() // 1000,
        open_file: OpenFile = open_new,
    ) -> None:
        check_words(name, run, source)
        load()  # now, and not when the first segment is due
        self.dropped: Counter[str] = Counter()
        """Rows lost, by reason."""

        self.written = 0
        self._limits = limits or SegmentLimits()
        self._clock = clock
        self._wall = wall
        self._open = open_file
        self._directory = directory
        try:
            self._retention = Retention(directory, name, max_bytes, max_age_us)
        except OSError as error:
            raise ConfigError(
                "records.directory",
                f"{directory} cannot be used: {error.strerror}",
                "name a directory that this process may write to",
            ) from error
        self._heading = Heading(
            run,
            source,
            name,
            self._retention.next_number(run),
            0 if source == "sim" else wall() - clock(),
            boot_id(),
        )
        self._rows: list[Record] = []
        """Not yet columns; of these the first `_spilled` are in the journal."""

        self._spilled = 0
        self._untold: Counter[str] = Counter()
        """Drops that no row tells of yet."""

        self._telling: Counter[str] = Counter()
        """Drops that the segment in hand begins with; told when it is complete."""

        self._retry_at = 0
        self._reason = IO_ERROR
        self._forget_segment()

    def _forget_segment(self) -> None:
        self._journal: IO[bytes] | None = None
        self._file: IO[bytes] | None = None
        self._columns: Any = None
        self._began = 0
        self._batched = 0
        self._bytes = 0

    def _path(self, suffix: str) -> Path:
        named = SegmentName(self._heading.name, self._heading.run, self._heading.number)
        return named.path(self._directory, suffix)

    # What the driver calls.

    def add(self, record: Record) -> None:
        if len(self._rows) < self._limits.held_rows_max:
            self._rows.append(record)
        else:
            self._count(OVERFLOW, 1)

    def spill(self, now: int) -> None:
        """From here on the rows survive the process."""
        rows = self._rows
        if self._spilled == len(rows):
            return
        if now < self._retry_at:
            self._lose(self._reason)
            return
        try:
            if self._journal is None:
                self._begin(now)
            assert self._journal is not None, "begun"
            raw = frame(rows[self._spilled :] if self._spilled else rows)
            self._journal.write(raw)
            self._journal.flush()
        except OSError as error:
            self._fail(now, error)
            return
        self._spilled = len(rows)
        self._bytes += len(raw)

    def maybe_rotate(self, now: int) -> None:
        """Call it once in every turn of the loop: it does a piece of what there is to do."""
        self.spill(now)
        limits = self._limits
        if self._journal is None:
            return
        is_full = (
            self._batched + len(self._rows) >= limits.segment_rows
            or self._bytes >= limits.segment_bytes
            or now - self._began >= limits.segment_age_us
        )
        if is_full or len(self._rows) >= limits.batch_rows:
            self._write(now, close=is_full)

    def close(self) -> None:
        """The last segment is complete, and the writer done."""
        now = self._clock()
        self._retry_at = now
        self.spill(now)
        while self._journal is not None:
            self._write(now, close=True)

    # One segment.

    def _begin(self, now: int) -> None:
        """A new segment with its journal; what was lost before stands first in it."""
        self._began = now
        self._journal = self._open(self._path(JOURNAL))
        self._journal.write(frame(self._heading))
        self._telling, self._untold = self._untold, Counter()
        whose = self._rows[0].node, self._rows[0].incarnation
        self._rows[:0] = [
            Record(Kind.DROP, self._rows[0].time, *whose, reason=reason, value=count)
            for reason, count in sorted(self._telling.items())
        ]

    def _write(self, now: int, close: bool) -> None:
        """A batch; with the last one the segment is closed, if that is wished."""
        rows = self._rows[: max(self._limits.batch_rows, len(self._rows) // 4)]
        try:
            if self._columns is None:
                self._open_columns()
            self._columns.write_batch(rows_to_batch(rows, self._heading))
            self._batched += len(rows)
            del self._rows[: len(rows)]
            self._spilled -= len(rows)
            if close and not self._rows:
                self._finish()
        except OSError as error:
            self._fail(now, error)

    def _open_columns(self) -> None:
        ipc = load().ipc
        self._file = self._open(self._path(UNFINISHED))
        schema = arrow_schema().with_metadata({HEADING: msgspec.json.encode(self._heading)})
        options = ipc.IpcWriteOptions(compression="lz4")
        self._columns = ipc.new_file(self._file, schema, options=options)

    def _finish(self) -> None:
        assert self._file is not None and self._journal is not None, "there is a segment"
        self._columns.close()
        self._file.close()
        path = self._path(SEGMENT)
        self._path(UNFINISHED).rename(path)
        self.written += self._batched
        self._batched = 0  # from here on nothing of it can be lost
        self._telling.clear()
        self._journal.close()
        self._path(JOURNAL).unlink(missing_ok=True)
        self._retention.add(path)
        self._retention.enforce(self._wall())
        self._next_segment()

    def _next_segment(self) -> None:
        self._forget_segment()
        self._heading = msgspec.structs.replace(self._heading, number=self._heading.number + 1)

    # When it cannot be written.

    def _fail(self, now: int, error: OSError) -> None:
        """The whole segment is lost, and the disk left alone for a while."""
        self._reason = DISK_FULL if error.errno in FULL else IO_ERROR
        self._retry_at = now + self._limits.retry_us
        self._count(self._reason, self._batched - len(self._telling))
        self._lose(self._reason)
        self._untold += self._telling
        self._telling.clear()
        for file in (self._journal, self._file):
            if file is not None:
                try:
                    file.close()
                except OSError:
                    pass  # it is lost already
        for suffix in (JOURNAL, UNFINISHED):
            try:
                self._path(suffix).unlink(missing_ok=True)
            except OSError:
                pass  # left for whoever repairs the directory
        self._next_segment()

    def _lose(self, reason: str) -> None:
        self._count(reason, len(self._rows))
        self._rows.clear()
        self._spilled = 0

    def _count(self, reason: str, rows: int) -> None:
        """Rows that tell of drops are no loss: `_telling` keeps what they say."""
        self.dropped[reason] += rows
        self._untold[reason] += rows
