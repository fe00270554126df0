"""Daemons that lost each other are nothing to measure: such a run is repeated, told and counted.

The machine had no time for one of them, and half an hour of other runs is not to be lost by it."""

from collections.abc import Callable
from typing import TypeVar

from antiphon.tools.bench.reception import DaemonsParted
from antiphon.tools.bench.traffic import Say

T = TypeVar("T")

TRIES_MAX = 3


class Repeats:
    def __init__(self, tell: Say) -> None:
        self._tell = tell
        self.count = 0

    def measure(self, run: Callable[[], T]) -> T:
        for _ in range(TRIES_MAX - 1):
            try:
                return run()
            except DaemonsParted as error:
                self.count += 1
                self._tell(f"measured again: {error}")
        return run()
