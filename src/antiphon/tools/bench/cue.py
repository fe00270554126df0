"""How a process of a bench and its coordinator wait for each other: lines of JSON in a pipe."""

import select
import sys
from typing import IO

import msgspec

from antiphon.tools.bench.plan import Post, Report, Window

PATIENCE_S = 30.0
"""For whatever should not take long at all."""

READY = b"ready\n"


class Cue:
    """A process's end of the pipe."""

    def __init__(self, heard: IO[bytes], told: IO[bytes]) -> None:
        self._heard = heard
        self._told = told

    def post(self) -> Post:
        return msgspec.json.decode(self._heard.readline(), type=Post)

    def ready(self) -> None:
        self._told.write(READY)
        self._told.flush()

    def has_come(self) -> bool:
        return bool(select.select([self._heard], [], [], 0)[0])

    def window(self) -> Window:
        line = self._heard.readline()
        if not line:
            sys.exit("the bench has ended")
        return msgspec.json.decode(line, type=Window)

    def report(self, report: Report) -> None:
        self._told.write(msgspec.json.encode(report) + b"\n")
        self._told.flush()
