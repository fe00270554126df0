"""Clocks that go there and back: each end echoes the newest one it has heard."""

from antiphon.core.machine import Instant
from antiphon.protocol.links.estimate import difference
from antiphon.wire.link import CLOCK, HELD_MAX, NOTHING_HEARD, LinkAck


class Echo:
    __slots__ = ("_heard_at", "_clock", "_sampled")

    def __init__(self) -> None:
        self._heard_at: Instant | None = None
        self._clock = 0
        self._sampled = -1

    def note(self, now: Instant, clock: int) -> None:
        """What is echoed is the newest packet, not the last: a late one is no news. After a
        long silence nobody can tell which of two readings is newer."""
        silent = self._heard_at is None or now - self._heard_at > CLOCK // 8
        if silent or difference(clock, self._clock) >= 0:
            self._heard_at, self._clock = now, clock

    def told(self, now: Instant) -> tuple[int, int]:
        """The clock to echo, and how long ago it came."""
        if self._heard_at is None:
            return 0, NOTHING_HEARD
        return self._clock, min(now - self._heard_at, HELD_MAX)

    def trip_us(self, now: Instant, ack: LinkAck) -> int | None:
        """One packet of mine went there and, after a while, its echo came back. None if this
        is no echo, or not the first of that packet."""
        trip_us = difference(now, ack.echo) - ack.held
        if ack.held == NOTHING_HEARD or ack.echo == self._sampled or trip_us < 0:
            return None
        self._sampled = ack.echo
        return trip_us
