"""Whole memberships of several sites on a bench: virtual time, a network that loses and is cut.
Streams are played: they hold nothing, recover after a while, and notice when their ring breaks."""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from random import Random

from antiphon.core.effects import (
    Broadcast,
    Emit,
    Evidence,
    Freeze,
    Holdings,
    Install,
    Recover,
    Recovered,
    Send,
    StreamHoldings,
    Trouble,
    Word,
)
from antiphon.core.ids import NOBODY, ConfigId, Configuration, DaemonId, Incarnation, Member
from antiphon.core.machine import WAKEUP, Instant
from antiphon.core.trace import Kind
from antiphon.protocol.membership.membership import Membership, State
from antiphon.protocol.membership.routes import forward
from antiphon.protocol.membership.settings import MembershipSettings
from antiphon.protocol.node import ROUTED_TAGS
from antiphon.wire.control import Relayed, read_control
from antiphon.wire.heard import Heard
from antiphon.wire.packet import TAG_AT, Envelope, Tag, open_header

CLUSTER = 7
SETTINGS = MembershipSettings()
NOTHING = StreamHoldings((), 0, 0, ())
TOKEN_LOSS_US = 200_000
WATCH_US = 50_000

Link = tuple[DaemonId, DaemonId]


class Daemon:
    def __init__(
        self,
        member: Member,
        settings: MembershipSettings,
        sites: tuple[tuple[DaemonId, ...], ...],
        seed: int,
    ) -> None:
        self.member = member
        envelope = Envelope(CLUSTER, member)
        self.membership = Membership(member, settings, envelope, Random(seed), sites)
        self.envelope = envelope
        self.up = True
        self.broken_since: Instant = -1
        self.ready: ConfigId | None = None
        self.seen: list[str] = []

    @property
    def installed(self) -> Configuration:
        return self.membership.installed


class Country:
    def __init__(
        self,
        random: Random,
        *sizes: int,
        loss: float = 0.0,
        far_us: int = 20_000,
        settings: MembershipSettings = SETTINGS,
    ) -> None:
        self.random = random
        self.settings = settings
        self.now: Instant = 1_000_000
        self.loss = loss
        self.far_us = far_us
        self.ways: dict[frozenset[int], int] = {}
        """Between two sites, counted from 1, where it is not `far_us`."""

        self.recovery_us = 5_000
        self.cuts: set[Link] = set()
        self.sites = tuple(
            tuple(DaemonId(100 * (site + 1) + at) for at in range(size))
            for site, size in enumerate(sizes)
        )
        self.site_of = {one: site for site in self.sites for one in site}
        self.daemons: dict[DaemonId, Daemon] = {}
        self.known: dict[ConfigId, Configuration] = {}
        """What was installed, by anybody."""

        self.attempts = 0
        self.aborts: Counter[str] = Counter()
        self.reasons: set[str] = set()
        """Of attempts and of trouble."""

        self.drops: Counter[str] = Counter()
        self.sent: Counter[Tag] = Counter()
        self.watch: Callable[[Daemon, str], None] | None = None
        """Called when a daemon enters a state."""

        self.lose: Callable[[DaemonId, DaemonId, int], bool] | None = None
        """Packets that never arrive: sender, receiver, tag."""

        self._queue: list[tuple[Instant, int, Callable[[], None]]] = []
        self._counter = 0
        self._lives = 0

    # People.

    def start(self, *numbers: int) -> None:
        """These, or all."""
        for daemon in map(DaemonId, numbers or tuple(self.site_of)):
            self._lives += 1
            member = Member(daemon, Incarnation(1000 + self._lives))
            made = Daemon(member, self.settings, self.sites, self.random.randrange(1 << 30))
            self.daemons[daemon] = made
            self._carry_out(made, made.membership.start(self.now))
        if not numbers:
            self.at(self.now + WATCH_US, self._watch_rings)

    def crash(self, number: int) -> None:
        self.daemons[DaemonId(number)].up = False

    def cut(self, ones: Iterable[int], others: Iterable[int], both: bool = True) -> None:
        for one in map(DaemonId, ones):
            for other in map(DaemonId, others):
                self.cuts.add((one, other))
                if both:
                    self.cuts.add((other, one))

    def heal(self) -> None:
        self.cuts.clear()

    def alive(self) -> list[Daemon]:
        return [daemon for _, daemon in sorted(self.daemons.items()) if daemon.up]

    def together(self, *groups: Iterable[int]) -> bool:
        """Each of these groups is a configuration, everybody operational in it."""
        for group in groups:
            members = tuple(self.daemons[DaemonId(number)].member for number in sorted(group))
            for member in members:
                daemon = self.daemons[member.daemon]
                if daemon.membership.state != State.OPERATIONAL:
                    return False
                if daemon.installed.members != members:
                    return False
            if len({self.daemons[member.daemon].installed.id for member in members}) > 1:
                return False
        return True

    def whole(self) -> bool:
        """All who are up are in one configuration, each site one segment of it."""
        if not self.together(self.everybody()):
            return False
        sites = [[one for one in site if self.daemons[one].up] for site in self.sites]
        parts = self.alive()[0].installed.segments
        return [[one.daemon for one in part] for part in parts] == [site for site in sites if site]

    def everybody(self) -> list[int]:
        return [int(daemon.member.daemon) for daemon in self.alive()]

    # Time and the network.

    def at(self, when: Instant, do: Callable[[], None]) -> None:
        self._counter += 1
        heapq.heappush(self._queue, (when, self._counter, do))

    def run(self, us: int) -> None:
        until = self.now + us
        while True:
            alive = self.alive()
            due = min((one.membership.deadline() for one in alive), default=until + 1)
            if self._queue and self._queue[0][0] <= due:
                when, _, do = self._queue[0]
                if when > until:
                    break
                heapq.heappop(self._queue)
                self.now = max(self.now, when)
                do()
            elif due <= until:
                self.now = max(self.now, due)
                for daemon in alive:
                    if daemon.up and daemon.membership.deadline() <= self.now:
                        self.tell(daemon, WAKEUP)
            else:
                break
        self.now = until

    def run_until(self, true: Callable[[], bool], within_us: int) -> None:
        end = self.now + within_us
        while not true():
            assert self.now < end, self.picture()
            self.run(10_000)

    def picture(self) -> str:
        return "\n".join(
            f"{daemon.member.daemon} {daemon.membership.state} "
            f"{[[int(one.daemon) for one in part] for part in daemon.installed.segments]} "
            f"{daemon.installed.id} leads {daemon.membership._site.leading}"
            for daemon in self.alive()
        )

    def tell(self, daemon: Daemon, event: Word) -> None:
        self._carry_out(daemon, daemon.membership.handle(self.now, event))

    def _carry_out(self, daemon: Daemon, effects: list[Word]) -> None:
        for effect in effects:
            match effect:
                case Broadcast(packet):
                    self.sent[Tag(packet[TAG_AT])] += 1
                    for other in self.site_of[daemon.member.daemon]:
                        self._carry(daemon, other, packet)
                case Send(packet=packet):
                    self.sent[Tag(packet[TAG_AT])] += 1
                    if packet[TAG_AT] in ROUTED_TAGS:
                        effect = daemon.membership.address(effect)
                    self._carry(daemon, effect.to, effect.packet)
                case Emit(record):
                    self._note(daemon, record.kind, record.reason)
                case Freeze(attempt):
                    streams = (NOTHING,) * len(daemon.installed.segments)
                    self._soon(daemon, Holdings(attempt, streams, 0, 0), 1)
                case Recover(attempt=attempt):
                    wait = self.random.randrange(self.recovery_us)
                    self._soon(daemon, Recovered(attempt), wait)
                case Install(configuration):
                    self._install(daemon, configuration)

    def _soon(self, daemon: Daemon, event: Word, us: int) -> None:
        self.at(self.now + us, lambda: daemon.up and self.tell(daemon, event))

    def _install(self, daemon: Daemon, configuration: Configuration) -> None:
        """D5: an id means one list of members, segments and edges."""
        assert self.known.setdefault(configuration.id, configuration) == configuration
        daemon.broken_since = -1

    def _note(self, daemon: Daemon, kind: Kind, reason: str) -> None:
        if kind in (Kind.ATTEMPT, Kind.TROUBLE):
            self.reasons.add(reason)
        if kind == Kind.ATTEMPT:
            self.attempts += 1
        elif kind == Kind.ABORT:
            self.aborts[reason] += 1
        elif kind == Kind.DROP:
            self.drops[reason] += 1
        elif kind == Kind.ENTER and self.watch is not None:
            self.watch(daemon, reason)

    def reaches(self, one: DaemonId, other: DaemonId) -> bool:
        return (one, other) not in self.cuts

    def _carry(self, sender: Daemon, to: DaemonId, packet: bytes) -> None:
        source = sender.member.daemon
        other = self.daemons.get(to)
        if other is None or other is sender or not self.reaches(source, to):
            return
        if self.random.random() < self.loss:
            return
        if self.lose is not None and self.lose(source, to, packet[TAG_AT]):
            return
        near = self.site_of[source] == self.site_of[to]
        between = frozenset((int(source) // 100, int(to) // 100))
        delay = 100 if near else self.ways.get(between, self.far_us)
        delay += self.random.randrange(delay)
        self.at(self.now + delay, lambda: other.up and self._hear(other, packet))

    def _hear(self, daemon: Daemon, packet: bytes) -> None:
        tag, number, life = open_header(packet, CLUSTER)
        if tag == Tag.RELAYED:
            relayed = read_control(tag, packet)
            assert isinstance(relayed, Relayed) and relayed.route[0] == daemon.member.daemon
            if len(relayed.route) > 1:
                onward = forward(daemon.envelope, relayed)
                self._carry(daemon, onward.to, onward.packet)
                return
            packet = relayed.packet
            tag, number, life = open_header(packet, CLUSTER)
        self.tell(daemon, Heard(Member(number, life), read_control(tag, packet)))

    # The streams that are played.

    def _watch_rings(self) -> None:
        self.at(self.now + WATCH_US, self._watch_rings)
        for daemon in self.alive():
            membership = daemon.membership
            if membership.state == State.READY:
                self._show_evidence(daemon)
            if membership.state != State.OPERATIONAL or self._ring_turns(daemon):
                daemon.broken_since = -1
            elif daemon.broken_since < 0:
                daemon.broken_since = self.now
            elif self.now - daemon.broken_since >= TOKEN_LOSS_US:
                self.tell(daemon, Trouble("token_loss", NOBODY))

    def _ring_turns(self, daemon: Daemon) -> bool:
        ring = daemon.installed.segment_of(daemon.member)
        for one in ring:
            other = self.daemons[one.daemon]
            if not other.up or other.member != one or other.installed.id != daemon.installed.id:
                return False
            if other.membership.state == State.COLLECT:
                return False
        return all(self.reaches(one.daemon, two.daemon) for one in ring for two in ring)

    def _show_evidence(self, daemon: Daemon) -> None:
        """Others of its ring already speak in the next configuration."""
        attempt = daemon.membership._attempt
        assert attempt is not None
        for member in attempt.segment:
            other = self.daemons[member.daemon]
            if other.up and other.installed.id == attempt.id:
                if self.reaches(member.daemon, daemon.member.daemon):
                    self.tell(daemon, Evidence(attempt.id))
                    return
