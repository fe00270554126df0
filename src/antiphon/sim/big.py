"""One large run: many sites of many daemons find each other, work, lose some, and merge again.

The story is the same at every size, and each chapter lasts as long as it needs: daemons start
alone and form one configuration; clients join and send; a daemon, a representative and a whole
site are lost, one after the other, and come back. All of it is judged, and what crosses between
sites is counted chapter by chapter.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from random import Random
from time import process_time

import msgspec

from antiphon.check import Violation, judge
from antiphon.core.effects import Message
from antiphon.core.ids import DaemonId, Member
from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.core.service import Service
from antiphon.protocol.groups.groups import State as GroupsState
from antiphon.protocol.membership.membership import State
from antiphon.protocol.node import Node, Readers
from antiphon.protocol.presets import SIMULATION, NodeSettings
from antiphon.protocol.stream.settings import StreamSettings
from antiphon.sim.meter import Meter
from antiphon.sim.session import App, Listener, News, Session
from antiphon.sim.world import World
from antiphon.wire.control import read_control
from antiphon.wire.ring import read_ring_packet

GROUP = "news"
SENDERS = 10
LOST_SITES = 3
"""The last ones, at which somebody is lost."""

MESSAGES = 100
CHAPTERS_WITH_MESSAGES = 5
PAYLOAD = b"a hundred bytes of news. " * 4
LOOK_US = 100 * MILLISECOND
IDLE_US = 2 * SECOND
PATIENCE_US = 60 * SECOND
"""A chapter that needs longer has failed."""

READ_ONCE = 1 << 14
"""Packets that are read once for all who hear them."""


class Reader(Listener):
    """A member of the group; counts what it gets."""

    def __init__(self) -> None:
        self.got = 0

    def on_news(self, session: Session, news: News) -> None:
        if isinstance(news, Message):
            self.got += news.count


class Chapter(msgspec.Struct, frozen=True):
    name: str
    ended: bool
    """Else it did not come to its end in time."""

    span_us: int
    """Of the world's time."""

    seconds: float
    """Of the processor."""

    events: int
    configurations: int
    """Different ones that somebody installed."""

    crossed: dict[str, int]
    """Bytes between sites, by purpose."""


class BigRun:
    """Sites of `daemons` daemons each; site 1 has daemons 1 to `daemons`, and so on."""

    def __init__(self, sites: int, daemons: int, seed: int = 0) -> None:
        count = sites * daemons
        self.places = tuple(
            tuple(map(DaemonId, range(first, first + daemons)))
            for first in range(1, count + 1, daemons)
        )
        settings = _settings(self.places)
        self._read = Readers(
            lru_cache(maxsize=READ_ONCE)(read_control),
            lru_cache(maxsize=READ_ONCE)(read_ring_packet),
        )
        self._nodes: dict[DaemonId, Node] = {}
        self._readers: dict[DaemonId, Reader] = {}

        def make_node(member: Member, rng: Random) -> Node:
            node = self._nodes[member.daemon] = Node(member, settings, rng, read=self._read)
            return node

        self.world = World(
            make_node, seed=seed, daemons=count, sessions=1, sites=self.places, make_app=self._app
        )
        self._meter = Meter()
        self.world.network.far_packet = self._meter.count
        self._joined: dict[DaemonId, Session] = {}
        self._due: dict[DaemonId, int] = {}
        """How much each member has got when the chapter ends."""

        self.sent = 0

    def _app(self, daemon: DaemonId, slot: int, rng: Random) -> App:
        return self._readers.setdefault(daemon, Reader())

    # The story.

    def chapters(self) -> Iterator[Chapter]:
        """Each as it has ended; the last one is the end, after which nobody owes anything."""
        for name, begin, ended in self._story():
            chapter = self._tell(name, begin, ended)
            yield chapter
            if not chapter.ended:
                return
        yield self._tell("quiet", self.world.quiet, self._wait(IDLE_US))
        self.world.finish()

    def _story(self) -> Iterator[tuple[str, Callable[[], None], Callable[[], bool]]]:
        yield "form", lambda: None, self._one_configuration
        yield "join", self._join, self._all_joined
        yield "send", self._send, self._all_got
        yield "idle", lambda: None, self._wait(IDLE_US)
        for name, daemons in self._losses():
            yield f"lose {name}", partial(self._crash, daemons), self._one_configuration
            yield "send", self._send, self._all_got
        yield "merge", self._restart, self._one_configuration
        yield "join again", self._join, self._all_joined
        yield "send", self._send, self._all_got

    def _losses(self) -> list[tuple[str, tuple[DaemonId, ...]]]:
        """Members of the group are among them; nobody who sends, and not the coordinator."""
        return [
            ("a daemon", self.places[-1][-1:]),
            ("a representative", self.places[-2][:1]),
            ("a site", self.places[-3]),
        ]

    def _tell(self, name: str, begin: Callable[[], None], ended: Callable[[], bool]) -> Chapter:
        world = self.world
        since, events, clock, records = world.now, world.events, process_time(), len(world.records)
        self._meter.read()
        begin()
        done = False
        while not done and world.now < since + PATIENCE_US and not world.bugs:
            world.run(world.now + LOOK_US)
            done = ended()
        installed = {
            record.config for record in world.records[records:] if record.kind == "install"
        }
        return Chapter(
            name,
            done,
            world.now - since,
            process_time() - clock,
            world.events - events,
            len(installed),
            dict(self._meter.read()),
        )

    # What is done.

    def _join(self) -> None:
        """One daemon of each site has a member of the group."""
        for site in self.places:
            session = self.world.session(site[-1], 1)
            if session is not None and self._joined.get(site[-1]) is not session:
                self._joined[site[-1]] = session
                session.join(GROUP)

    def _send(self) -> None:
        """Some sites have a client each that sends; all send as much, or nearly."""
        due = MESSAGES // CHAPTERS_WITH_MESSAGES
        members = [daemon for daemon, session in self._joined.items() if session.live]
        self._due = {daemon: self._readers[daemon].got + due for daemon in members}
        senders = [site[0] for site in self.places[: max(1, len(self.places) - LOST_SITES)]]
        for number in range(due):
            session = self.world.session(senders[number % min(SENDERS, len(senders))], 1)
            assert session is not None, "who sends is never lost"
            session.multicast((GROUP,), Service.AGREED, PAYLOAD)
        self.sent += due

    def _crash(self, daemons: tuple[DaemonId, ...]) -> None:
        for daemon in daemons:
            self.world.crash(self.world.hosts[daemon])

    def _restart(self) -> None:
        for host in self.world.hosts.values():
            self.world.start(host)

    # What is waited for.

    def _live(self) -> list[Node]:
        return [self._nodes[daemon] for daemon in self._nodes if self.world.runs(daemon)]

    def _one_configuration(self) -> bool:
        """All who run share one, of just them, and one directory."""
        live = self._live()
        installed = live[0].membership.installed
        return len(installed.members) == len(live) and all(
            node.membership.installed.id == installed.id
            and node.membership.state == State.OPERATIONAL
            and node.groups.state == GroupsState.SETTLED
            for node in live
        )

    def _all_joined(self) -> bool:
        """Every daemon knows of all members."""
        count = sum(session.live for session in self._joined.values())
        groups = (node.groups.group(GROUP) for node in self._live())
        return all(group is not None and len(group.members) == count for group in groups)

    def _all_got(self) -> bool:
        return all(self._readers[daemon].got >= due for daemon, due in self._due.items())

    def _wait(self, span_us: int) -> Callable[[], bool]:
        ends: list[int] = []

        def over() -> bool:
            if not ends:
                ends.append(self.world.now - LOOK_US + span_us)
            return self.world.now >= ends[0]

        return over

    # What came of it.

    def violations(self) -> list[Violation]:
        return judge(self.world.records)


def control_per_pair(chapter: Chapter, sites: int) -> float:
    """Bytes between two sites that are no client's, in both directions."""
    control = sum(chapter.crossed.values()) - chapter.crossed.get("payload", 0)
    return control / (sites * (sites - 1) / 2)


def _settings(places: tuple[tuple[DaemonId, ...], ...]) -> NodeSettings:
    """Those of the swarm, but packets of usual size: a bundle tells its way to each site."""
    return replace(
        SIMULATION,
        daemons=tuple(daemon for site in places for daemon in site),
        sites=places,
        stream=replace(SIMULATION.stream, packet_bytes=StreamSettings().packet_bytes),
    )
