"""Streams of several segments on a bench: virtual time, a lossy network inside segments, links
between leaders that deliver once and in any order. Membership is played by the test."""

import heapq
from collections.abc import Callable
from random import Random

from antiphon.core.bundle import Bundle
from antiphon.core.effects import (
    Arrived,
    Broadcast,
    Delivered,
    Forward,
    Freeze,
    GroupDaemons,
    Holdings,
    Install,
    Installed,
    Part,
    Recover,
    Recovered,
    Send,
    Settled,
    Submit,
    Transitional,
    Trouble,
    Word,
)
from antiphon.core.errors import DecodeError
from antiphon.core.ids import ConfigId, Configuration, DaemonId, Incarnation, Member
from antiphon.core.machine import WAKEUP, Instant
from antiphon.core.service import Service
from antiphon.core.trace import Level
from antiphon.protocol.stream.settings import StreamSettings
from antiphon.protocol.stream.stream import Stream
from antiphon.wire.control import read_control
from antiphon.wire.crossing import REPORT
from antiphon.wire.heard import Heard, HeardPacket, HeardToken
from antiphon.wire.packet import Envelope, Tag, open_header
from antiphon.wire.ring import read_ring_packet, read_token

CLUSTER = 7


class Daemon:
    def __init__(self, member: Member) -> None:
        self.member = member
        settings = StreamSettings(window_packets_low=100, window_packets_max=400)
        self.stream = Stream(member, settings, Envelope(CLUSTER, member), Level.OFF)
        self.delivered: list[tuple[Bundle, bool]] = []
        self.holdings: Holdings | None = None
        self.recovered: ConfigId | None = None
        self.sent = 0
        self.up = True
        self.installed_at = 0
        """How many were delivered before the configuration that runs."""


def least_of(told: Holdings) -> tuple[int, ...]:
    return tuple(stream.known for stream in told.streams)


def recover_all(
    old: Configuration, after: Configuration, holdings: dict[Member, Holdings]
) -> Recover:
    """As if all were of one party: everybody is told what each holds."""
    parts = tuple(
        Part((member,), old.segments.index(old.segment_of(member)), least_of(told), told)
        for member, told in sorted(holdings.items())
    )
    near = tuple((member.daemon, told) for member, told in sorted(holdings.items()))
    return Recover(after.id, parts, near)


class Continent:
    def __init__(
        self, random: Random, *sizes: int, loss: float = 0.0, far_us: int = 20_000
    ) -> None:
        self.random = random
        self.now: Instant = 0
        self.loss = loss
        self.far_us = far_us
        self.trouble: list[Trouble] = []
        self.reports = 0
        """Sent over links."""

        self._queue: list[tuple[Instant, int, Callable[[], None]]] = []
        self._counter = 0
        self.daemons: dict[DaemonId, Daemon] = {}
        parts = []
        for segment, size in enumerate(sizes):
            part = []
            for at in range(size):
                member = Member(DaemonId(100 * (segment + 1) + at), Incarnation(1))
                self.daemons[member.daemon] = Daemon(member)
                part.append(member)
            parts.append(tuple(part))
        self.parts = tuple(parts)
        self.configuration = self._configuration(1, self.parts)
        self.drops: list[str] = []

    def _configuration(self, epoch: int, parts: tuple[tuple[Member, ...], ...]) -> Configuration:
        members = tuple(sorted(member for part in parts for member in part))
        first = members[0]
        config = ConfigId(epoch, *first, 1)
        if len(parts) == 1:
            return Configuration(config, members)
        return Configuration(config, members, parts, self._edges(len(parts)))

    def _edges(self, count: int) -> tuple[tuple[int, int, int], ...]:
        """A tree of some shape, and some more."""
        pairs = {(self.random.randrange(at), at) for at in range(1, count)}
        pairs |= {(a, b) for b in range(count) for a in range(b) if self.random.random() < 0.3}
        edges = [(a, b, self.random.randrange(1, 5)) for a, b in sorted(pairs)]
        back = [(b, a, self.random.randrange(1, 5)) for a, b in sorted(pairs)]
        return tuple(sorted(edges + back))

    def start(self) -> None:
        for daemon in self.daemons.values():
            self._tell(daemon, Install(self.configuration, ""))

    # The network.

    def at(self, when: Instant, do: Callable[[], None]) -> None:
        self._counter += 1
        heapq.heappush(self._queue, (when, self._counter, do))

    def run(self, until: Instant) -> None:
        while True:
            due = min(one.stream.deadline() for one in self.daemons.values() if one.up)
            if self._queue and self._queue[0][0] <= due:
                when, _, do = self._queue[0]
                if when > until:
                    break
                heapq.heappop(self._queue)
                self.now = max(self.now, when)
                do()
            elif due <= until:
                self.now = max(self.now, due)
                for daemon in self.daemons.values():
                    if daemon.up and daemon.stream.deadline() <= self.now:
                        self._tell(daemon, WAKEUP)
            else:
                break
        self.now = until

    def _tell(self, daemon: Daemon, event: Word) -> None:
        waiting = [event]
        while waiting:
            for effect in daemon.stream.handle(self.now, waiting.pop(0)):
                self._effect(daemon, effect, waiting)

    def _effect(self, daemon: Daemon, effect: Word, waiting: list[Word]) -> None:
        match effect:
            case Broadcast(packet):
                for other in self._segment_of(daemon):
                    if other is not daemon:
                        self._near(other, packet)
            case Send(to, packet):
                self._near(self.daemons[to], packet)
            case Forward(to, data, reliable):
                self.reports += data[0] == REPORT
                if reliable or self.random.random() >= self.loss:
                    delay = self.far_us + self.random.randrange(self.far_us)
                    other = self.daemons[to]
                    arrived = Arrived(daemon.member, data)
                    self.at(self.now + delay, lambda: other.up and self._tell(other, arrived))
            case Delivered(bundle, transitional):
                daemon.delivered.append((bundle, transitional))
            case Installed(configuration):
                daemon.installed_at = len(daemon.delivered)
                waiting.append(Settled(configuration.id))
            case Holdings():
                daemon.holdings = effect
            case Recovered(attempt):
                daemon.recovered = attempt
            case Trouble():
                self.trouble.append(effect)
            case _:
                pass

    def _segment_of(self, daemon: Daemon) -> list[Daemon]:
        for part in self.parts:
            if daemon.member in part:
                return [self.daemons[member.daemon] for member in part]
        raise AssertionError

    def _near(self, other: Daemon, packet: bytes) -> None:
        if self.random.random() < self.loss:
            return
        delay = 50 + self.random.randrange(100)
        self.at(self.now + delay, lambda: other.up and self._hear(other, packet))

    def _hear(self, daemon: Daemon, packet: bytes) -> None:
        tag, sender, life = open_header(packet, CLUSTER)
        member = Member(sender, life)
        try:
            if tag == Tag.TOKEN:
                config, token = read_token(packet)
                self._tell(daemon, HeardToken(member, config, token))
            elif tag == Tag.DATA:
                self._tell(daemon, HeardPacket(read_ring_packet(packet, sender, life), packet))
            else:
                self._tell(daemon, Heard(member, read_control(tag, packet)))
        except DecodeError as error:
            self.drops.append(error.reason)
            raise

    # What clients do.

    def tell_groups(self, groups: dict[str, tuple[int, ...]]) -> None:
        """Which daemons have members of which groups."""
        for daemon in self.daemons.values():
            for name, numbers in groups.items():
                self._tell(daemon, GroupDaemons(name, tuple(map(DaemonId, numbers))))

    def send(
        self,
        number: int,
        service: Service,
        names: tuple[str, ...],
        session: int = 1,
        size: int = 10,
        control: bool = False,
    ) -> None:
        daemon = self.daemons[DaemonId(number)]
        if not daemon.up:
            return
        daemon.sent += 1
        body = daemon.sent.to_bytes(4, "big") * (size // 4 + 1)
        bundle = Bundle(daemon.member, session, daemon.sent, 1, service, body, control=control)
        bundle.names = names
        self._tell(daemon, Submit(bundle))

    # The end of a configuration.

    def change(self, parts: tuple[tuple[Member, ...], ...], epoch: int) -> None:
        """All of these go on together, whoever is left behind."""
        after = self._configuration(epoch, parts)
        going = [self.daemons[member.daemon] for member in after.members]
        for daemon in going:
            self._tell(daemon, Freeze(after.id))
        old = self.configuration
        recover = recover_all(
            old, after, {one.member: one.holdings for one in going if one.holdings is not None}
        )
        for daemon in going:
            self._tell(daemon, recover)
        deadline = self.now + 20_000_000
        while any(one.recovered != after.id for one in going):
            self.run(self.now + 1000)
            assert self.now < deadline, "recovery does not end"
        self.parts = parts
        self.configuration = after
        for daemon in going:
            self._tell(daemon, Install(after, ""))


__all__ = ["Continent", "Daemon", "Transitional"]
