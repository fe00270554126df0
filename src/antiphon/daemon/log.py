"""The log: one line a thing, text for people or JSON for programs; repeats are counted.

Size and age are bounded. A disk that is full loses lines, never service.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import msgspec

from antiphon.core.errors import ConfigError

LEVELS = ("debug", "info", "warning", "error")
REPEAT_US = 5_000_000
"""The same event within this time is counted, and told with the next one."""

REMEMBERED = 512
PARTS = 4
"""A log and its predecessors; each has its part of the bytes."""


class Log:
    def __init__(
        self,
        path: str = "",
        form: str = "text",
        level: str = "info",
        max_bytes: int = 1 << 30,
        max_age_us: int = 7 * 86_400_000_000,
        wall: Callable[[], float] = time.time,
        stream: IO[str] | None = None,
    ) -> None:
        self.lost = 0
        """Lines that could not be written."""

        self._path = Path(path) if path else None
        self._json = form == "json"
        self._least = LEVELS.index(level)
        self._part_bytes = max_bytes // PARTS
        self._max_age = max_age_us / 1e6
        self._wall = wall
        self._stream = stream or sys.stderr
        self._size = 0
        self._said: dict[tuple[str, str], tuple[float, int]] = {}
        """When an event was last told, and how often it came since."""

        if self._path is not None:
            try:
                self._open(self._path)
            except OSError as error:
                what = f"{path}: {(error.strerror or str(error)).lower()}"
                raise ConfigError("log.file", what, "name a file that can be written") from None

    def debug(self, event: str, text: str = "", **fields: Any) -> None:
        self._say(0, event, text, fields)

    def info(self, event: str, text: str = "", **fields: Any) -> None:
        self._say(1, event, text, fields)

    def warning(self, event: str, text: str = "", **fields: Any) -> None:
        self._say(2, event, text, fields)

    def error(self, event: str, text: str = "", **fields: Any) -> None:
        self._say(3, event, text, fields)

    def repeated(self, event: str, subject: str, text: str) -> None:
        """A warning that may come in floods."""
        now = self._wall()
        last, missed = self._said.get((event, subject), (-1e18, 0))
        if now - last < REPEAT_US / 1e6:
            self._said[event, subject] = (last, missed + 1)
            return
        if len(self._said) >= REMEMBERED:
            self._said.clear()
        self._said[event, subject] = (now, 0)
        self.warning(event, f"{text} (and {missed} more before)" if missed else text)

    def _say(self, level: int, event: str, text: str, fields: dict[str, Any]) -> None:
        if level < self._least:
            return
        now = self._wall()
        stamp = (
            time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03}Z"
        )
        if self._json:
            row = {"time": stamp, "level": LEVELS[level], "event": event, "text": text, **fields}
            line = msgspec.json.encode(row).decode()
        else:
            told = "".join(f" {name}={value}" for name, value in fields.items())
            line = f"{stamp} {LEVELS[level]:7} {event}: {text}{told}"
        self._write(line + "\n")

    def _write(self, line: str) -> None:
        try:
            self._stream.write(line)
            self._stream.flush()
        except (OSError, ValueError):
            self.lost += 1
            if self._path is not None and self._stream.closed:
                self._try_open(self._path)
            return
        self._size += len(line)
        if self._path is not None and self._size > self._part_bytes:
            self._rotate(self._path)

    def _open(self, path: Path, mode: str = "a") -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._stream = path.open(mode, encoding="utf-8")
        self._size = path.stat().st_size

    def _try_open(self, path: Path) -> None:
        """Anew and empty: the limit holds even where nothing can be renamed."""
        try:
            self._open(path, "w")
        except OSError:
            pass  # lines are lost until it can be

    def _rotate(self, path: Path) -> None:
        """log.2 becomes log.3, log.1 log.2, and so on; what is too old goes."""
        try:
            self._stream.close()
            for number in range(PARTS - 1, 0, -1):
                older = _numbered(path, number)
                newer = _numbered(path, number - 1)
                if newer.exists():
                    newer.replace(older)
                if older.exists() and self._wall() - older.stat().st_mtime > self._max_age:
                    older.unlink()
            self._open(path)
        except OSError:
            self.lost += 1
            self._try_open(path)


def _numbered(path: Path, number: int) -> Path:
    return path if not number else path.with_name(f"{path.name}.{number}")
