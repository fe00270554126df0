"""All links of a daemon that leads its segment: made with a configuration, dropped with it.

       Neighbours              LinkDead
    -------------> links     ------------> membership
        Forward    one Hop or   Arrived
    -------------> Tube per  ------------> stream
        PipeUp     edge         Dial
    -------------> ...       ------------> driver

Timers   those of the links
After    docs/protocols/hop.md, docs/protocols/tcp-link.md
"""

from collections import Counter, deque

from antiphon.core.effects import (
    Emit,
    Forward,
    LinkDead,
    Neighbours,
    PipeDown,
    PipeRoom,
    PipeUp,
    Send,
    Word,
)
from antiphon.core.ids import DaemonId, Member
from antiphon.core.machine import Instant, Wakeup
from antiphon.core.trace import Kind, Record
from antiphon.protocol.links.deadlines import Deadlines
from antiphon.protocol.links.edges import Edges
from antiphon.protocol.links.hop import Hop
from antiphon.protocol.links.memory import Memory
from antiphon.protocol.links.news import LinkId
from antiphon.protocol.links.pipe import Pipe
from antiphon.protocol.links.settings import LinkKind
from antiphon.protocol.links.standing import LinkStanding, figures_of, standing_of
from antiphon.protocol.links.tube import Tube
from antiphon.wire.heard import HeardLink
from antiphon.wire.link import LinkPacket
from antiphon.wire.packet import Envelope, Tag

FORETASTE_MAX = 256
"""Packets of links that a neighbour has made before me, kept until I follow."""


class Links:
    def __init__(self, me: Member, edges: Edges, envelope: Envelope) -> None:
        self._me = me
        self._edges = edges
        self._envelope = envelope
        self._head = envelope.head(Tag.LINK)
        self._links: dict[DaemonId, Hop | Tube] = {}
        self._birth = 0
        self._pipes: dict[DaemonId, Pipe] = {}
        """To those with whom a TCP link is or was shared."""

        self._memories: dict[DaemonId, Memory] = {}
        """What was learnt of the way to each neighbour; as many as there are daemons."""

        self._foretaste: deque[LinkPacket] = deque(maxlen=FORETASTE_MAX)
        self._past: dict[DaemonId, Counter[str]] = {}
        """What links that have ended have done, by peer."""

        self._deadlines = Deadlines()
        """Asked after every step of the node, and there are as many links as sites."""

    def deadline(self) -> Instant:
        return self._deadlines.first(self._links)

    def skip(self, gap: Instant) -> None:
        """The process stood still for so long."""
        for link in self._links.values():
            link.skip(gap)

    def reload(self, edges: Edges) -> None:
        """For the links of the next configuration."""
        self._edges = edges

    def handle(self, now: Instant, event: Word | Wakeup) -> list[Word]:
        match event:
            case Forward():
                return self._forward(now, event)
            case HeardLink(packet):
                return self._hear(now, packet)
            case Wakeup():
                due = self._deadlines.due(now, self._links)
                woken = [self._links[peer] for peer in due]
                return [effect for link in woken for effect in self._after(link, link.wake(now))]
            case Neighbours(birth, peers):
                return self._begin(now, birth, peers)
            case PipeUp() | PipeDown() | PipeRoom():
                return self._hear_pipe(now, event)
        raise AssertionError(f"{event!r} at the links")

    def _begin(self, now: Instant, birth: int, peers: tuple[Member, ...]) -> list[Word]:
        """Other links for another configuration; what was on the way in the old ones is lost,
        and recovery has found what mattered."""
        self._birth = birth
        self._past = self.figures()
        self._links = {}
        self._deadlines.clear()
        effects: list[Word] = []
        for peer in peers:
            link = self._link_to(now, peer)
            self._links[peer.daemon] = link
            if isinstance(link, Tube):
                effects += self._after(link, link.begin(now))
        for pipe in self._pipes.values():
            if pipe.in_use and pipe.peer not in self._links:
                effects.append(pipe.hang_up())
        early, self._foretaste = self._foretaste, deque(maxlen=FORETASTE_MAX)
        for packet in early:
            if packet.birth == birth:
                effects += self._hear(now, packet)
        return effects

    def _link_to(self, now: Instant, peer: Member) -> Hop | Tube:
        edge = self._edges.to(peer.daemon)
        memory = self._memories.setdefault(peer.daemon, Memory(edge.hop))
        link = LinkId(self._me, peer, self._birth)
        if edge.link is LinkKind.HOP:
            return Hop(now, link, self._head, edge.hop, memory)
        pipe = self._pipes.setdefault(peer.daemon, Pipe(peer.daemon))
        return Tube(link, self._head, edge.tcp, memory, pipe)

    def _hear_pipe(self, now: Instant, event: PipeUp | PipeDown | PipeRoom) -> list[Word]:
        """A pipe may come before its link: the other end has installed what I have not yet."""
        daemon = event.peer.daemon if isinstance(event, PipeUp) else event.peer
        pipe = self._pipes.setdefault(daemon, Pipe(daemon))
        if self._edges.to(daemon).link is not LinkKind.TCP:
            return [pipe.hang_up()]
        link = self._links.get(daemon)
        tube = link if isinstance(link, Tube) else None
        if isinstance(event, PipeUp):
            pipe.came_up(event.peer, event.room)
            return self._after(tube, tube.pipe_up(now)) if tube else []
        if isinstance(event, PipeDown):
            pipe.went_down()
            return self._after(tube, tube.pipe_down(now)) if tube else []
        pipe.room = event.room
        return self._after(tube, tube.pipe_room(now)) if tube else []

    def _forward(self, now: Instant, what: Forward) -> list[Word]:
        link = self._links.get(what.to)
        if link is None or link.dead:
            return []  # membership has been told, and recovery will find what is held
        if not what.reliable:
            return [Send(what.to, self._envelope.head(Tag.LOOSE) + what.data)]
        sent = link.send(now, what.data, stream=what.segment, is_report=what.is_report)
        return self._after(link, sent)

    def _hear(self, now: Instant, packet: LinkPacket) -> list[Word]:
        link = self._links.get(packet.sender.daemon)
        if packet.birth != self._birth:
            self._foretaste.append(packet)
            return []
        outcome = link.receive(now, packet) if link is not None else "other_link"
        if link is None or isinstance(outcome, str):
            return [self._dropped(now, packet.sender, str(outcome))]
        return self._after(link, outcome)

    def _after(self, link: Hop | Tube, effects: list[Word]) -> list[Word]:
        """A dead link is told once, and heard of no more. Nobody waits for room: the common
        window of all segments bounds what is on its way."""
        peer = link.link.peer.daemon
        self._deadlines.note(peer, link.deadline())
        if any(isinstance(effect, LinkDead) for effect in effects):
            self._past[peer] = self.figures()[peer]
            del self._links[peer]
        return effects

    def figures(self) -> dict[DaemonId, Counter[str]]:
        """What was done so far on links to each peer."""
        found = dict(self._past)
        for peer, link in self._links.items():
            found[peer] = found.get(peer, Counter()) + figures_of(link)
        return found

    def round_trips(self) -> dict[DaemonId, int]:
        """To each peer of whom it is known, in microseconds."""
        trips = {peer: link.path.round_trip for peer, link in self._links.items()}
        return {peer: trip.smooth_us for peer, trip in trips.items() if trip.known}

    def standings(self) -> list[LinkStanding]:
        """How each link is doing, by peer."""
        return [standing_of(link) for _, link in sorted(self._links.items())]

    def _dropped(self, now: Instant, sender: Member, reason: str) -> Emit:
        row = Record(Kind.DROP, now, self._me.daemon, self._me.incarnation)
        row.peer = sender.daemon
        row.reason = reason
        row.value = 1
        return Emit(row)
