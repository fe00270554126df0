"""What else the machine did while something was measured: figures are worth what this says."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

T = TypeVar("T")

STAT = Path("/proc/stat")
STOLEN = 7
"""Of the numbers in its first line: the host gave the processors to others."""


class Strain(NamedTuple):
    load_average: float
    stolen_percent: float
    """Of the time that processors were wanted."""

    def __str__(self) -> str:
        return f"load average {self.load_average:.2f}, {self.stolen_percent:.0f} % stolen"


class Watch:
    """Begins when it is made."""

    def __init__(self) -> None:
        self._began = _times()

    def strain(self) -> Strain:
        wanted, stolen = (now - then for now, then in zip(_times(), self._began, strict=True))
        share = 100 * stolen / wanted if wanted else 0.0
        return Strain(round(os.getloadavg()[0], 2), round(share, 1))


def calmest(
    measure: Callable[[], T], stolen_percent_max: float, tries_max: int
) -> tuple[T, Strain]:
    """Measured while the host took no more than that of the processors. If it did, once more; of
    all tries the one with the least taken, whatever was measured."""
    found: list[tuple[T, Strain]] = []
    while len(found) < tries_max:
        watch = Watch()
        measured = measure()
        found.append((measured, watch.strain()))
        if found[-1][1].stolen_percent <= stolen_percent_max:
            break
    return min(found, key=lambda one: one[1].stolen_percent)


def _times() -> tuple[int, int]:
    """Ticks that processors were wanted, and how many of these were stolen."""
    fields = STAT.read_text().split("\n", 1)[0].split()[1:]
    ticks = [int(field) for field in fields[:8]]
    idle = ticks[3] + ticks[4]
    return sum(ticks) - idle, ticks[STOLEN]
