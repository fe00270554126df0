"""Which record files a follower has met, exactly, and small enough to be kept with every batch.

Numbers of segments are kept as ranges, for each writer and run in a folder: one that comes late,
below others, is still new. What may change is kept by path and size: journals, files that do not
end as a segment does (a copy under way), and files that were renamed.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from antiphon.core.ranges import RangeSet
from antiphon.records.segment import SEGMENT, parse_name

END = b"ARROW1"
"""Of every file that Arrow has finished."""

Met = dict[str, Any]
"""`segments`: runs of numbers by folder, writer and run. `others`: sizes by path."""


def nothing() -> Met:
    return {"segments": {}, "others": {}}


def meet(before: Met, files: Iterable[Path]) -> Met:
    """What is known when these are there, too. Segments stay known when they are removed; the
    same files give the same text, so that nothing new is seen as such."""
    segments = {series: RangeSet(runs) for series, runs in before["segments"].items()}
    others = {}
    for path in files:
        series, number = _place(path)
        if number in segments.get(series, ()):
            continue
        try:
            if series and _is_complete(path):
                segments.setdefault(series, RangeSet()).add(number)
            else:
                others[str(path)] = path.stat().st_size
        except FileNotFoundError:
            continue  # a journal that became a segment, which is met next time
    return {
        "segments": {series: [*map(list, segments[series].runs())] for series in sorted(segments)},
        "others": dict(sorted(others.items())),
    }


def between(before: Met, after: Met) -> Iterator[str]:
    """Paths that a batch has to look at: segments that were not met before, and everything
    that may have changed, for a batch replaces all that is in hand."""
    for series, runs in after["segments"].items():
        new = RangeSet(runs)
        for first, last in before["segments"].get(series, ()):
            new.remove_run(first, last)
        for number in new:
            yield str(_path(series, number))
    yield from after["others"]


def _place(path: Path) -> tuple[str, int]:
    """A series of segments and a number in it, from which the path can be made again; no series
    if it cannot."""
    parts = parse_name(path)
    if parts is not None:
        series = str(path.with_name(f"{parts.name}-{parts.run}"))
        if _path(series, parts.number) == path:
            return series, parts.number
    return "", 0


def _path(series: str, number: int) -> Path:
    return Path(f"{series}-{number:08}{SEGMENT}")


def _is_complete(path: Path) -> bool:
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - len(END)))
        return file.read() == END
