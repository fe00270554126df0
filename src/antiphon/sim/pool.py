"""Many seeds on the cores of one machine."""

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Result = TypeVar("Result")


def over(seeds: Sequence[int], work: Callable[[int], Result], jobs: int) -> Iterator[Result]:
    """`work` of every seed, in the order in which they end. Stopped early it leaves no
    process behind."""
    if jobs <= 1:
        yield from map(work, seeds)
        return
    with multiprocessing.get_context("spawn").Pool(jobs, _leave_interrupts) as pool:
        yield from pool.imap_unordered(work, seeds, _chunk(len(seeds), jobs))


def _leave_interrupts() -> None:
    """Ctrl-C is the parent's; it ends the pool."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _chunk(seeds: int, jobs: int) -> int:
    """Small: seeds differ in cost, and the last ones should end together."""
    return max(1, min(8, seeds // (4 * jobs)))
