"""Is a queue overflowing, or is this only the loss that is always there?

The usual loss is what is lost while there is no queue. An overflow is more than that, and more
than chance gives, while the queue is about as long as it ever was.
"""

from collections import deque
from math import sqrt

from antiphon.core.machine import MILLISECOND
from antiphon.protocol.links.rate import Report

ROUNDS_REMEMBERED = 16

USUAL_MAX = 0.5

FADING = 0.98
"""With a standing queue the usual loss cannot be told; what was known of it fades."""

EXCESS = 0.02
"""Loss above the usual by this, and by what chance gives, is an overflow."""

FULL_US = 4 * MILLISECOND
"""A shorter queue is noise."""


class Overflow:
    def __init__(self) -> None:
        self._losses: deque[float] = deque([0.0], maxlen=ROUNDS_REMEMBERED)
        self._queue = Range()
        self._queue_before = Range()
        """Of this round and of the last: losses are heard of a round trip later."""

        self._longest_us = 0

    @property
    def usual(self) -> float:
        """The share that is lost whatever we do: the lower quartile, for some rounds had a
        queue after all."""
        return min(USUAL_MAX, sorted(self._losses)[len(self._losses) // 4])

    @property
    def standing_us(self) -> int:
        """The queue was never shorter in this round."""
        return self._queue.lowest

    def note_queue(self, queue_us: int) -> None:
        self._queue.note(queue_us)

    def end_round(self, report: Report, begun: Report) -> bool:
        """True if the queue has overflowed."""
        sent = max(1, report.sent - begun.sent)
        loss = min(1.0, (report.lost - begun.lost) / sent)
        usual, smooth = self.usual, self._losses[-1]
        if max(self._queue.lowest, self._queue_before.lowest) <= full_us(report):
            self._losses.append(smooth + (loss - smooth) / 4)
        else:
            self._losses.append(smooth * FADING)
        queue_us = max(self._queue.highest, self._queue_before.highest)
        self._longest_us = max(queue_us, self._longest_us - self._longest_us // 64)
        self._queue_before, self._queue = self._queue, Range()
        is_long = queue_us > max(self._longest_us * 6 // 10, FULL_US)
        return is_long and loss > usual + EXCESS + 2 * sqrt(usual / sent)


class Range:
    """The shortest and the longest queue of a round, in microseconds."""

    __slots__ = ("lowest", "highest")

    def __init__(self) -> None:
        self.lowest = 0
        self.highest = -1

    def note(self, value: int) -> None:
        self.lowest = min(self.lowest, value) if self.highest >= 0 else value
        self.highest = max(self.highest, value)


def full_us(report: Report) -> int:
    """A longer queue shows that the bottleneck is busy all the time."""
    return max(report.least_us // 8, FULL_US)
