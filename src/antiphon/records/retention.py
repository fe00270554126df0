"""How much of a writer's past stays on disk: its oldest segments go first."""

from collections import deque
from pathlib import Path
from typing import NamedTuple

from antiphon.records.segment import UNFINISHED, parse_name


class Kept(NamedTuple):
    modified_us: int
    path: Path
    size: int


class Retention:
    """Looks at the directory once; from then on this writer alone adds files of its name."""

    def __init__(self, directory: Path, name: str, max_bytes: int, max_age_us: int) -> None:
        self._name = name
        self._max_bytes = max_bytes
        self._max_age_us = max_age_us
        self._last: dict[str, int] = {}
        """Highest number by run."""

        self.bytes = 0
        found = []
        directory.mkdir(parents=True, exist_ok=True)
        for path in directory.iterdir():
            parts = parse_name(path)
            if parts is None or parts.name != name:
                continue
            self._last[parts.run] = max(parts.number, self._last.get(parts.run, 0))
            if path.suffix == UNFINISHED:
                path.unlink(missing_ok=True)  # of a life that ended; its journal has the rows
            else:
                found.append(_kept(path))
        self._kept = deque(sorted(found))
        self.bytes = sum(one.size for one in found)

    def next_number(self, run: str) -> int:
        """Behind all that an earlier life with the same name wrote of this run."""
        return self._last.get(run, 0) + 1

    def add(self, path: Path) -> None:
        kept = _kept(path)
        self._kept.append(kept)
        self.bytes += kept.size

    def enforce(self, wall_us: int) -> None:
        while self._kept and (
            self.bytes > self._max_bytes or self._kept[0].modified_us < wall_us - self._max_age_us
        ):
            oldest = self._kept.popleft()
            oldest.path.unlink(missing_ok=True)
            self.bytes -= oldest.size


def _kept(path: Path) -> Kept:
    status = path.stat()
    return Kept(status.st_mtime_ns // 1000, path, status.st_size)
