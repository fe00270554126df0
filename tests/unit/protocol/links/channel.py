"""Two ends of a link, and what lies between them: a line with delay, jitter, loss, doubles, and
a queue before a bottleneck. Virtual time, one seed."""

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from random import Random

from antiphon.core.effects import Arrived, LinkDead, Send, Word
from antiphon.core.ids import DaemonId, Incarnation, Member
from antiphon.core.machine import MILLISECOND, SECOND, Instant
from antiphon.protocol.links.hop import Hop
from antiphon.protocol.links.memory import Memory
from antiphon.protocol.links.news import LinkId
from antiphon.protocol.links.settings import HopSettings
from antiphon.wire.link import LinkPacket, read_link_packet
from antiphon.wire.packet import HEADER, WIRE_VERSION

ONE = Member(DaemonId(1), Incarnation(11))
TWO = Member(DaemonId(2), Incarnation(22))
BIRTH = 7


def head_of(member: Member) -> bytes:
    return HEADER.pack(WIRE_VERSION, 4, 99, *member)


@dataclass(frozen=True)
class Way:
    """One direction."""

    delay_us: int = 20 * MILLISECOND
    jitter_us: int = 0
    loss: float = 0.0
    double: float = 0.0
    rate_bytes: int = 0
    """Of the bottleneck; 0: no bottleneck."""

    queue_bytes: int = 1 << 60
    swapped: float = 0.0
    """Chance that a packet comes `swap_us` later than it should."""

    swap_us: int = 0


class Clockwork:
    """One heap of things to do."""

    def __init__(self, seed: int = 1) -> None:
        self.now: Instant = 0
        self.random = Random(seed)
        self._heap: list[tuple[Instant, int, Callable[[], None]]] = []
        self._numbers = count()

    def at(self, when: Instant, do: Callable[[], None]) -> None:
        heappush(self._heap, (max(when, self.now), next(self._numbers), do))

    def run(self, until: Instant, done: Callable[[], bool] = lambda: False) -> None:
        while self._heap and self._heap[0][0] <= until and not done():
            self.now, _, do = heappop(self._heap)
            do()
        if not done():
            self.now = max(self.now, until)


class Line:
    """One direction at work: bottleneck first, loss behind it."""

    def __init__(self, clockwork: Clockwork, way: Way) -> None:
        self._clockwork = clockwork
        self._free_at: Instant = 0
        self.way = way
        self.sent = 0
        self.dropped = 0
        self.queue_us = 0

    def waiting_us(self) -> int:
        return max(0, self._free_at - self._clockwork.now)

    def carry(self, size: int, arrive: Callable[[], None]) -> bool:
        """False if the queue overflows: whoever watches may be told."""
        clock, way = self._clockwork, self.way
        self.sent += 1
        leaves = clock.now
        if way.rate_bytes:
            waiting_us = self.waiting_us()
            if waiting_us * way.rate_bytes > way.queue_bytes * SECOND:
                self.dropped += 1
                return False
            self._free_at = clock.now + waiting_us + size * SECOND // way.rate_bytes
            self.queue_us = waiting_us
            leaves = self._free_at
        if clock.random.random() < way.loss:
            return True
        for _ in range(1 + (clock.random.random() < way.double)):
            late_us = clock.random.randrange(way.jitter_us) if way.jitter_us else 0
            late_us += way.swap_us if clock.random.random() < way.swapped else 0
            clock.at(leaves + way.delay_us + late_us, arrive)
        return True


class End:
    """A hop on its line: what it says goes there, what it delivers is kept."""

    def __init__(
        self,
        clockwork: Clockwork,
        link: LinkId,
        settings: HopSettings,
        memory: Memory | None = None,
    ) -> None:
        self.clockwork = clockwork
        self.memory = memory or Memory(settings)
        self.hop = Hop(clockwork.now, link, head_of(link.me), settings, self.memory)
        self.line: Line | None = None
        self.other: End | None = None
        self.arrived: list[bytes] = []
        self.arrived_at: list[Instant] = []
        self.dead: list[str] = []
        self.packets: list[LinkPacket] = []
        """All that this end has sent, and when."""

        self.packets_at: list[Instant] = []

        self.deletes: Callable[[LinkPacket], bool] = lambda packet: False
        self.on_arrival: Callable[[bytes], None] = lambda data: None
        self._alarm: Instant = -1

    def send(self, *objects: bytes) -> None:
        self.perform(self.hop.send(self.clockwork.now, *objects))

    def perform(self, effects: list[Word]) -> None:
        for effect in effects:
            if isinstance(effect, Send):
                self._transmit(effect.packet)
            elif isinstance(effect, Arrived):
                self.arrived.append(effect.data)
                self.arrived_at.append(self.clockwork.now)
                self.on_arrival(effect.data)
            else:
                assert isinstance(effect, LinkDead)
                self.dead.append(effect.reason)
        self._set_alarm()

    def _transmit(self, raw: bytes) -> None:
        packet = read_link_packet(raw, *self.hop.link.me)
        self.packets.append(packet)
        self.packets_at.append(self.clockwork.now)
        other, line = self.other, self.line
        assert other is not None and line is not None
        if not self.deletes(packet):
            line.carry(len(raw), lambda: other.hear(packet))

    def hear(self, packet: LinkPacket) -> None:
        outcome = self.hop.receive(self.clockwork.now, packet)
        assert isinstance(outcome, list), outcome
        self.perform(outcome)

    def _set_alarm(self) -> None:
        at = max(self.hop.deadline(), self.clockwork.now)
        if self.hop.deadline() < 1 << 60 and at != self._alarm:
            self._alarm = at
            self.clockwork.at(at, lambda: self._ring(at))

    def _ring(self, at: Instant) -> None:
        if at == self._alarm:
            self._alarm = -1
            self.perform(self.hop.wake(self.clockwork.now))


def joined(
    settings: HopSettings,
    there: Way,
    back: Way | None = None,
    seed: int = 1,
    clockwork: Clockwork | None = None,
    members: tuple[Member, Member] = (ONE, TWO),
) -> tuple[End, End]:
    clock = clockwork or Clockwork(seed)
    one = End(clock, LinkId(members[0], members[1], BIRTH), settings)
    two = End(clock, LinkId(members[1], members[0], BIRTH), settings)
    one.line, two.line = Line(clock, there), Line(clock, back or there)
    one.other, two.other = two, one
    return one, two


BACKLOG_BYTES = 262_144


def keep_busy(end: End, objects: int, size: int = 1024) -> None:
    """Numbered objects, as fast as the link takes them."""
    numbers = iter(range(objects))

    def more() -> None:
        while end.hop.backlog_bytes < BACKLOG_BYTES:
            number = next(numbers, None)
            if number is None:
                return
            end.send(number.to_bytes(4, "big") + bytes(size - 4))
        end.clockwork.at(end.clockwork.now + 5 * MILLISECOND, more)

    more()
