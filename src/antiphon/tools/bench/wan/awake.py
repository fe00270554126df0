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

from antiphon.tools.bench.strain import calmest

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
    """Measured while the host took next to nothing of the processors, which must be awake."""
    return calmest(measure, STOLEN_PERCENT_MAX, TRIES_MAX)[0]
