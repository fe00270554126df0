"""How long a coordinator waits with what it wishes, so that it proposes what will last."""

from random import Random

from antiphon.core.machine import Instant, Timers
from antiphon.protocol.membership.wish import Parts

SETTLE = "settle"

BACKOFF_DOUBLINGS_MAX = 4


class Settling:
    def __init__(self, timers: Timers, rng: Random, settle_us: int) -> None:
        self._timers = timers
        self._rng = rng
        self._settle_us = settle_us
        self.wish: Parts = ()
        self.failures = 0
        """Attempts since the last install."""

        self.not_before: Instant = 0

    def clear(self, wish: Parts = ()) -> None:
        """Nothing to wait for."""
        self._timers.clear(SETTLE)
        self.wish = wish

    def renew(self, now: Instant, wish: Parts, wait_us: int) -> None:
        """Wait with a new wish; and not so long if it turns out that it changes only little."""
        lighter = not self.failures and now + wait_us < self._timers.at(SETTLE)
        if wish != self.wish or lighter or not self._timers.running(SETTLE):
            at = now + wait_us + self._backoff()
            self._timers.set(SETTLE, max(at, self.not_before))
        self.wish = wish

    def _backoff(self) -> int:
        """Who failed at the same time should not try at the same time again. Not longer between
        sites: the faults because of which attempts failed may be over."""
        if not self.failures:
            return 0
        return self._rng.randrange(self._settle_us << min(self.failures, BACKOFF_DOUBLINGS_MAX))
