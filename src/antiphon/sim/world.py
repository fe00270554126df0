"""The simulated world: hosts, their lives, their sessions, and how it all ends.

    world = World(make_node, seed=7, daemons=5, sessions=2)
    world.run(2 * SECOND)
    world.network.cut([[1, 2], [3, 4, 5]])
    world.run(4 * SECOND)
    world.quiet()
    world.run(9 * SECOND)
    world.finish()
    world.records

The same seed gives the same records, whatever the machine and the hash seed.
"""

from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from antiphon.core.ids import DaemonId, Member
from antiphon.core.trace import Kind, Record
from antiphon.sim.disk import Disk, DiskSettings
from antiphon.sim.engine import Engine
from antiphon.sim.host import Host, SimulatedNode
from antiphon.sim.network import Far, Network, NetworkSettings
from antiphon.sim.places import Atlas
from antiphon.sim.session import App, Listener, Session

MakeNode = Callable[[Member, Random], SimulatedNode]
MakeStoredNode = Callable[[Member, Random, dict[str, bytes]], SimulatedNode]
MakeApp = Callable[[DaemonId, int, Random], App]


def make_listener(daemon: DaemonId, slot: int, rng: Random) -> App:
    return Listener()


class World(Engine):
    """Hosts 1 to `daemons`, each with `sessions` applications in slots 1 to `sessions`.

    `sites` says which daemons stand together; without it all do. `far` says what links are
    like from one site to another. `make_node(member, rng)` makes the node of a new life;
    `make_stored_node`, if given, is asked instead when the disk holds something, and gets a
    copy of the contents.
    `make_app(daemon, slot, rng)` is asked once for each slot: applications outlive their
    daemons. Records go to `records`, or to `sink` if given.
    """

    def __init__(
        self,
        make_node: MakeNode,
        *,
        seed: int = 0,
        daemons: int = 3,
        sessions: int = 0,
        network: NetworkSettings | None = None,
        sites: Sequence[Sequence[int]] = (),
        far: Far | None = None,
        disk: DiskSettings | None = None,
        make_app: MakeApp = make_listener,
        make_stored_node: MakeStoredNode | None = None,
        sink: Callable[[Record], None] | None = None,
    ) -> None:
        self.seed = seed
        self.rng = self.derive("world")
        self.hosts = {
            daemon: self._new_host(daemon, disk or DiskSettings())
            for daemon in map(DaemonId, range(1, daemons + 1))
        }
        hosts = list(self.hosts.values())
        self.atlas = Atlas(sites or [list(self.hosts)])
        usual = network or NetworkSettings()
        links = Network(usual, hosts, self.derive("network"), self.atlas, far)
        self.records: list[Record] = []
        super().__init__(links, self.derive("pipes"), sink or self.records.append)
        self.quiets = 0
        self._make_node = make_node
        self._make_stored_node = make_stored_node
        self._sessions = sessions
        self._app_rngs = {
            (daemon, slot): self.derive(f"app {daemon} {slot}")
            for daemon in self.hosts
            for slot in range(1, sessions + 1)
        }
        self.apps = {place: make_app(*place, rng) for place, rng in self._app_rngs.items()}
        for host in hosts:
            self.call_at(0, partial(self.start, host))

    def derive(self, purpose: str) -> Random:
        """A stream of its own, so that one more draw here changes nothing there."""
        return Random(f"{self.seed} {purpose}")

    def _new_host(self, daemon: DaemonId, settings: DiskSettings) -> Host:
        disk = Disk(settings, self.derive(f"disk {daemon}"))
        return Host(daemon, disk, self.derive(f"host {daemon}"))

    def runs(self, daemon: DaemonId) -> bool:
        return self.hosts[daemon].node is not None

    # What befalls a host.

    def start(self, host: Host) -> None:
        """Begin a new life, unless it lives."""
        if host.node is not None or host.dead:
            return
        host.life += 1
        host.paused_until = 0
        host.member = member = host.new_member(self.now)
        rng = self.derive(f"node {host.id} {host.life}")
        stored = dict(host.disk.contents)
        if stored and self._make_stored_node is not None:
            node = self._make_stored_node(member, rng, stored)
        else:
            node = self._make_node(member, rng)
        host.node = node
        several = len(self.atlas.sites) > 1
        site = f"site{self.atlas.site_of[host.id]}" if several else ""
        self.write(Kind.START, member, detail=site)
        try:
            effects = node.start(self.now + host.offset)
        except Exception as error:
            self._found_bug(host, error)
            return
        self._perform(host, effects)
        self._watch_deadline(host)
        for slot in range(1, self._sessions + 1):
            self.open(host, slot)

    def crash(self, host: Host, reason: str = "crash") -> None:
        """Everything but the disk is lost."""
        if host.node is not None:
            self.stop(host, reason)

    def leave(self, host: Host) -> None:
        """It stops as asked, with a last word to the others."""
        if host.node is not None:
            self._perform(host, host.node.leave())
            self.stop(host, "stopped")

    def pause(self, host: Host) -> None:
        """The node does not run, and does not know it; its packets wait."""
        if host.node is not None:
            host.paused = host.held = True

    def resume(self, host: Host) -> None:
        if host.paused:
            host.paused = False
            host.held = host.busy
            self._drain(host)

    def jump(self, host: Host, by_us: int) -> None:
        """The node's monotonic clock leaps forward."""
        host.offset += by_us
        self._watch_deadline(host)

    # Sessions.

    def open(self, host: Host, slot: int) -> None:
        """A session for the slot's application, if the host runs and the slot is free."""
        current = host.slots.get(slot)
        if host.node is None or (current and current.live and current.life == host.life):
            return
        place = (host.id, slot)
        session = Session(self, host, slot, self.apps[place], self._app_rngs[place])
        host.next_session += 1
        host.slots[slot] = host.sessions[session.number] = session
        session.connect()

    def session(self, daemon: DaemonId, slot: int) -> Session | None:
        """The slot's session, if it is open now."""
        session = self.hosts[daemon].slots.get(slot)
        return session if session is not None and session.live else None

    # The end.

    def quiet(self) -> None:
        """All that may end ends: from here on progress is owed."""
        self.quiets += 1
        self.unwatch_all()
        self.network.calm()
        for host in self.hosts.values():
            host.cost = 0
            self.resume(host)
            self.start(host)
        self.write(Kind.QUIET)

    def finish(self) -> None:
        """Say for each live node with whom it must share a configuration. Where some of one
        site hear each other only through others, only agreement is owed, and nothing is said."""
        live = [host.id for host in self.hosts.values() if host.node is not None]
        for segments in self.network.components(live):
            if all(map(self.network.is_clique, segments)):
                component = sorted(daemon for segment in segments for daemon in segment)
                members = tuple(self.hosts[daemon].member for daemon in component)
                for member in members:
                    self.write(Kind.REACH, member, members=members)
