"""A rate that is found out: from how fast packets arrive and how long they queue.

    STARTUP --> DOWN --> CRUISE --> UP --> DOWN      alone: DOWN empties the queue
                  |
                  v
               CONTEND --> DOWN                      not alone: it does not

Loss that is there whatever we send says nothing. Loss above that, with the queue at its
longest, is an overflow; in CONTEND it lowers the rate as it does for everybody else.
After docs/protocols/hop.md
"""

from collections import deque
from enum import Enum

from antiphon.core.machine import MILLISECOND, SECOND, Instant
from antiphon.protocol.links.estimate import difference
from antiphon.protocol.links.overflow import EXCESS, Overflow, full_us
from antiphon.protocol.links.rate import Report
from antiphon.protocol.links.settings import HopSettings

ROUND_US_MIN = 20 * MILLISECOND
"""Rates over a shorter time are noise."""

ROUND_US_MAX = 10 * SECOND
"""And over a longer one there was silence."""

ROUNDS_REMEMBERED = 10
"""More than a cycle, so that the last UP is among them."""


class Phase(Enum):
    STARTUP = "startup"
    CRUISE = "cruise"
    UP = "up"
    DOWN = "down"
    CONTEND = "contend"


GAINS = {Phase.STARTUP: 2.0, Phase.UP: 1.25, Phase.DOWN: 0.6, Phase.CRUISE: 1.0}
"""Of what was seen to arrive, so much is sent."""

UP_PACKETS = 4
"""And in UP so many packets more per round trip: the smaller of two flows grows faster."""

ROUNDS = {Phase.CRUISE: 6, Phase.DOWN: 3, Phase.CONTEND: 60}
"""At most so many in a phase."""

STALLED_ROUNDS = 3
"""So many without growth end STARTUP."""

BACK_OFF = 0.7
GROWTH = 32
"""As kernels' TCP: back off to so much, grow by half a packet or one part in so many."""


class AutomaticRate:
    def __init__(self, settings: HopSettings) -> None:
        self._settings = settings
        self.phase = Phase.STARTUP
        self._guess = 5 * settings.packet_bytes * SECOND // settings.round_trip_us
        """Stands for what arrives until something was seen to: whoever has little to send
        learns nothing, and must not go up by that."""

        self.rate_bytes = self._bounded(int(GAINS[self.phase] * self._guess))
        self.burst_bytes = settings.burst_bytes
        self.window_bytes = 40 * settings.packet_bytes
        """As much as the first round trips may need before anything is known."""

        self._rates: deque[int] = deque(maxlen=ROUNDS_REMEMBERED)
        self._overflow = Overflow()
        self._begun: Report | None = None
        self._begun_at: Instant = 0
        """This round, and when it began."""

        self._rounds = 0
        """Of this phase."""

        self._dry = False
        self._full_rounds = 0
        """In a row in which there was always something to send."""

        self._stalled = 0
        self._best = 0
        self._share = 0
        """Bytes under way in CONTEND; 0: we were alone."""

        self._backed_off = False

    def begin(self) -> None:
        """A new link: its totals start again."""
        self._begun = None

    def ran_dry(self) -> None:
        """There was nothing to send: a low rate means nothing this round."""
        self._dry = True

    def _bounded(self, rate_bytes: int) -> int:
        return max(self._settings.rate_bytes_min, min(rate_bytes, self._settings.rate_bytes_max))

    @property
    def capacity(self) -> int:
        """Bytes per second that were seen to arrive."""
        return max(self._rates, default=self._guess)

    def heard(self, now: Instant, report: Report) -> None:
        begun = self._begun
        if begun is None or now - self._begun_at > ROUND_US_MAX:
            self._begun, self._begun_at = report, now
            return
        self._overflow.note_queue(report.queue_us)
        if self.phase is Phase.DOWN and self._may_end_down(report):
            self._enter(Phase.CRUISE)
            self._apply(report)
        span_us = difference(report.arrived, begun.arrived)
        round_us = max(report.round_trip_us, ROUND_US_MIN)
        if now - self._begun_at >= round_us and span_us >= ROUND_US_MIN // 2:
            self._end_round(report, begun, span_us)
            self._begun, self._begun_at = report, now
            self._dry = False

    def _end_round(self, report: Report, begun: Report, span_us: int) -> None:
        arrived = max(0, report.delivered - begun.delivered) * SECOND // span_us
        grew = arrived * 10 > self.capacity * 11
        if not self._dry or arrived > self.capacity:
            self._rates.append(arrived)
        standing = self._overflow.standing_us > 3 * full_us(report)
        overflowed = self._overflow.end_round(report, begun)
        self._rounds += 1
        self._full_rounds = 0 if self._dry else self._full_rounds + 1
        over = self._rounds >= ROUNDS.get(self.phase, 1)
        match self.phase:
            case Phase.STARTUP:
                self._step_startup(report, arrived)
            case Phase.UP:
                if report.queue_us > full_us(report):
                    self._enter(Phase.DOWN)
                elif not grew:
                    self._enter(Phase.CRUISE if self._dry else Phase.DOWN)
            case Phase.DOWN if over:
                if standing:
                    self._enter_contend(report)
                else:
                    self._enter(Phase.CRUISE)
            case Phase.CRUISE:
                if overflowed or standing:
                    self._enter(Phase.DOWN)
                elif not self._dry and (over or self._has_more_than_before(report)):
                    self._enter(Phase.UP)
            case Phase.CONTEND:
                self._step_contend(overflowed, over)
        self._apply(report)

    def _has_more_than_before(self, report: Report) -> bool:
        """What is to be sent waits, which it did not do until lately, and not for the way."""
        lately = 0 < self._full_rounds < ROUNDS_REMEMBERED
        return lately and report.queue_us <= full_us(report)

    def _may_end_down(self, report: Report) -> bool:
        """The queue is empty. If packets are lost all the same, a round is seen through: a
        queue that was never empty may have been taken for none."""
        is_sure = self._overflow.usual < EXCESS or self._rounds > 0
        return is_sure and report.queue_us <= full_us(report)

    def _step_startup(self, report: Report, arrived: int) -> None:
        if self._dry:
            return
        if arrived * 4 >= self._best * 5:
            self._best, self._stalled = arrived, 0
        else:
            self._stalled += 1
        if self._stalled >= STALLED_ROUNDS or report.queue_us > 3 * full_us(report):
            self._enter(Phase.DOWN)

    def _step_contend(self, overflowed: bool, over: bool) -> None:
        """One overflow shows in two rounds, and counts once."""
        if overflowed and not self._backed_off:
            self._share = int(self._share * BACK_OFF)
            self._backed_off = True
        elif not self._dry:
            self._share += max(self._settings.packet_bytes // 2, self._share // GROWTH)
            self._backed_off = False
        if over:
            self._enter(Phase.DOWN)

    def _enter(self, phase: Phase) -> None:
        if phase is Phase.CRUISE:
            self._share = 0
        self.phase, self._rounds = phase, 0

    def _enter_contend(self, report: Report) -> None:
        if not self._share:
            self._share = self.capacity * report.round_trip_us // SECOND
        self._enter(Phase.CONTEND)

    def _apply(self, report: Report) -> None:
        """Rate, burst and window of the phase. What waits for an ack is not under way any
        more, but the window cannot know: it gets some room for that."""
        settings = self._settings
        capacity = self.capacity
        lag = capacity * settings.ack_long_us // SECOND + 4 * settings.packet_bytes
        if self.phase is Phase.CONTEND:
            rate = self._share * SECOND // max(1, report.round_trip_us)
            window = self._share * 3 // 2
        else:
            # DOWN shows whether loss is usual: what a queue loses that we fill goes with it.
            usual = 0.0 if self.phase is Phase.DOWN else self._overflow.usual
            rate = int(capacity * GAINS[self.phase] / (1 - usual))
            if self.phase is Phase.UP:
                rate += UP_PACKETS * settings.packet_bytes * SECOND // max(1, report.least_us)
            gain = 3 if self.phase is Phase.STARTUP else 2
            window = gain * capacity * report.least_us // SECOND
        self.rate_bytes = self._bounded(rate)
        self.window_bytes = window + lag
        burst = 2 * self.rate_bytes * settings.send_us // SECOND
        self.burst_bytes = max(2 * settings.packet_bytes, burst)
