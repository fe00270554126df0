"""Whole nodes of several sites on a bench: virtual time, and a network that loses and is cut."""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from random import Random

from antiphon.core.effects import (
    Broadcast,
    Connect,
    Join,
    Message,
    Multicast,
    Notify,
    Received,
    Send,
    View,
    Word,
)
from antiphon.core.ids import DaemonId, Incarnation, Member
from antiphon.core.machine import WAKEUP, Instant
from antiphon.core.service import Service
from antiphon.core.trace import Level
from antiphon.protocol.membership.states import State
from antiphon.protocol.node import Node
from antiphon.protocol.presets import LAN
from antiphon.wire.body import pack_body
from antiphon.wire.packet import TAG_AT, Tag


class House:
    """A node and its one client, who is in group `all`."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.up = True
        self.got: list[bytes] = []
        self.views: list[View] = []


class Nation:
    def __init__(
        self, random: Random, *sizes: int, loss: float = 0.0, far_us: int = 20_000
    ) -> None:
        self.random = random
        self.now: Instant = 1_000_000
        self.loss = loss
        self.far_us = far_us
        self.sites = tuple(
            tuple(DaemonId(100 * (site + 1) + at) for at in range(size))
            for site, size in enumerate(sizes)
        )
        self.site_of = {one: site for site in self.sites for one in site}
        self.settings = replace(LAN, daemons=tuple(self.site_of), sites=self.sites, level=Level.OFF)
        self.cuts: set[tuple[DaemonId, DaemonId]] = set()
        self.torn: set[tuple[DaemonId, DaemonId]] = set()
        """From whom to whom objects are lost; control packets are not."""

        self.houses: dict[DaemonId, House] = {}
        self._queue: list[tuple[Instant, int, Callable[[], object]]] = []
        self._counter = 0
        self._lives = 0
        self.far: Counter[Tag] = Counter()
        """Packets between sites, by what they carry."""

    def start(self, *numbers: int) -> None:
        """These, or all."""
        for daemon in map(DaemonId, numbers or tuple(self.site_of)):
            self._lives += 1
            member = Member(daemon, Incarnation(1000 + self._lives))
            house = House(Node(member, self.settings, Random(self.random.random())))
            self.houses[daemon] = house
            self._carry_out(house, house.node.start(self.now))
            self.tell(daemon, Connect(1, "client"))
            self.tell(daemon, Join(1, "all"))

    def crash(self, number: int) -> None:
        self.houses[DaemonId(number)].up = False

    def cut(self, ones: Iterable[int], others: Iterable[int]) -> None:
        for one in map(DaemonId, ones):
            for other in map(DaemonId, others):
                self.cuts |= {(one, other), (other, one)}

    def send(self, number: int, text: bytes, service: Service = Service.AGREED) -> None:
        body = pack_body((("all",),), (0,), (0,), (text,), "client")
        self.tell(number, Multicast(1, service, 1, body))

    def tell(self, number: int, event: Word) -> None:
        self._tell(self.houses[DaemonId(number)], event)

    def alive(self) -> list[House]:
        return [house for house in self.houses.values() if house.up]

    def whole(self) -> bool:
        """All who are up are in one configuration, and each client sees all of them."""
        houses = self.alive()
        first = houses[0].node.membership.installed
        return all(
            house.node.membership.state == State.OPERATIONAL
            and house.node.membership.installed == first
            and house.views
            and len(house.views[-1].members) == len(houses)
            for house in houses
        ) and len(first.members) == len(houses)

    # Time and the network.

    def at(self, when: Instant, do: Callable[[], object]) -> None:
        self._counter += 1
        heapq.heappush(self._queue, (when, self._counter, do))

    def run(self, us: int) -> None:
        until = self.now + us
        while True:
            due = min(house.node.deadline() for house in self.alive())
            if self._queue and self._queue[0][0] <= due:
                when, _, do = self._queue[0]
                if when > until:
                    break
                heapq.heappop(self._queue)
                self.now = max(self.now, when)
                do()
            elif due <= until:
                self.now = max(self.now, due)
                for house in self.alive():
                    if house.node.deadline() <= self.now:
                        self._tell(house, WAKEUP)
            else:
                break
        self.now = until

    def run_until(self, true: Callable[[], bool], within_us: int) -> None:
        end = self.now + within_us
        while not true():
            assert self.now < end, self.picture()
            self.run(10_000)

    def picture(self) -> str:
        lines = []
        for house in self.alive():
            membership = house.node.membership
            parts = [[one.daemon for one in part] for part in membership.installed.segments]
            view = len(house.views[-1].members) if house.views else 0
            lines.append(f"{house.node.me.daemon} {membership.state} {parts} {view}")
        return "\n".join(lines)

    def _tell(self, house: House, event: Word) -> None:
        if house.up:
            self._carry_out(house, house.node.handle(self.now, event))

    def _carry_out(self, house: House, effects: list[Word]) -> None:
        me = house.node.me.daemon
        for effect in effects:
            match effect:
                case Broadcast(packet):
                    for other in self.site_of[me]:
                        self._carry(me, other, packet)
                case Send(to, packet):
                    self._carry(me, to, packet)
                case Notify(_, Message(body=body)):
                    house.got.append(body)
                case Notify(_, View(group="all") as view):
                    house.views.append(view)

    def _carry(self, source: DaemonId, to: DaemonId, packet: bytes) -> None:
        other = self.houses.get(to)
        if other is None or source == to or (source, to) in self.cuts:
            return
        if (source, to) in self.torn and packet[TAG_AT] in (Tag.LINK, Tag.LOOSE):
            return
        if self.site_of[source] != self.site_of[to]:
            self.far[Tag(packet[TAG_AT])] += 1
        if self.random.random() >= self.loss:
            self.at(self.now + self._delay(source, to), lambda: self._tell(other, Received(packet)))

    def _delay(self, source: DaemonId, to: DaemonId) -> int:
        delay = 100 if self.site_of[source] == self.site_of[to] else self.far_us
        return delay + self.random.randrange(delay)
