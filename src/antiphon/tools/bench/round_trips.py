"""What a pinging sender knows about its messages that come back."""

import time
from collections.abc import Callable

from antiphon.client.events import Event, Message
from antiphon.client.spread import events as spread
from antiphon.tools.bench.payload import HEAD
from antiphon.tools.bench.plan import Window
from antiphon.tools.bench.reception import BenchFailed, check_news


class RoundTrips:
    def __init__(self, window: Window, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._window = window
        self._clock = clock
        self._under_way: dict[int, bytes] = {}
        self.times: list[int] = []

    def __len__(self) -> int:
        """Messages that have not come back."""
        return len(self._under_way)

    def sent(self, number: int, payload: bytes) -> None:
        self._under_way[number] = payload

    def take(self, event: Event) -> None:
        check_news(event)
        if not isinstance(event, Message | spread.Message):
            return
        now = self._clock()
        _, number, sent = HEAD.unpack_from(event.payload)
        if self._under_way.pop(number, b"") != event.payload:
            raise BenchFailed(f"message {number} came back with other bytes, or twice")
        if self._window.begin <= sent < self._window.end:
            self.times.append(now - sent)
