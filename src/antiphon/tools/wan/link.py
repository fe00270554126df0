"""One direction of a link: when a packet that enters now comes out, if it does.

    enters -> waits for the bandwidth -> is sent -> lost? -> delay + jitter -> comes out
              (at most queue_kb)

It is a pure machine: time is handed in, in nanoseconds, since a packet takes less than a
microsecond on a fast link. Packets must enter in the order of time.
"""

from random import Random

from antiphon.tools.wan.topology import LinkSettings

GONE = -1
"""Instead of the time at which a packet comes out."""

NS_PER_MS = 1_000_000


class LinkModel:
    def __init__(self, settings: LinkSettings, rng: Random) -> None:
        self.packets = 0
        self.bytes = 0
        """What was sent, with what was lost on the way."""

        self.lost = 0
        self.dropped = 0
        """Since the queue was full; never sent."""

        self.reordered = 0
        self._draw = rng.random
        self._free_at = 0
        """When all that waits is sent."""

        self._last_out = 0
        self.change(settings)

    def change(self, settings: LinkSettings) -> None:
        """From the next packet on."""
        self.settings = settings
        self._delay = round(settings.delay_ms * NS_PER_MS)
        self._jitter = settings.jitter_ms * NS_PER_MS
        self._held_back = round(settings.reorder_ms * NS_PER_MS)
        self._overtake = settings.overtake
        self._loss = settings.loss
        self._reorder = settings.reorder
        self._ns_per_byte = 8000.0 / settings.mbit if settings.mbit else 0.0
        self._queue_ns = settings.queue_kb * 1000 * self._ns_per_byte
        """The queue as the time that its bytes take: what waits need not be kept as a list."""

    def enter(self, now: int, size: int) -> int:
        """When the packet comes out, or GONE."""
        if self._ns_per_byte:
            free_at = self._free_at
            sending = size * self._ns_per_byte
            if free_at <= now:
                now += round(sending)
            elif free_at - now + sending > self._queue_ns:
                self.dropped += 1
                return GONE
            else:
                now = free_at + round(sending)
            self._free_at = now
        self.packets += 1
        self.bytes += size
        if self._loss and self._draw() < self._loss:
            self.lost += 1
            return GONE
        out = now + self._delay
        if self._jitter:
            out += int(self._draw() * self._jitter)
        if self._reorder and self._draw() < self._reorder:
            self.reordered += 1
            return out + self._held_back
        if self._overtake:
            return out
        if out < self._last_out:
            out = self._last_out
        self._last_out = out
        return out
