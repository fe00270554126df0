"""The files of kept groups: one for each part, in a folder of the daemon's own.

What is appended is handed to the operating system, so it outlives this process; a machine that
loses its power may lose the last seconds, and the node finds out by the checksums.
"""

import mmap
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from antiphon.core.effects import Append, Appended, Discard
from antiphon.core.errors import ConfigError
from antiphon.protocol.retain.parts import Stored
from antiphon.protocol.retain.retain import number_of

KEY = re.compile(r"log-\d+")
FILES_OPEN_MAX = 64


class Store:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[str, int] = {}
        """Files by key, those used last at the end."""

        self.answers: list[Appended] = []
        """For the node: what became of its appends."""

    def prepare(self) -> None:
        """ConfigError if there is no folder to write to."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            usable = os.access(self._folder, os.W_OK | os.X_OK)
        except OSError as error:
            what = f"{self._folder}: {(error.strerror or str(error)).lower()}"
            raise ConfigError("store.directory", what, "name a folder that can be used") from None
        if not usable:
            what = f"{self._folder} cannot be written to"
            raise ConfigError("store.directory", what, "name a folder that can be used")

    def found(self, tell: bool) -> Iterator[Stored]:
        """What earlier lives have left, oldest first."""
        names = [path.name for path in self._folder.iterdir() if KEY.fullmatch(path.name)]
        for key in sorted(names, key=number_of):
            path = self._folder / key
            age_us = int(max(0.0, time.time() - path.stat().st_mtime) * 1e6)
            with path.open("rb") as file:
                if not path.stat().st_size:
                    yield Stored(key, b"", age_us, tell)
                    continue
                with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
                    with memoryview(mapped) as data:
                        yield Stored(key, data, age_us, tell)

    def append(self, effect: Append) -> None:
        try:
            file = self._file(effect.key, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            written = os.write(file, effect.data)
            fault = "" if written == len(effect.data) else "no space left on device"
        except OSError as error:
            fault = (error.strerror or str(error)).lower()
        self.answers.append(Appended(effect.key, fault))

    def discard(self, effect: Discard) -> None:
        file = self._open.pop(effect.key, None)
        if file is not None:
            os.close(file)
        (self._folder / effect.key).unlink(missing_ok=True)

    def read(self, key: str, at: int, size: int) -> bytes:
        """OSError if it cannot be read."""
        return os.pread(self._file(key, os.O_RDWR | os.O_APPEND), size, at)

    def close(self) -> None:
        for file in self._open.values():
            os.close(file)
        self._open.clear()

    def _file(self, key: str, flags: int) -> int:
        file = self._open.pop(key, None)
        if file is None:
            file = os.open(self._folder / key, flags, 0o640)
        self._open[key] = file
        if len(self._open) > FILES_OPEN_MAX:
            os.close(self._open.pop(next(iter(self._open))))
        return file
