"""Processors that stay awake while round trips are measured.

A virtual machine gives up a processor that has nothing to do, and waits until it gets it back: up
to a millisecond at each of the dozen processes that a round trip wakes, and the kernel's own ping
wakes none of them. On machines of their own, as the papers had, there is no such wait.
"""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TypeVar

from antiphon.tools.bench.strain import Watch

T = TypeVar("T")

SPIN = "while kill -0 $PPID; do :; done"
"""As long as who started it lives."""

STOLEN_PERCENT_MAX = 0.5
TRIES_MAX = 5


@contextmanager
def awake() -> Iterator[None]:
    """One process on each processor that gives way to everything else."""
    with ExitStack() as stack:
        for processor in os.sched_getaffinity(0):
            spinner = subprocess.Popen(["sh", "-c", SPIN], stderr=subprocess.DEVNULL)
            stack.callback(spinner.wait)
            stack.callback(spinner.kill)
            os.sched_setscheduler(spinner.pid, os.SCHED_IDLE, os.sched_param(0))
            os.sched_setaffinity(spinner.pid, {processor})
        yield


def undisturbed(measure: Callable[[], T]) -> T:
    """Measured while the host took next to nothing of the processors, which must be awake. If it
    did, once more; of several the one with the least taken, whatever was measured."""
    found: list[tuple[float, T]] = []
    while len(found) < TRIES_MAX:
        watch = Watch()
        measured = measure()
        found.append((watch.strain().stolen_percent, measured))
        if found[-1][0] <= STOLEN_PERCENT_MAX:
            break
    return min(found, key=lambda one: one[0])[1]
