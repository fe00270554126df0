"""How far another leader is: the round trip and the loss that its greetings show
(docs/protocols/federation.md)."""

from collections import deque

from antiphon.core.machine import SECOND, Instant
from antiphon.core.weights import measured_weight
from antiphon.wire.control import Times
from antiphon.wire.link import CLOCK, HELD_MAX, NOTHING_HEARD

UNHEARD = (0, NOTHING_HEARD)
UNKNOWN = 0
"""No weight yet."""

GUESS = measured_weight(SECOND // 10, 0.0)
"""Of a way that neither end has measured."""

TRIPS = 16
"""The shortest of so many counts: what is above it was a queue, or a pause."""

LOSS_SHARE = 1 / 32
"""Of one greeting in the loss."""

MOVED_MIN = 10
"""A weight that is off by less, which is 1 ms, is still the same."""

MISSING_MAX = 100
"""So many greetings lost in a row tell no more than fewer would."""


class Distance:
    """Of one life of a leader, as long as it is heard."""

    __slots__ = ("loss", "weight", "_trips", "_number", "_clock", "_heard_at")

    def __init__(self) -> None:
        self.loss = 0.0
        """Share of greetings that do not come here."""

        self.weight = UNKNOWN
        """Of the way from there to me, as it is told to others."""

        self._trips: deque[int] = deque(maxlen=TRIPS)
        self._number = 0
        self._clock = 0
        self._heard_at: Instant | None = None

    @property
    def round_trip_us(self) -> int | None:
        return min(self._trips, default=None)

    def echo(self, now: Instant) -> tuple[int, int]:
        """The newest clock of theirs, and how long ago it came."""
        if self._heard_at is None:
            return UNHEARD
        return self._clock, min(max(0, now - self._heard_at), HELD_MAX)

    def hear(self, now: Instant, times: Times, age_us: Instant) -> bool:
        """Whether others should be told. My own life is `age_us` old: what is echoed from before
        it was somebody else's clock."""
        if times.number == self._number:
            return False  # a copy
        self._count(times.number)
        if times.number == self._number:
            self._heard_at, self._clock = now, times.clock
        there_and_back = (now - times.echo) % CLOCK
        if times.held_us <= there_and_back <= age_us:
            self._trips.append(there_and_back - times.held_us)
        return self._renew()

    def _count(self, number: int) -> None:
        """One that comes late was taken for lost."""
        if number < self._number:
            self.loss = max(0.0, self.loss - LOSS_SHARE)
            return
        missing = number - self._number - 1 if self._number else 0
        for _ in range(min(missing, MISSING_MAX)):
            self.loss += LOSS_SHARE * (1.0 - self.loss)
        self.loss -= LOSS_SHARE * self.loss
        self._number = number

    def _renew(self) -> bool:
        if not self._trips:
            return False
        weight = measured_weight(min(self._trips), self.loss)
        off = abs(weight - self.weight)
        if self.weight != UNKNOWN and (4 * off <= self.weight or off < MOVED_MIN):
            return False
        self.weight = weight
        return True
