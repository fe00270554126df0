"""Rows of many writers in one order: which history a row belongs to, and its place there.

Runs of the simulator are histories of their own. What daemons and clients recorded, each under
a run of its own, and what was noted about their world, is one history together.

A place is two numbers, `t` and `tie`: by the clock, and where clocks agree by writer and by the
writer's own order. The clock is that of records/gather: monotonic where all share a boot, else
the wall's; a clock that was set back between two segments does not turn rows round.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from antiphon.core.errors import UsageError
from antiphon.pipeline.verify.files import Columns
from antiphon.pipeline.verify.names import Longs, mixed, text_number, text_numbers

EVERYTHING = "all"
"""Name of the one history of daemons and clients."""

WRITER_BITS, SEGMENT_BITS, ROW_BITS, STORY_BITS = 16, 18, 23, 6
STORY_MIDDLE = 1 << (STORY_BITS - 1)
"""Where a row stands that no client's story moves."""

SEGMENT_SHIFT = 40
TIME_BITS = 43
PROCESS_BITS = 20
"""A place at a process is one number: the process above the time."""


class Line(NamedTuple):
    """What is known of a segment, or of some of its rows."""

    run: str
    writer: str
    source: str
    boot: str
    segment: int
    first_time: int
    time: int
    first_wall: int
    wall: int
    row: int
    rows: int


class History(NamedTuple):
    """What is judged together."""

    name: str
    origin_us: int
    """Its first time; places count from here."""

    end_us: int
    rows: int


def lines_of(columns: Columns) -> list[Line]:
    """The segments that have rows here."""
    writer, writers = columns.codes("writer")
    source, sources = columns.codes("source")
    boot, boots = columns.codes("boot")
    segment = columns.longs("segment")
    which = (writer * len(sources) + source) * len(boots) + boot
    start = _begins(which, segment)
    found, inverse = np.unique(which[start] << SEGMENT_SHIFT | segment[start], return_inverse=True)
    chosen = [np.empty(len(found), np.int64) for _ in range(4)]
    for column, each in zip(chosen, (writer, source, boot, segment), strict=True):
        column[inverse] = each[start]
    counts = np.diff(np.append(start, columns.count))
    values = [columns.longs(name) for name in ("time", "wall_us", "row")]
    lowest = [_over(np.minimum, each, start, inverse, len(found)) for each in values]
    highest = [_over(np.maximum, each, start, inverse, len(found)) for each in values]
    rows = np.bincount(inverse, counts, len(found)).astype(np.int64)
    return [
        Line(
            columns.run,
            str(writers[chosen[0][at]]),
            str(sources[chosen[1][at]]),
            str(boots[chosen[2][at]]),
            int(chosen[3][at]),
            int(lowest[0][at]),
            int(highest[0][at]),
            int(lowest[1][at]),
            int(highest[1][at]),
            int(highest[2][at]),
            int(rows[at]),
        )
        for at in range(len(found))
    ]


def _begins(*columns: Longs) -> Longs:
    """Where rows differ from the row before."""
    differs = np.zeros(len(columns[0]), np.bool_)
    differs[:1] = True
    for column in columns:
        differs[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(differs)


def _over(reduce: np.ufunc, values: Longs, start: Longs, which: Longs, size: int) -> Longs:
    each = reduce.reduceat(values, start)
    found = np.full(size, each[0], np.int64)
    found[which] = each  # some value of each; then the extreme one
    reduce.at(found, which, each)
    return found


class Segments:
    """The histories, and where rows of each segment begin."""

    def __init__(self, lines: Iterable[Line]) -> None:
        lines = _joined(lines)
        is_real = any(line.source in ("daemon", "client") for line in lines)
        by_history: dict[str, list[Line]] = {}
        for line in lines:
            by_history.setdefault(EVERYTHING if is_real else line.run, []).append(line)
        self.histories: list[History] = []
        self._known: dict[str, list[tuple[int, int, int]]] = {}
        """By run: the key of a segment, the number of its writer, and its floor."""
        self.history_of: dict[str, int] = {}
        self._by_wall: list[bool] = []
        for name, mine in sorted(by_history.items()):
            self._add(name, mine)
        self._tables = {run: _table(found) for run, found in self._known.items()}

    def _add(self, name: str, lines: list[Line]) -> None:
        by_wall = len({line.boot for line in lines if line.source != "sim"}) > 1
        origin = min(line.first_wall if by_wall else line.first_time for line in lines)
        end = max(line.wall if by_wall else line.time for line in lines)
        writers: dict[tuple[bool, str, str], list[Line]] = {}
        for line in lines:
            self.history_of[line.run] = len(self.histories)
            writers.setdefault((line.source != "client", line.writer, line.run), []).append(line)
        for writer, key in enumerate(sorted(writers)):
            floor = origin
            for line in sorted(writers[key], key=lambda line: line.segment):
                place = (_segment_key(line.writer, line.segment), writer, floor)
                self._known.setdefault(line.run, []).append(place)
                # A client writes a request when it knows its number, later than it made it.
                if line.source != "client":
                    floor = max(floor, line.wall if by_wall else line.time)
        _check("writers", len(writers), WRITER_BITS)
        _check("segments of a writer", max(line.segment for line in lines), SEGMENT_BITS)
        _check("rows of a segment", max(line.row for line in lines), ROW_BITS)
        _check("microseconds", end - origin, TIME_BITS)
        self.histories.append(History(name, origin, end, sum(line.rows for line in lines)))
        self._by_wall.append(by_wall)

    def places(self, columns: Columns) -> tuple[Longs, Longs]:
        """`t` and `tie` of each row."""
        history = self.history_of[columns.run]
        keys, writers, floors = self._tables[columns.run]
        codes, names = columns.codes("writer")
        segment = columns.longs("segment")
        start = _begins(codes, segment)
        wanted = mixed(text_numbers(names)[codes[start]], segment[start])
        which = np.searchsorted(keys, wanted)
        counts = np.diff(np.append(start, columns.count))
        floor, writer = np.repeat(floors[which], counts), np.repeat(writers[which], counts)
        clock = columns.longs("wall_us" if self._by_wall[history] else "time")
        t = np.maximum(clock, floor) - self.histories[history].origin_us
        tie = (writer << SEGMENT_BITS | segment) << ROW_BITS | columns.longs("row")
        return t, (tie << STORY_BITS) + STORY_MIDDLE


def _joined(lines: Iterable[Line]) -> list[Line]:
    """A line for each segment, of which several files may have rows."""
    found: dict[tuple[str, str, int], Line] = {}
    for line in lines:
        key = (line.run, line.writer, line.segment)
        other = found.get(key)
        if other is not None:
            line = line._replace(
                first_time=min(line.first_time, other.first_time),
                time=max(line.time, other.time),
                first_wall=min(line.first_wall, other.first_wall),
                wall=max(line.wall, other.wall),
                row=max(line.row, other.row),
                rows=line.rows + other.rows,
            )
        found[key] = line
    return list(found.values())


def _segment_key(writer: str, segment: int) -> int:
    return int(mixed(text_number(writer), segment)[0])


def _table(found: Sequence[tuple[int, int, int]]) -> tuple[Longs, Longs, Longs]:
    keys, writers, floors = np.array(sorted(found), np.int64).T
    assert (np.diff(keys) != 0).all(), "two segments have one hash; nobody has seen that"
    return keys, writers, floors


def _check(name: str, value: int, bits: int) -> None:
    if value >= 1 << bits:
        what = f"a history has {value:,} {name}; at most {(1 << bits) - 1:,} can be verified"
        raise UsageError("history_too_large", what, "choose less of it with --run")
