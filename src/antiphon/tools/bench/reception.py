"""What a receiver checks and measures, without I/O.

Every message is checked: all its bytes, its sender's sequence, and its end. Where as many as
possible come they are checked by portions, each compared with what must come next; short messages
as a whole, for to look at each would take longer than to be handed it. Who is handed one at a time
holds them until they make a portion. A portion that is anything else is looked at message by
message, and that finds what is wrong.
"""

import struct
import time
from collections.abc import Callable
from typing import Any
from zlib import crc32

from antiphon.client.events import Closed, Event, Gap, Refusal, View
from antiphon.client.spread import events as spread
from antiphon.core.errors import AntiphonError
from antiphon.core.ranges import RangeSet
from antiphon.core.service import Service
from antiphon.core.trace import Cause
from antiphon.tools.bench.payload import HEAD, VARIANTS, fillers, portion_of, row_of
from antiphon.tools.bench.plan import Plan, Received, Window

unpack = HEAD.unpack_from
TURN = struct.Struct("<II")
"""Sender and number of a message that comes after one of another sender."""

NEVER = Window(1 << 63, 1 << 63, 1 << 63)


class BenchFailed(AntiphonError):
    """What was received is not what was sent, or the bench could not be carried out."""


class DaemonsParted(BenchFailed):
    """They lost each other. What one side was sent meanwhile the other never gets, and that is no
    fault; but it is nothing to measure, either."""


def check_news(event: Event) -> None:
    """For whoever expects only messages and views."""
    if isinstance(event, Gap | Closed):
        raise BenchFailed(f"the session ended: {event.reason}")
    if isinstance(event, Refusal):
        raise BenchFailed(f"{event.code}: {event.what}")


class Reception:
    def __init__(self, plan: Plan, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self.window = NEVER
        """Told when all are ready; until then there are only views."""

        self._plan = plan
        self._clock = clock
        self._fillers = fillers(plan.size)
        self._rows = [row_of(sender, plan.size) for sender in range(plan.senders)]
        self._next = [1] * plan.senders
        """Number that comes next, by sender; 0 if its messages may come in any order."""

        self._seen: dict[int, RangeSet] = {}
        """Numbers that came, of senders whose messages may come in any order."""

        for sender in range(plan.senders):
            if plan.service_of(sender) < Service.FIFO:
                self._next[sender] = 0
                self._seen[sender] = RangeSet()
        self._last: dict[int, int] = {}
        """Of the senders that have ended: how many messages they sent."""

        self._order = 0
        """Of all places where the sender changes: what lies between them is known."""

        self._turn = -1
        """Whose message came last."""

        self.count = 0
        self.held: list[Any] = []
        """Handed over one at a time, until they make a portion."""

        self.portion = 1 if plan.rate else portion_of(plan.size)
        self._telling = self.portion
        """One of so many messages of a sender tells the time."""

        self._began: tuple[int, int] | None = None
        self._ended: tuple[int, int] | None = None
        """Time and count at the first look in the window, and at the first after it."""

        self._latencies: list[int] = []
        self._turns: dict[int, tuple[int, int]] = {}
        """By when it began: time and count at the last look in a turn."""

    def take(self, event: Any) -> bool:
        """Whether this was the last. What has a payload is a message, whosever it is."""
        self.held.append(event)
        is_due = len(self.held) >= self.portion or bool(getattr(event, "kind", True))
        return is_due and self.check()

    def check(self) -> bool:
        """All that is held; whether the last was among it."""
        events, self.held = self.held, []
        return self.take_many(events)

    def take_many(self, events: list[Any]) -> bool:
        """Whether the last was among these."""
        portion, is_last = self.portion, False
        for at in range(0, len(events), portion):
            part = events[at : at + portion]
            if not self._are_next(part):
                is_last |= any([self._take_one(event) for event in part])
        return is_last

    def _are_next(self, events: list[Any]) -> bool:
        """Whether these are just the messages that come next of one sender; then they are taken."""
        size, count = self._plan.size, len(events)
        try:
            payloads = [event.payload for event in events]
            has_end = any([event.kind for event in events])
        except AttributeError:
            return False
        if has_end or self._last or list(map(len, payloads)).count(size) < count:
            return False
        sender, first, _ = unpack(payloads[0])
        if sender >= len(self._next) or first != self._next[sender]:
            return False
        telling = -first % self._telling
        if not self._rows[sender].are(payloads, first, first + telling):
            return False
        self._next[sender] = first + count
        self.count += count
        if sender != self._turn:
            self._take_turn(sender, first)
        if telling < count:
            self._look(unpack(payloads[telling])[2])
        return True

    def _take_one(self, event: Any) -> bool:
        try:
            payload: bytes = event.payload
        except AttributeError:
            return self._take_news(event)
        try:
            sender, number, sent = unpack(payload)
            is_next = number == self._next[sender]
        except (struct.error, IndexError):
            raise BenchFailed(f"no sender's payload, of {len(payload)} bytes") from None
        is_whole = len(payload) == self._plan.size
        if not is_whole or not payload.endswith(self._fillers[number % VARIANTS]):
            raise BenchFailed(f"message {number} of sender {sender} has other bytes than sent")
        if event.kind:
            return self._take_end(sender, number)
        if is_next:
            self._next[sender] = number + 1
        else:
            self._take_unordered(sender, number)
        if sender != self._turn:
            self._take_turn(sender, number)
        self.count += 1
        if sent:
            self._look(sent)
        return bool(self._last) and self._is_complete()

    def _take_turn(self, sender: int, number: int) -> None:
        self._turn = sender
        if self._plan.has_one_order:
            self._order = crc32(TURN.pack(sender, number), self._order)

    def _take_news(self, event: Event) -> bool:
        check_news(event)
        if isinstance(event, View) and event.cause is Cause.NETWORK:
            raise DaemonsParted(f"the daemons lost each other: {event.evidence}")
        if isinstance(event, spread.View) and event.cause is Cause.NETWORK:
            raise DaemonsParted("the daemons lost each other")
        return False

    def _take_unordered(self, sender: int, number: int) -> None:
        if self._next[sender]:
            expected = self._next[sender]
            raise BenchFailed(f"message {number} of sender {sender}, not {expected}")
        seen = self._seen[sender]
        if number in seen:
            raise BenchFailed(f"message {number} of sender {sender} came twice")
        seen.add(number)

    def _take_end(self, sender: int, last: int) -> bool:
        if sender in self._last:
            raise BenchFailed(f"sender {sender} ended twice")
        if self._next[sender] not in (0, last + 1):
            raise BenchFailed(f"sender {sender} ended after {last}, not {self._next[sender] - 1}")
        self._last[sender] = last
        self.portion = 1  # from here on each message may be the last
        return self._is_complete()

    def _look(self, sent: int) -> None:
        now = self._clock()
        if self._plan.turns > 1:
            self._turns[self._plan.turn_began(now)] = (now, self.count)
        if self._began is None:
            if now >= self.window.begin:
                self._began = (now, self.count)
        elif self._ended is None:
            self._latencies.append(now - sent)
            if now >= self.window.end:
                self._ended = (now, self.count)

    def _is_complete(self) -> bool:
        return len(self._last) == self._plan.senders and not self._missing(Service.RELIABLE)

    def _missing(self, least: Service) -> int:
        """Messages of senders that have ended, with that service or a stronger one."""
        return sum(
            last - len(self._seen[sender])
            for sender, last in self._last.items()
            if sender in self._seen and self._plan.service_of(sender) >= least
        )

    def standing(self) -> str:
        """For whoever gives up."""
        ended = len(self._last)
        missing = self._missing(Service.RELIABLE)
        return (
            f"{self.count} messages came, {ended} of {self._plan.senders} senders ended, "
            f"{missing} messages are missing"
        )

    def report(self) -> Received:
        if self._began is None:
            raise BenchFailed("nothing came in the measured time; measure longer")
        if self._ended is None:
            self._ended = (self._clock(), self.count)
        return Received(
            messages=self._ended[1] - self._began[1],
            nanoseconds=self._ended[0] - self._began[0],
            all_messages=self.count,
            lost=self._missing(Service.UNRELIABLE),
            order=self._order,
            latencies=self._latencies,
            rates=self._rates(),
        )

    def _rates(self) -> list[float]:
        rates, before = [], 0
        for began, (now, count) in self._turns.items():
            if self.window.begin <= began < self.window.end:
                rates.append((count - before) / ((now - began) / 1e9))
            before = count
        return rates
