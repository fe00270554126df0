"""How much of a segment's stream may be unstable: what the ways carry, and as much again.

After docs/protocols/wide-area.md, "Stability and flow". In the spirit of BBR, a bandwidth times a
delay; but from stamping to stability, over all ways at once.
"""

from collections import deque
from typing import NamedTuple

from antiphon.core.machine import MILLISECOND, SECOND, Instant
from antiphon.protocol.stream.settings import StreamSettings

GAIN = 2
ROUNDS_REMEMBERED = 10
LEAST_LIFE_US = 10 * SECOND
"""A least time that no round came near for so long is looked for again."""

NEARLY = 4
"""A window of which less than this part is left counts as full: a little always comes free just
before it is looked at."""

LOW_TIDE = 4
"""Meanwhile the window is smaller by this: what queues must be gone."""


PACE = 1.25
"""Of the rate: so fast a stream leaves while there is a queue. A burst would overflow it."""

PACE_US = 10 * MILLISECOND
"""So much of it may leave at once."""

PACE_BYTES_MAX = 1_500_000
"""Above so much in a second, a packet in a millisecond, no pace is kept."""


class Round(NamedTuple):
    """From the stamping of a bundle until it is stable."""

    began: Instant
    upto: int
    """Bytes that were stamped by then, this bundle's included."""

    stable: int
    """And that were stable."""


class FarWindow:
    def __init__(self, settings: StreamSettings) -> None:
        self._least_bytes = settings.far_bytes_min
        self._most_bytes = settings.far_bytes_max
        self._spare_us = settings.far_spare_us
        self.bytes = self._least_bytes // LOW_TIDE
        self._stamped = 0
        self._round: Round | None = None
        self._was_full = False
        """When this round began: its rate is that of the ways, not that of the clients."""

        self._was_held_up = False
        """In this round, by the window or by the pace."""

        self._rates: deque[int] = deque(maxlen=ROUNDS_REMEMBERED)
        """Bytes per second."""

        self._pace_bytes = 0
        """A second; 0: it does not matter, for nothing queued."""

        self._least_us = 0
        """Of the rounds."""

        self._least_at: Instant = 0
        self._is_low = True
        """The least time is looked for."""

    def note(self, now: Instant, stamped: int, stable: int, waiting: bool) -> None:
        """So many bytes were ever stamped in this segment, and so many of these are stable.
        `waiting`: there is more, whatever keeps it."""
        if self._round is not None and stable >= self._round.upto:
            self._end(now, self._round, stable)
            self._round = None  # the next begins with what the new window lets through
        elif self._round is None and stamped > max(self._stamped, stable):
            self._round = Round(now, stamped, stable)
            self._was_full = waiting and self._is_full(stamped - stable)
            self._was_held_up = False
        self._stamped = stamped
        if waiting:
            self._was_held_up |= self._pace_bytes > 0 or self._is_full(stamped - stable)

    def _is_full(self, unstable: int) -> bool:
        return NEARLY * unstable >= (NEARLY - 1) * self.bytes

    def _end(self, now: Instant, ended: Round, stable: int) -> None:
        took_us = max(1, now - ended.began)
        rate = (stable - ended.stable) * SECOND // took_us
        best = max(self._rates, default=0)
        was_low = self._is_low
        if not best or not was_low and (self._was_full or rate > best):
            self._rates.append(rate)  # at low tide a round is too short to count bundles
        if self._renew_least(now, took_us):
            self._rates = deque([rate] if self._was_full else [], ROUNDS_REMEMBERED)
        best = max(self._rates, default=0)
        empty_us = self._least_us + self._spare_us
        # What leaves at a pace does not fill the window.
        counts = self._was_full or self._was_held_up and self._pace_bytes > 0
        queues = counts and 2 * took_us > 3 * empty_us
        paces = queues or was_low and self._pace_bytes > 0
        self._pace_bytes = int(PACE * best) if paces and best < PACE_BYTES_MAX else 0
        full = GAIN * best * empty_us // SECOND
        self.bytes = max(self._least_bytes, min(full, self._most_bytes))
        if self._is_low:
            self.bytes //= LOW_TIDE

    def burst_bytes(self) -> int:
        """May leave at once."""
        pace = self._pace_bytes
        return min(self.bytes, pace * PACE_US // SECOND) if pace else self.bytes

    def pause_us(self, sent_bytes: int) -> Instant:
        """After so much has left; but what was alone on its way is there by then."""
        if not self._pace_bytes:
            return 0
        return min(sent_bytes * SECOND // self._pace_bytes, self._least_us + self._spare_us)

    def _renew_least(self, now: Instant, took_us: int) -> bool:
        """Are rates from before this round out of date?"""
        before = self._least_us
        if self._is_low or took_us < before:
            was_low, self._is_low = self._is_low, False
            self._least_us, self._least_at = took_us, now
            return was_low and took_us > 2 * before
        if 8 * took_us <= 9 * self._least_us:
            self._least_at = now
        elif now - self._least_at > LEAST_LIFE_US:
            if self._was_held_up:
                self._is_low = True
                return True  # a quarter of what was may be a queue on what is
            self._least_us, self._least_at = took_us, now  # no queue of ours
        return False
