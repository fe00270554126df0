"""The simulated network: one link per ordered pair of hosts, and what can go wrong on it.

A link is first in, first out unless it reorders. Damage is done only to the parts of a
packet that its reader can judge: whole payloads are guarded by the transport's checksum,
so a payload that changed on its way does not exist here either.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import heappush
from random import Random
from typing import Any

from antiphon.core.effects import Received
from antiphon.core.ids import DaemonId
from antiphon.sim.host import Host
from antiphon.wire.packet import CONFIG_BYTES, HEADER_BYTES, Tag

ARRIVE = 0
"""Kind of a heap entry: a packet reaches a host."""

LOOPBACK_US = 20
REORDER_US = 4_000
"""A packet that is overtaken comes up to so much later."""

DUPLICATE_US = 2_000
QUEUE_US = 50_000
"""What would wait longer for the line than this is dropped, as a full interface would."""

ANY_TIMES = -1
CLUSTER_FIELD = slice(2, 10)

SEED_TAGS = tuple(tag for tag in Tag if tag <= Tag.RECOVERY_DATA)
"""What seeds draw from when they lose or forge packets: with one more, each would give another
run. Those that came later are for scripts only."""
SMALLEST_BYTES = HEADER_BYTES + CONFIG_BYTES + 16
"""Shorter than every data packet: what is cut below this is refused by all."""

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


class Filter:
    """Drops chosen packets: the next `times` of a tag, or some contents for ever."""

    __slots__ = ("tag", "times", "until", "for_ever", "victims")

    def __init__(self, tag: int, times: int, until: int, for_ever: bool = False) -> None:
        self.tag = tag
        self.times = times
        self.until = until
        self.for_ever = for_ever
        self.victims: set[bytes] = set()

    def drops(self, now: int, packet: bytes) -> bool:
        if packet[1] != self.tag or now >= self.until:
            return False
        if self.for_ever:
            return self._is_victim(packet)
        if self.times == 0:
            return False
        if self.times > 0:
            self.times -= 1
        return True

    def spent(self, now: int) -> bool:
        return not self.for_ever and (self.times == 0 or now >= self.until)

    def _is_victim(self, packet: bytes) -> bool:
        """Every copy of a ring packet has its configuration and its link sequence, whoever
        repeats it and in whichever visit of the token."""
        link_sequence = packet[SMALLEST_BYTES - 8 : SMALLEST_BYTES]
        content = packet[HEADER_BYTES : HEADER_BYTES + CONFIG_BYTES] + link_sequence
        if content in self.victims:
            return True
        if self.times == 0 or not any(link_sequence):
            return False
        self.times -= 1
        self.victims.add(content)
        return True


@dataclass(frozen=True, slots=True, eq=False)
class Storm:
    """One property of some links is worse for a while."""

    what: str
    amount: float
    links: frozenset["Link"]


class Link:
    """From one host to another. Fields that `Network.transmit` reads are kept ready."""

    __slots__ = (
        "source",
        "target",
        "latency",
        "jitter",
        "loss",
        "duplicate",
        "reorder",
        "corrupt",
        "byte_us",
        "line_free",
        "last_arrival",
        "down",
        "plain",
        "cut",
        "closed",
        "broken",
        "filters",
    )

    def __init__(self, source: Host, target: Host) -> None:
        self.source = source
        self.target = target
        self.latency = LOOPBACK_US
        self.jitter = 0
        self.loss = self.duplicate = self.reorder = self.corrupt = 0.0
        self.byte_us = 0.0
        self.line_free = 0
        self.last_arrival = 0
        self.cut = False  # by a partition
        self.closed = False  # in this direction, until healed
        self.broken = False  # for ever
        self.filters: list[Filter] = []
        self.down = False
        self.plain = True

    def refresh(self) -> None:
        """Derive what the fast path reads."""
        self.down = self.cut or self.closed or self.broken
        noise = self.loss or self.duplicate or self.reorder or self.corrupt or self.byte_us
        self.plain = not noise and not self.filters


class Network:
    """All links of a world. What arrives waits in `heap`, with all else that will happen."""

    def __init__(self, settings: NetworkSettings, hosts: list[Host], rng: Random) -> None:
        self.settings = settings
        self.counter = 0
        self.heap: list[Entry] = []
        self._rng = rng
        self._random = rng.random
        self._storms: list[Storm] = []
        self._domains: dict[DaemonId, int] = {}
        self._hosts = hosts
        self._links = {(a.id, b.id): Link(a, b) for a in hosts for b in hosts}
        for host in hosts:
            host.link_to = {other.id: self._links[host.id, other.id] for other in hosts}
        for link in self._links.values():
            self._settle(link)
        self._set_broadcasts()

    # The way of a packet.

    def transmit(self, now: int, link: Link, received: Received) -> None:
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

    def inject(self, now: int, source: DaemonId, target: DaemonId, packet: bytes) -> None:
        """A packet from outside, whatever the state of the link."""
        link = self._links[source, target]
        self._arrive(now + link.latency, link, Received(packet))

    # Faults.

    def links(self, source: DaemonId | None, target: DaemonId | None) -> list[Link]:
        """Those between two different hosts that fit; None fits all."""
        return [
            link
            for (a, b), link in self._links.items()
            if a != b and source in (None, a) and target in (None, b)
        ]

    def cut(self, components: Iterable[Iterable[DaemonId]]) -> None:
        """Only hosts of one component reach each other; the unnamed are one component."""
        side = {host: index for index, part in enumerate(components) for host in part}
        for (a, b), link in self._links.items():
            link.cut = side.get(a) != side.get(b)
            link.refresh()

    def close(self, links: Iterable[Link]) -> None:
        for link in links:
            link.closed = True
            link.refresh()

    def break_for_ever(self, links: Iterable[Link]) -> None:
        for link in links:
            link.broken = True
            link.refresh()

    def set_domains(self, domains: Iterable[Iterable[DaemonId]]) -> None:
        """Multicast reaches only hosts of the same domain; the unnamed are one domain."""
        self._domains = {host: index for index, part in enumerate(domains) for host in part}
        self._set_broadcasts()

    def heal(self) -> None:
        """End partitions, one-way cuts and multicast domains, but not what is broken."""
        for link in self._links.values():
            link.cut = link.closed = False
            link.refresh()
        self.set_domains([])

    def add_filter(self, filter: Filter, links: Iterable[Link]) -> None:
        for link in links:
            link.filters.append(filter)
            link.refresh()

    def start_storm(self, what: str, amount: float, links: Iterable[Link]) -> Storm:
        storm = Storm(what, amount, frozenset(links))
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
        for link in self._links.values():
            link.filters = [filter for filter in link.filters if filter.victims]
            for filter in link.filters:
                filter.times = 0
        self._settle_all()
        self.heal()

    # What is true of the links now.

    def two_way(self, a: DaemonId, b: DaemonId) -> bool:
        """Both hear each other, by multicast too."""
        if self._domains.get(a) != self._domains.get(b):
            return False
        return not (self._links[a, b].down or self._links[b, a].down)

    def components(self, live: list[DaemonId]) -> Iterator[list[DaemonId]]:
        """The live hosts, by two-way links."""
        left = sorted(live)
        while left:
            found, reached = [], [left.pop(0)]
            while reached:
                host = reached.pop()
                found.append(host)
                near = [other for other in left if self.two_way(host, other)]
                reached += near
                left = [other for other in left if other not in near]
            yield sorted(found)

    def is_clique(self, component: list[DaemonId]) -> bool:
        return all(self.two_way(a, b) for a in component for b in component if a < b)

    def _settle_all(self) -> None:
        for link in self._links.values():
            self._settle(link)

    def _settle(self, link: Link) -> None:
        """The link as the settings and the storms over it have it."""
        if link.source is link.target:
            return
        ours = self.settings
        link.latency = ours.latency_us
        link.jitter = ours.jitter_us
        link.loss, link.duplicate = ours.loss, ours.duplicate
        link.reorder, link.corrupt = ours.reorder, ours.corrupt
        link.byte_us = 8_000_000 / ours.bandwidth_bits if ours.bandwidth_bits else 0.0
        for storm in self._storms:
            if link in storm.links and storm.what == "delay":
                link.latency += int(storm.amount)
            elif link in storm.links:
                setattr(link, storm.what, max(getattr(link, storm.what), storm.amount))
        link.refresh()

    def _set_broadcasts(self) -> None:
        domains = self._domains
        for host in self._hosts:
            host.broadcast = [
                self._links[host.id, other.id]
                for other in self._hosts
                if other is not host and domains.get(host.id) == domains.get(other.id)
            ]


def damaged(packet: bytes, rng: Random) -> bytes:
    """A copy that its reader must refuse: cut short, or another version or cluster."""
    way = rng.randrange(3)
    if way == 0:
        shorter = rng.randrange(1, min(len(packet), SMALLEST_BYTES))
        return packet[:shorter]
    at = 0 if way == 1 else rng.randrange(CLUSTER_FIELD.start, CLUSTER_FIELD.stop)
    return packet[:at] + bytes([packet[at] ^ (1 << rng.randrange(8))]) + packet[at + 1 :]


def of_another_cluster(packet: bytes, rng: Random) -> bytes:
    mark = rng.randbytes(CLUSTER_FIELD.stop - CLUSTER_FIELD.start)
    return packet[: CLUSTER_FIELD.start] + mark + packet[CLUSTER_FIELD.stop :]


def of_another_version(packet: bytes, rng: Random) -> bytes:
    return bytes([packet[0] ^ rng.randrange(1, 256)]) + packet[1:]


def garbage(packet: bytes, rng: Random) -> bytes:
    """Noise alone, or noise behind the head of a true packet."""
    noise = rng.randbytes(rng.randrange(1, 200))
    if rng.random() < 0.5:
        return noise
    tag = rng.choice(SEED_TAGS) if rng.random() < 0.8 else rng.randrange(256)
    return packet[:1] + bytes([tag]) + packet[2:HEADER_BYTES] + noise
