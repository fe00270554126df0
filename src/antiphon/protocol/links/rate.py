"""How fast a link may send: a leaky bucket, filled at a fixed rate.

automatic.py has the other way to know the rate.
"""

from dataclasses import dataclass

from antiphon.core.machine import SECOND, Instant

NO_LIMIT = 1 << 62


class Bucket:
    """Credit in bytes times microseconds per second, so that whole numbers are enough.

    A packet may leave while there is credit, and is charged in full: the debt is never more
    than one packet.
    """

    __slots__ = ("rate_bytes", "burst_bytes", "_credit", "_filled_at")

    def __init__(self, now: Instant, rate_bytes: int, burst_bytes: int) -> None:
        self.rate_bytes = rate_bytes
        self.burst_bytes = burst_bytes
        self._credit = burst_bytes * SECOND
        self._filled_at = now

    def fill(self, now: Instant) -> None:
        gained = (now - self._filled_at) * self.rate_bytes
        self._credit = min(self._credit + gained, self.burst_bytes * SECOND)
        self._filled_at = now

    def is_empty(self) -> bool:
        return self._credit <= 0

    def charge(self, size: int) -> None:
        self._credit -= size * SECOND

    def empty_until(self, now: Instant) -> Instant:
        """When there will be credit again, as of the last filling."""
        if self._credit > 0:
            return now
        return self._filled_at + -self._credit // self.rate_bytes + 1


@dataclass(frozen=True, slots=True)
class Report:
    """What an ack says about the way: totals so far, and how things stand."""

    delivered: int
    """Bytes that came there."""

    arrived: int
    """When the last of them did, by the other end's clock."""

    queue_us: int
    round_trip_us: int
    least_us: int
    """The shortest round trip of the last while."""

    sent: int
    lost: int
    """Objects, as the sender counts them."""


class FixedRate:
    """The paper's: somebody knows what the edge can take (SP-165, SP-167, SP-168)."""

    window_bytes = NO_LIMIT

    def __init__(self, rate_bytes: int, burst_bytes: int) -> None:
        self.rate_bytes = rate_bytes
        self.burst_bytes = burst_bytes

    def begin(self) -> None:
        """A new link changes nothing, nor does what happens on it."""

    def heard(self, now: Instant, report: Report) -> None:
        pass

    def ran_dry(self) -> None:
        pass
