"""Lines from a terminal, pipe or file, while the loop goes on with other things.

A thread reads, for a file cannot be waited for in a loop. It is one that nobody waits for at
the end: it may be in the midst of a read that never returns.
"""

import asyncio
import importlib
import os
import queue
import sys
import threading
from collections.abc import Callable

READ_BYTES = 65_536
Lines = list[str] | None
"""None at the end."""


class TypedLines:
    """`await lines.next()`: some lines, at least one, or None at the end."""

    def __init__(self, read: Callable[[], Lines]) -> None:
        self._read = read
        self._loop = asyncio.get_running_loop()
        self._wanted: queue.SimpleQueue[asyncio.Future[Lines]] = queue.SimpleQueue()
        threading.Thread(target=self._serve, daemon=True, name="lines").start()

    async def next(self) -> Lines:
        future: asyncio.Future[Lines] = self._loop.create_future()
        self._wanted.put(future)
        return await future

    def _serve(self) -> None:
        while True:
            future = self._wanted.get()
            try:
                found = self._read()
            except (OSError, EOFError):
                found = None
            try:
                self._loop.call_soon_threadsafe(_answer, future, found)
            except RuntimeError:
                return  # the loop has ended

    @classmethod
    def piped(cls) -> "TypedLines":
        """Of standard input, as many as have come."""
        return cls(PipeReader(sys.stdin.fileno()).read)

    @classmethod
    def prompted(cls, prompt: str) -> "TypedLines":
        """Of a terminal, one at a time, with the history and editing of readline."""
        importlib.import_module("readline")  # being loaded, it serves input()
        return cls(lambda: [input(prompt)])


def _answer(future: asyncio.Future[Lines], found: Lines) -> None:
    if not future.done():
        future.set_result(found)


class PipeReader:
    """Whole lines; the last one may have no end."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._rest = b""
        self._ended = False

    def read(self) -> Lines:
        while not self._ended:
            data = os.read(self._fd, READ_BYTES)
            self._ended = not data
            *whole, self._rest = (self._rest + data).split(b"\n")
            if self._ended and self._rest:
                whole.append(self._rest)
            if whole:
                return [line.removesuffix(b"\r").decode(errors="surrogateescape") for line in whole]
        return None
