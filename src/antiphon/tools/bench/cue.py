"""How a process of a bench and its coordinator wait for each other: lines of JSON in a pipe."""

import asyncio
import select
from collections.abc import Sequence
from typing import IO

import msgspec

from antiphon.tools.bench.plan import Post, Report, Window
from antiphon.tools.bench.reception import BenchFailed

PATIENCE_S = 30.0
"""For whatever should not take long at all."""

READY = b"ready\n"


class Cue:
    """A process's end of the pipe."""

    def __init__(self, heard: IO[bytes], told: IO[bytes]) -> None:
        self._heard = heard
        self._told = told

    def posts(self) -> list[Post]:
        return msgspec.json.decode(self._heard.readline(), type=list[Post])

    def ready(self) -> None:
        self._tell(READY)

    def has_come(self) -> bool:
        return bool(select.select([self._heard], [], [], 0)[0])

    def window(self) -> Window:
        line = self._heard.readline()
        if not line:
            raise BenchFailed("the bench has ended")
        return msgspec.json.decode(line, type=Window)

    def report(self, reports: Sequence[Report]) -> None:
        self._tell(msgspec.json.encode(reports) + b"\n")

    def _tell(self, line: bytes) -> None:
        try:
            self._told.write(line)
            self._told.flush()
        except BrokenPipeError:
            pass  # the bench has ended, and nobody wants to know


class SharedCue:
    """A cue for several sessions in one loop: all must be ready, and all get the same window."""

    def __init__(self, cue: Cue, sessions: int) -> None:
        self._cue = cue
        self._missing = sessions
        self._window: asyncio.Future[Window] = asyncio.get_running_loop().create_future()
        self._reading: asyncio.Task[None] | None = None

    def ready(self) -> None:
        self._missing -= 1
        if not self._missing:
            self._cue.ready()
            # Not before: a thread that reads cannot be stopped, and who fails could not tell it.
            self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        try:
            self._window.set_result(await asyncio.to_thread(self._cue.window))
        except BenchFailed as error:
            self._window.set_exception(error)

    async def window(self) -> Window:
        # Whoever gives up must not take the window from the others.
        return await asyncio.shield(self._window)
