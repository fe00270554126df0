"""Hop links without daemons, in virtual time, over the emulator's own model of a link."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from random import Random

from antiphon.core.effects import Arrived, Send, Word
from antiphon.core.ids import DaemonId, Incarnation, Member
from antiphon.core.machine import NEVER, Instant
from antiphon.protocol.links.hop import Hop
from antiphon.protocol.links.memory import Memory
from antiphon.protocol.links.news import LinkId
from antiphon.protocol.links.settings import HopSettings
from antiphon.tools.wan.link import GONE, LinkModel
from antiphon.tools.wan.topology import LinkSettings
from antiphon.wire.link import LinkPacket, read_link_packet
from antiphon.wire.packet import HEADER, WIRE_VERSION, Tag

BIRTH = 1
NS_PER_US = 1000


class Clockwork:
    """One heap of things to do."""

    def __init__(self) -> None:
        self.now: Instant = 0
        self._heap: list[tuple[Instant, int, Callable[[], None]]] = []
        self._numbers = count()

    def at(self, when: Instant, do: Callable[[], None]) -> None:
        heappush(self._heap, (max(when, self.now), next(self._numbers), do))

    def run(self, until: Instant) -> None:
        while self._heap and self._heap[0][0] <= until:
            self.now, _, do = heappop(self._heap)
            do()


class End:
    """One end of a link: what it says goes over its model, what it delivers is kept."""

    def __init__(
        self, clock: Clockwork, link: LinkId, settings: HopSettings, model: LinkModel
    ) -> None:
        self.clock = clock
        self.hop = Hop(
            0,
            link,
            HEADER.pack(WIRE_VERSION, Tag.LINK, 1, *link.me),
            settings,
            Memory(settings),
        )
        self.other: End | None = None
        self.arrived: list[bytes] = []
        self.packets: list[LinkPacket] = []
        self.loses: Callable[[LinkPacket], bool] = lambda packet: False
        """What is lost besides what the model loses."""

        self.on_arrival: Callable[[bytes], None] = lambda data: None
        self._model = model
        self._alarm = NEVER

    def send(self, data: bytes) -> None:
        self._perform(self.hop.send(self.clock.now, data))

    def _perform(self, effects: list[Word]) -> None:
        for effect in effects:
            if isinstance(effect, Send):
                self._transmit(effect.packet)
            elif isinstance(effect, Arrived):
                self.arrived.append(effect.data)
                self.on_arrival(effect.data)
        due = max(self.hop.deadline(), self.clock.now)
        if self.hop.deadline() != NEVER and due != self._alarm:
            self._alarm = due
            self.clock.at(due, lambda: self._ring(due))

    def _ring(self, due: Instant) -> None:
        if due == self._alarm:
            self._alarm = NEVER
            self._perform(self.hop.wake(self.clock.now))

    def _transmit(self, raw: bytes) -> None:
        packet = read_link_packet(raw, *self.hop.link.me)
        self.packets.append(packet)
        if self.loses(packet):
            return
        out = self._model.enter(self.clock.now * NS_PER_US, len(raw))
        other = self.other
        assert other is not None
        if out != GONE:
            self.clock.at(out // NS_PER_US, lambda: other._hear(packet))

    def _hear(self, packet: LinkPacket) -> None:
        outcome = self.hop.receive(self.clock.now, packet)
        assert not isinstance(outcome, str), outcome
        self._perform(outcome)


def joined(
    clock: Clockwork,
    names: tuple[int, int],
    settings: HopSettings,
    way: LinkSettings,
    seed: int,
) -> tuple[End, End]:
    """The two ends of a link that is the same in both directions."""
    one, two = (Member(DaemonId(name), Incarnation(1)) for name in names)
    ends = []
    for me, peer in ((one, two), (two, one)):
        model = LinkModel(way, Random(f"{seed} {me.daemon} {peer.daemon}"))
        ends.append(End(clock, LinkId(me, peer, BIRTH), settings, model))
    ends[0].other, ends[1].other = ends[1], ends[0]
    return ends[0], ends[1]
