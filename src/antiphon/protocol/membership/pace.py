"""How often to say Hello: quickly while something is going on, else hardly at all."""

from antiphon.core.machine import Instant
from antiphon.protocol.membership.settings import MembershipSettings


class Pace:
    def __init__(self, settings: MembershipSettings) -> None:
        self._settings = settings
        self._alerted_until: Instant = 0
        self._said_at: Instant = 0
        self.changed_at: Instant = 0
        """When I last learnt something new about who is there."""

    def answer(self, now: Instant) -> None:
        """Somebody is alert: greet along for a while."""
        self._alerted_until = now + 2 * self._settings.hello_us

    def calm(self, now: Instant) -> bool:
        """Strangers may be there, but nothing can be done about them."""
        return now - self.changed_at > self._settings.calm_us

    def earliest(self, at: Instant) -> Instant:
        """A change is told at once, but Hellos keep their distance."""
        return max(at, self._said_at + self._settings.hello_gap_us)

    def next(self, now: Instant, alert: bool, calm: bool, leader: bool) -> Instant | None:
        """After a Hello: when to say the next; None for a quiet member, for which the token
        speaks."""
        self._said_at = now
        if (alert and not calm) or now < self._alerted_until:
            return now + self._settings.hello_us
        if alert or leader:
            return now + self._settings.hello_slow_us
        return None
