"""Three daemons that run, part and meet again while their packets are spoiled on the way."""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from antiphon.core.effects import Broadcast, Emit, Pour, Received, Send, Word
from antiphon.core.errors import DecodeError
from antiphon.core.ids import DaemonId, Member
from antiphon.core.machine import MILLISECOND, SECOND, Instant
from antiphon.core.positions import stamp_of
from antiphon.core.trace import Kind, Record
from antiphon.protocol.node import Node
from antiphon.protocol.presets import SIMULATION
from antiphon.sim.network import NetworkSettings
from antiphon.sim.nodes import make_nodes
from antiphon.sim.script import Script
from antiphon.sim.trial import NodeVariant
from antiphon.sim.workload import WorkloadSettings, make_random_app
from antiphon.sim.world import World
from antiphon.wire.control import read_control
from antiphon.wire.crossing import read_object
from antiphon.wire.link import read_link_packet
from antiphon.wire.packet import HEADER_BYTES, Tag, open_header
from antiphon.wire.ring import read_ring_packet, read_token

DAEMONS = 3
ONE_SITE: tuple[tuple[int, ...], ...] = ()
TWO_SITES = ((1, 2), (3,))
SESSIONS = 2
RECENT_PACKETS = 64
STEP_US = 100 * MILLISECOND
TAKEN = "taken"
TRACE_LINES = 12

Spoil = Callable[[list[bytes]], bytes]
"""Makes another packet of the recent ones, the last of them above all."""


class Tapped:
    """A node that gets some of its packets spoiled, and is watched while it reads them."""

    def __init__(self, node: Node, live: "LiveNodes") -> None:
        self.node = node
        self._live = live

    def deadline(self) -> Instant:
        return self.node.deadline()

    def start(self, now: Instant) -> Sequence[Word]:
        return self._overhear(self.node.start(now))

    def handle(self, now: Instant, event: Any) -> Sequence[Word]:
        live = self._live
        if not isinstance(event, Received) or live.rng.random() >= live.spoiled:
            return self._overhear(self.node.handle(now, event))
        live.last = live.spoil([*live.packets, event.packet])
        live.inputs += 1
        effects = self.node.handle(now, Received(live.last))
        live.outcomes[_outcome(effects)] += 1
        return self._overhear(effects)

    def leave(self) -> Sequence[Word]:
        return self._overhear(self.node.leave())

    def _overhear(self, effects: Sequence[Word]) -> Sequence[Word]:
        for effect in effects:
            if isinstance(effect, Send | Broadcast | Pour):
                self._live.packets.append(effect.packet)
                if self._live.spoiled:
                    self._live.unreadable.update(_refusals(effect.packet))
        return effects


def _refusals(packet: bytes) -> list[str]:
    """Why others would refuse what a node says: whatever it believed, it speaks clearly."""
    try:
        tag, sender, incarnation = open_header(packet, SIMULATION.cluster)
        if tag == Tag.DATA:
            read_ring_packet(packet, sender, incarnation)
        elif tag == Tag.TOKEN:
            read_token(packet)
        elif tag == Tag.LINK:
            for each in read_link_packet(packet, sender, incarnation).objects:
                read_object(each.data)
        elif tag == Tag.LOOSE:
            read_object(packet[HEADER_BYTES:])
        else:
            read_control(tag, packet)
    except DecodeError as error:
        return [f"says what others refuse: {Tag(tag).name}, {error}"]
    return []


def _outcome(effects: Sequence[Word]) -> str:
    for effect in effects:
        if isinstance(effect, Emit) and effect.record.kind == Kind.DROP:
            return effect.record.reason
    return TAKEN


class LiveNodes:
    """A small world under load whose network is cut and healed all the time."""

    def __init__(
        self,
        seed: int,
        spoil: Spoil | None = None,
        sites: tuple[tuple[int, ...], ...] = ONE_SITE,
        tcp: bool = False,
    ) -> None:
        self.packets: deque[bytes] = deque(maxlen=RECENT_PACKETS)
        self.outcomes: Counter[str] = Counter()
        self.unreadable: Counter[str] = Counter()
        self.inputs = 0
        self.last = b""
        self.rng = Random(seed)
        self.spoil = spoil or _unchanged
        self.spoiled = 0.0
        """Part of the packets that are spoiled: none until the daemons have met."""

        settings = NodeVariant(tcp_edges=int(tcp)).settings(DAEMONS, sites)
        make = make_nodes(Script(daemons=DAEMONS, sites=sites), settings)

        def make_tapped(member: Member, rng: Random) -> Tapped:
            node = make(member, rng)
            assert isinstance(node, Node)
            return Tapped(node, self)

        load = WorkloadSettings(rate=60.0, groups=3, churn=0.1, large=0.02)
        self.world = World(
            make_tapped,
            seed=seed,
            daemons=DAEMONS,
            sessions=SESSIONS,
            network=NetworkSettings(loss=0.02),
            sites=sites,
            make_app=make_random_app(load, DAEMONS, SESSIONS),
            sink=_forget,
        )
        self.world.run(SECOND)
        self.spoiled = self.rng.choice((0.03, 0.1, 0.4)) if spoil else 0.0

    def go_on(self) -> None:
        """A while, now and then with a cut or a healing before it."""
        draw = self.rng.random()
        if draw < 0.1:
            alone = DaemonId(self.rng.randrange(1, DAEMONS + 1))
            rest = [daemon for daemon in self.world.hosts if daemon != alone]
            self.world.network.cut([[alone], rest])
        elif draw < 0.3:
            self.world.network.heal()
        try:
            self.world.run(self.world.now + STEP_US)
        except Exception as error:  # what an application cannot read, no node may tell it
            self.unreadable[f"an application raised {type(error).__name__}: {error}"] += 1

    def faults(self) -> list[tuple[str, str]]:
        """(what, where): nodes that raised, and promises that machines make to themselves
        and do not keep."""
        found = [
            (bug.error, "".join(bug.trace.splitlines(True)[-TRACE_LINES:]))
            for bug in self.world.bugs
        ]
        found += [(what, "") for what in sorted(self.unreadable)]
        for host in self.world.hosts.values():
            if isinstance(host.node, Tapped):
                found += [(text, "") for text in broken_invariants(host.node.node)]
        return found


def broken_invariants(node: Node) -> list[str]:
    """What the docstrings of the machines say of their own state, tested."""
    membership = node.membership
    rules = {
        "installed <= accepted": membership.installed.id <= membership.ids.accepted,
        "accepted.epoch <= epoch": membership.ids.accepted.epoch <= membership.ids.epoch,
        "a member of what it installed": node.me in membership.installed.members,
    }
    ring = node.stream._ring
    if ring is not None:
        window, delivery = ring._window, ring.delivery
        limit = ring._settings.buffered_packets_max
        rules |= {
            "window: released <= contiguous": window.released <= window.contiguous,
            "window: contiguous <= highest": window.contiguous <= window.highest,
            "window: memory is bounded (P4)": len(window.packets) <= 3 * limit,
            "delivery: cursor <= line": stamp_of(delivery.cursor) <= delivery.line,
        }
        for source in delivery.sources:
            ahead, passed = source.ahead, source.passed
            rules |= {
                "source: released <= known": source.released <= source.known,
                "source: passed <= chained": passed <= source.chained,
                "source: chained <= known": source.chained <= source.known,
                "source: ahead is not passed": not ahead or ahead.first() > passed,
                "source: ready is not passed": not source.ready
                or source.ready[0].sequence > passed,
            }
    return [rule for rule, kept in rules.items() if not kept]


def _unchanged(packets: list[bytes]) -> bytes:
    return packets[-1]


def _forget(record: Record) -> None:
    """Nobody judges these runs: forged packets may break any promise."""
