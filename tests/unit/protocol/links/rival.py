"""A simple loss-based flow beside a link: grows until packets are lost, then backs off."""

from antiphon.core.machine import SECOND, Instant
from tests.unit.protocol.links.channel import Clockwork, Line


class Rival:
    """A window that grows along a cubic and shrinks by three tenths once per round trip with a
    loss, as kernels' TCP does. Packets are 1500 bytes; losses are known after a round trip."""

    SIZE = 1500
    SHRINK = 0.7
    GROWTH = 0.4

    def __init__(self, clockwork: Clockwork, line: Line, back_us: int) -> None:
        self._clockwork = clockwork
        self._line = line
        self._back_us = back_us
        self._window = 10.0
        self._window_max = 0.0
        self._flying = 0
        self._slow_start = True
        self._shrunk_at: Instant = 0
        self.stopped = False
        self.delivered_bytes = 0
        self.losses = 0

    def start(self) -> None:
        while self._flying < int(self._window) and not self.stopped:
            self._flying += 1
            sent_at = self._clockwork.now
            if not self._line.carry(self.SIZE, lambda at=sent_at: self._arrive(at)):
                known_at = sent_at + self._line.queue_us + self._line.way.delay_us + self._back_us
                self._clockwork.at(known_at, lambda at=sent_at: self._lose(at))

    def _arrive(self, sent_at: Instant) -> None:
        self.delivered_bytes += self.SIZE
        clock = self._clockwork
        clock.at(clock.now + self._back_us, lambda: self._hear(sent_at))

    def _hear(self, sent_at: Instant) -> None:
        self._flying -= 1
        now = self._clockwork.now
        if self._slow_start:
            self._window += 1
        else:
            since = (now - self._shrunk_at) / SECOND
            inflection = (self._window_max * (1 - self.SHRINK) / self.GROWTH) ** (1 / 3)
            cubic = self.GROWTH * (since - inflection) ** 3 + self._window_max
            trip = max(1, now - sent_at) / SECOND
            reno = self._window_max * self.SHRINK + 3 * 0.3 / 1.7 * since / trip
            target = max(cubic, reno)
            if target > self._window:
                self._window += min(0.5, (target - self._window) / self._window)
        self.start()

    def _lose(self, sent_at: Instant) -> None:
        self._flying -= 1
        self.losses += 1
        if sent_at >= self._shrunk_at:
            self._shrunk_at = self._clockwork.now
            self._window_max = self._window
            self._window = max(2.0, self._window * self.SHRINK)
            self._slow_start = False
        self.start()
