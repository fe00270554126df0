"""The simulated network: a link for each ordered pair of hosts, and what can go wrong on it.

Hosts stand at sites. Multicast stays inside a site, and links between two sites are as the
settings of that pair say. A link is made when it is first used: until then only rules are
kept for it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heappush
from itertools import combinations
from random import Random
from typing import Any

from antiphon.core.effects import Received
from antiphon.core.ids import DaemonId
from antiphon.core.machine import MILLISECOND
from antiphon.sim.damage import damaged
from antiphon.sim.gates import EVERY_WAY, Gates, Ways
from antiphon.sim.host import Host
from antiphon.sim.link import Filter, Link, Storm
from antiphon.sim.places import Atlas

ARRIVE = 0
"""Kind of a heap entry: a packet reaches a host."""

REORDER_US = 4_000
"""A packet that is overtaken comes up to so much later."""

DUPLICATE_US = 2_000
QUEUE_US = 50_000
"""What would wait longer for the line than this is dropped, as a full interface would."""

Entry = tuple[int, int, int, Any, Any]
"""Time, counter, kind, target, item. The counter keeps equal times in order."""


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """What every link is like when nothing is wrong with it."""

    latency_us: int = 200
    jitter_us: int = 100
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    corrupt: float = 0.0
    bandwidth_bits: int = 0
    """Bits in a second; 0 is no limit."""


FAR = NetworkSettings(latency_us=20 * MILLISECOND, jitter_us=2 * MILLISECOND)
"""Between two sites of which nothing else is said."""

Far = Mapping[tuple[int, int], NetworkSettings]
"""What links are like from one site to another, by their numbers."""

Segments = list[list[DaemonId]]


class Network:
    """All links of a world. What arrives waits in `heap`, with all else that will happen."""

    def __init__(
        self,
        settings: NetworkSettings,
        hosts: list[Host],
        rng: Random,
        atlas: Atlas,
        far: Far | None = None,
    ) -> None:
        self.settings = settings
        self.counter = 0
        self.heap: list[Entry] = []
        self.far_packet: Callable[[bytes], None] | None = None
        """Told of each packet that leaves for another site."""

        self._rng = rng
        self._random = rng.random
        self._atlas = atlas
        self._far = far or {}
        self._gates = Gates()
        self._storms: list[Storm] = []
        self._filters: list[tuple[Filter, Ways]] = []
        self._domains: dict[DaemonId, int] = {}
        self._hosts = {host.id: host for host in hosts}
        self._links: list[Link] = []
        self._set_broadcasts()

    # Links.

    def link(self, source: DaemonId, target: DaemonId) -> Link:
        host = self._hosts[source]
        found = host.link_to.get(target)
        if found is None:
            found = Link(host, self._hosts[target])
            found.filters = [filter for filter, ways in self._filters if ways.cover(source, target)]
            host.link_to[target] = found
            self._links.append(found)
            self._shut(found)
            self._settle(found)
        return found

    def first_link(self, source: Host, target: DaemonId) -> Link | None:
        """For a packet that goes there for the first time, if there is such a host."""
        return self.link(source.id, target) if target in self._hosts else None

    def links(self, ways: Ways) -> Iterator[Link]:
        """Each of them, one direction after the other."""
        for sources, targets in ((ways.sources, ways.targets), (ways.targets, ways.sources)):
            for source in self._hosts if sources is None else sorted(sources):
                for target in self._hosts if targets is None else sorted(targets):
                    if source != target:
                        yield self.link(source, target)
            if not ways.both:
                return

    # The way of a packet.

    def transmit(self, now: int, link: Link, received: Received) -> None:
        if link.far and self.far_packet is not None:
            self.far_packet(received.packet)
        if link.down:
            return
        if not link.plain:
            self._transmit_with_faults(now, link, received)
            return
        at = now + link.latency
        if link.jitter:
            at += int(self._random() * link.jitter)
        if at < link.last_arrival:
            at = link.last_arrival
        else:
            link.last_arrival = at
        self.counter = counter = self.counter + 1
        heappush(self.heap, (at, counter, ARRIVE, link.target, received))

    def _transmit_with_faults(self, now: int, link: Link, received: Received) -> None:
        if link.filters and self._filtered(now, link, received.packet):
            return
        random = self._random
        if link.loss and random() < link.loss:
            return
        if link.corrupt and random() < link.corrupt:
            received = Received(damaged(received.packet, self._rng))
        leaves = now
        if link.byte_us:
            leaves = max(now, link.line_free) + int(len(received.packet) * link.byte_us)
            if leaves - now > QUEUE_US:
                return
            link.line_free = leaves
        at = leaves + link.latency
        if link.jitter:
            at += int(random() * link.jitter)
        if link.reorder and random() < link.reorder:
            at += int(random() * REORDER_US)
        else:
            link.last_arrival = at = max(at, link.last_arrival)
        self._arrive(at, link, received)
        if link.duplicate and random() < link.duplicate:
            self._arrive(at + int(random() * DUPLICATE_US), link, received)

    def _arrive(self, at: int, link: Link, received: Received) -> None:
        self.counter += 1
        heappush(self.heap, (at, self.counter, ARRIVE, link.target, received))

    def _filtered(self, now: int, link: Link, packet: bytes) -> bool:
        """The first filter that fits takes the packet; spent ones are put away."""
        dropped = any(filter.drops(now, packet) for filter in link.filters)
        if any(filter.spent(now) for filter in link.filters):
            link.filters = [filter for filter in link.filters if not filter.spent(now)]
            link.refresh()
        return dropped

    def inject(self, now: int, link: Link, packet: bytes) -> None:
        """A packet from outside, whatever the state of the link."""
        self._arrive(now + link.latency, link, Received(packet))

    # Faults.

    def cut(self, components: Iterable[Iterable[DaemonId]]) -> None:
        """Only hosts of one component reach each other; the unnamed are one component."""
        self._gates.cut(components)
        self._shut_all()

    def close(self, ways: Ways) -> None:
        self._gates.close(ways)
        self._shut_all()

    def break_for_ever(self, ways: Ways) -> None:
        self._gates.break_for_ever(ways)
        self._shut_all()

    def set_domains(self, domains: Iterable[Iterable[DaemonId]]) -> None:
        """Multicast reaches only hosts of the same domain; the unnamed are one domain."""
        self._domains = {host: index for index, part in enumerate(domains) for host in part}
        self._set_broadcasts()

    def heal(self, ways: Ways = EVERY_WAY) -> None:
        """End partitions and closings there, but not what is broken; with all ways also
        multicast domains."""
        self._gates.heal(ways)
        self._shut_all()
        if ways.all:
            self.set_domains([])

    def add_filter(self, filter: Filter, ways: Ways) -> None:
        self._filters.append((filter, ways))
        for link in self._links:
            if ways.cover(link.source.id, link.target.id):
                link.filters.append(filter)
                link.refresh()

    def start_storm(self, what: str, amount: float, ways: Ways) -> Storm:
        storm = Storm(what, amount, ways)
        self._storms.append(storm)
        self._settle_all()
        return storm

    def end_storm(self, storm: Storm) -> None:
        if storm in self._storms:
            self._storms.remove(storm)
            self._settle_all()

    def calm(self) -> None:
        """End everything that may end: what is broken or lost for ever stays so, but nothing
        more is lost."""
        self._storms.clear()
        self._filters = [(filter, ways) for filter, ways in self._filters if filter.victims]
        for filter, _ in self._filters:
            filter.times = 0
        for link in self._links:
            link.filters = [filter for filter in link.filters if filter.victims]
        self._settle_all()
        self.heal()

    # What is true of the links now.

    def two_way(self, a: DaemonId, b: DaemonId) -> bool:
        """Both hear each other, by multicast too."""
        return self._domains.get(a) == self._domains.get(b) and self._gates.joined(a, b)

    def components(self, live: list[DaemonId]) -> Iterator[Segments]:
        """The live hosts that can come together. Inside a site they must hear each other; sites
        come together over edges, each between two who lead (the lowest), and those over
        other sites. A site that is torn apart counts as several."""
        segments: Segments = []
        lives = frozenset(live)
        for site in self._atlas.sites:
            segments += _connected([host for host in site if host in lives], self.two_way)
        by_leader = {segment[0]: segment for segment in segments}
        if len(self._atlas.sites) == 1:
            yield from ([segment] for segment in segments)
        else:
            for leaders in _connected(sorted(by_leader), self._gates.joined):
                yield [by_leader[leader] for leader in leaders]

    def is_clique(self, segment: list[DaemonId]) -> bool:
        return all(self.two_way(a, b) for a, b in combinations(segment, 2))

    def _shut_all(self) -> None:
        for link in self._links:
            self._shut(link)

    def _shut(self, link: Link) -> None:
        link.down = self._gates.shut(link.source.id, link.target.id)

    def _settle_all(self) -> None:
        for link in self._links:
            self._settle(link)

    def _settle(self, link: Link) -> None:
        """The link as the settings and the storms over it have it."""
        source, target = link.source.id, link.target.id
        if source == target:
            return
        pair = self._atlas.site_of[source], self._atlas.site_of[target]
        link.far = pair[0] != pair[1]
        ours = self.settings if pair[0] == pair[1] else self._far.get(pair, FAR)
        link.latency = ours.latency_us
        link.jitter = ours.jitter_us
        link.loss, link.duplicate = ours.loss, ours.duplicate
        link.reorder, link.corrupt = ours.reorder, ours.corrupt
        link.byte_us = 8_000_000 / ours.bandwidth_bits if ours.bandwidth_bits else 0.0
        for storm in self._storms:
            if storm.ways.cover(source, target):
                if storm.what == "delay":
                    link.latency += int(storm.amount)
                else:
                    setattr(link, storm.what, max(getattr(link, storm.what), storm.amount))
        link.refresh()

    def _set_broadcasts(self) -> None:
        domains = self._domains
        for site in self._atlas.sites:
            for host in site:
                self._hosts[host].broadcast = [
                    self.link(host, other)
                    for other in site
                    if other != host and domains.get(host) == domains.get(other)
                ]


def _connected(
    hosts: list[DaemonId], joined: Callable[[DaemonId, DaemonId], bool]
) -> Iterator[list[DaemonId]]:
    """Those among whom there is a way, each list sorted, in the order of their first."""
    left = sorted(hosts)
    while left:
        found, reached = [], [left.pop(0)]
        while reached:
            host = reached.pop()
            found.append(host)
            near = [other for other in left if joined(host, other)]
            reached += near
            left = [other for other in left if other not in near]
        yield sorted(found)
