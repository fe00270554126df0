"""What the way between two sites is like: round trip, queue, loss, reordering.

Outlives the links over it: a way does not change because membership does.
"""

from antiphon.core.machine import MILLISECOND, SECOND, Instant
from antiphon.wire.link import CLOCK

FLOOR_LIFE_US = 60 * SECOND
"""The lowest value of so long ago is forgotten: routes change, and clocks drift."""

GRAIN_US = 2 * MILLISECOND
"""No driver wakes up more precisely than this; waiting allows for it."""


class Floor:
    """The lowest value of the last while: the best of the present span and of the one
    before."""

    __slots__ = ("_now", "_before", "_since")

    def __init__(self) -> None:
        self._now: int | None = None
        self._before: int | None = None
        self._since: Instant = 0

    def note(self, now: Instant, value: int) -> None:
        if self._now is None or now - self._since > FLOOR_LIFE_US // 2:
            self._before, self._now, self._since = self._now, value, now
        elif value < self._now:
            self._now = value

    def value(self) -> int | None:
        if self._before is None or self._now is None:
            return self._now
        return min(self._before, self._now)


class RoundTrip:
    """Smoothed time from here to there and back, and its spread, as every transport has it."""

    __slots__ = ("smooth_us", "spread_us", "known", "_floor")

    def __init__(self, guess_us: int) -> None:
        self.smooth_us = guess_us
        self.spread_us = guess_us // 2
        self.known = False
        self._floor = Floor()

    def note(self, now: Instant, sample_us: int) -> None:
        self._floor.note(now, sample_us)
        if not self.known:
            self.known = True
            self.smooth_us, self.spread_us = sample_us, sample_us // 2
            return
        error = sample_us - self.smooth_us
        self.spread_us += (abs(error) - self.spread_us) // 4
        self.smooth_us += error // 8

    def least_us(self) -> int:
        least = self._floor.value()
        return self.smooth_us if least is None else least

    def timeout_us(self) -> int:
        """An answer that has not come by now will probably not come."""
        return self.smooth_us + max(4 * self.spread_us, GRAIN_US)


class Queue:
    """How long packets stand in line on their way there: one-way delay above its floor. The
    two clocks need not agree, only run alike."""

    __slots__ = ("delay_us", "_origin", "_floor")

    def __init__(self) -> None:
        self.delay_us = 0
        self._origin: int | None = None
        self._floor = Floor()

    def note(self, now: Instant, left: int, arrived: int) -> None:
        """When it left by my clock and arrived by theirs, both modulo CLOCK."""
        if self._origin is None:
            self._origin = arrived - left
        way_us = difference(arrived, left + self._origin)
        self._floor.note(now, way_us)
        floor = self._floor.value()
        assert floor is not None
        self.delay_us = way_us - floor


class Reordering:
    """How late packets come that others have overtaken (SP-148, SP-149)."""

    __slots__ = ("_lowest_us", "_highest_us", "_late_us")

    FADES_BY = 128
    """One part in so many of the estimate goes with each gap that was a true loss."""

    def __init__(self, lowest_us: int, highest_us: int) -> None:
        self._lowest_us = lowest_us
        self._highest_us = highest_us
        self._late_us = 0

    def came_late(self, late_us: int) -> None:
        self._late_us = max(self._late_us, min(late_us, self._highest_us))

    def was_lost(self) -> None:
        self._late_us -= -(-self._late_us // self.FADES_BY)

    def patience_us(self) -> int:
        """So long a gap waits before it is asked for."""
        wanted = self._late_us + self._late_us // 4
        return max(self._lowest_us, min(wanted, self._highest_us))


class Loss:
    """Share of what was sent that was asked for again."""

    __slots__ = ("sent", "lost", "share", "_sent_before", "_lost_before")

    SPAN = 200
    """So many objects make one sample."""

    def __init__(self) -> None:
        self.sent = 0
        self.lost = 0
        self.share = 0.0
        self._sent_before = 0
        self._lost_before = 0

    def note_sent(self, objects: int) -> None:
        self.sent += objects
        span = self.sent - self._sent_before
        if span >= self.SPAN:
            sample = min(1.0, (self.lost - self._lost_before) / span)
            self.share += (sample - self.share) / 4 if self._sent_before else sample
            self._sent_before, self._lost_before = self.sent, self.lost


class Path:
    """All that is known of the way from one site to another."""

    def __init__(self, round_trip_us: int, nack_us: int, nack_us_max: int) -> None:
        self.round_trip = RoundTrip(round_trip_us)
        self.repair = RoundTrip(round_trip_us)
        """From the request for an object to its repair: the round trip, and the time that
        repairs wait for the sender's bucket."""

        self.queue = Queue()
        self.reordering = Reordering(nack_us, nack_us_max)
        self.loss = Loss()

    def repair_timeout_us(self) -> int:
        trip_us = self.round_trip.timeout_us()
        return max(trip_us, min(self.repair.timeout_us(), 2 * trip_us))


def difference(late: int, early: int) -> int:
    """Between two readings of clocks modulo CLOCK, as a signed number."""
    return (late - early + CLOCK // 2) % CLOCK - CLOCK // 2
