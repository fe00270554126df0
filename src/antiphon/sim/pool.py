"""Many seeds on the cores of one machine."""

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Result = TypeVar("Result")


def over(seeds: Sequence[int], work: Callable[[int], Result], jobs: int) -> Iterator[Result]:
    """`work` of every seed, in the order in which they end. Stopped early it leaves no
    process behind.

    Seeds are handed out one by one: they differ in cost, and each takes far longer than the
    handing out."""
    if jobs <= 1:
        yield from map(work, seeds)
        return
    with multiprocessing.get_context("spawn").Pool(jobs, _leave_interrupts) as pool:
        yield from pool.imap_unordered(work, seeds)


def _leave_interrupts() -> None:
    """Ctrl-C is the parent's; it ends the pool."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
