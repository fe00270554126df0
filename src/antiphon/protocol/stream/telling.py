"""When a leader says what is new of its segment (docs/protocols/wide-area.md, "Reports").

At once if somebody waits for it, else after a while. Whoever was spared a bundle is told by
reports that somebody waits.
"""

from antiphon.core.effects import Forward
from antiphon.core.machine import Instant, Timers
from antiphon.protocol.stream.abroad import Abroad
from antiphon.protocol.stream.delivery import Delivery
from antiphon.protocol.stream.settings import StreamSettings
from antiphon.protocol.stream.stamping import Stamping
from antiphon.wire.pieces import Token
from antiphon.wire.reports import StreamReport

TELL = "tell"
PRESSED = 4
"""So much sooner it is told if a stream is fast."""


class Telling:
    """Of a segment's leader. TELL runs while something is new that nobody waits for."""

    def __init__(
        self,
        abroad: Abroad,
        stamping: Stamping,
        delivery: Delivery,
        timers: Timers,
        settings: StreamSettings,
    ) -> None:
        assert abroad.gateway is not None
        self._abroad = abroad
        self._gateway = abroad.gateway
        self._stamping = stamping
        self._delivery = delivery
        self._timers = timers
        self._settings = settings
        self._overdue = False

    def is_due(self) -> bool:
        """Would a visit of the token be of use?"""
        return self._is_new() and self._is_urgent()

    def _is_new(self) -> bool:
        gateway = self._gateway
        return self._stamping.clock.value > gateway.floor or self._delivery.line > gateway.held

    def _is_urgent(self) -> bool:
        gateway, stamping, abroad = self._gateway, self._stamping, self._abroad
        if self._overdue or gateway.floor < max(1, stamping.floor_wanted, abroad.floor_wanted):
            return True
        return gateway.held < max(stamping.held_wanted, abroad.held_wanted)

    def wait(self, now: Instant) -> None:
        """Something may be new; it is told in time."""
        if self._is_new():
            wait_us = self._settings.tell_us
            if self._abroad.is_pressed():
                wait_us //= PRESSED
            self._timers.set(TELL, min(self._timers.at(TELL), now + wait_us))

    def ring(self) -> None:
        """TELL has come."""
        self._overdue = True

    def visit(self, now: Instant, token: Token, segment: int, aru: int) -> list[Forward]:
        """Leaders of other segments hear how far our stream is, and what we hold."""
        if not self._is_urgent():
            self.wait(now)
            return []
        self._overdue = False
        self._timers.clear(TELL)
        told = StreamReport(
            segment,
            1,
            token.site_sequence,
            token.site_stamp,
            min(aru, token.site_stamp),
            self._delivery.own.bytes,
            self._stamping.floor_wanted,
            self._stamping.held_wanted,
            token.heads,
        )
        return self._gateway.report(now, told)
