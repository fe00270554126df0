"""A node: one daemon's machines joined by a queue. It is a machine itself.

    clients --> sessions --> groups --> stream <--> membership
    clients <-- sessions <-- groups <-- stream <--> links
    disk    <-- retain   <----'

This table is the whole architecture: each word has one consumer, everything else leaves
the node. Sessions reach groups through `Ask`, the seam where other profiles join in.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from random import Random
from typing import Any, NamedTuple

from antiphon.core.effects import (
    Appended,
    Arrived,
    Ask,
    Broadcast,
    ChangeMade,
    Connect,
    Courtesy,
    Define,
    Delivered,
    Disconnect,
    Drained,
    Emit,
    Evidence,
    Forget,
    Forward,
    Freeze,
    GroupDaemons,
    Holdings,
    Install,
    Installed,
    Join,
    Keep,
    Late,
    Leave,
    LinkDead,
    Multicast,
    Neighbours,
    Persisted,
    PipeDown,
    PipeRoom,
    PipeUp,
    Pour,
    Progress,
    Received,
    Recover,
    Recovered,
    Send,
    Settled,
    Stamped,
    Submit,
    SubmitState,
    Taken,
    Tell,
    Transitional,
    Trouble,
    Word,
)
from antiphon.core.errors import DecodeError
from antiphon.core.ids import DaemonId, GroupName, Incarnation, Member
from antiphon.core.machine import NEVER, WAKEUP, Instant, Machine, Wakeup
from antiphon.core.trace import Kind, Record
from antiphon.protocol.chunks import Chunks, cut
from antiphon.protocol.groups.groups import Groups
from antiphon.protocol.links.edges import Edges
from antiphon.protocol.links.links import Links
from antiphon.protocol.membership.membership import Membership
from antiphon.protocol.membership.routes import forward
from antiphon.protocol.presets import NodeSettings
from antiphon.protocol.retain.finding import Finder
from antiphon.protocol.retain.parts import Stored, group_states
from antiphon.protocol.retain.retain import Retain
from antiphon.protocol.sessions.sessions import Sessions
from antiphon.protocol.sessions.settings import STRONG
from antiphon.protocol.stream.stream import Stream
from antiphon.protocol.tally import Tally
from antiphon.wire.control import Chunk, PacketMessage, Relayed, read_control
from antiphon.wire.heard import Heard, HeardLink, HeardPacket, HeardToken
from antiphon.wire.link import read_link_packet
from antiphon.wire.packet import HEADER_BYTES, TAG_AT, Envelope, Tag, open_header
from antiphon.wire.pieces import RingPacket
from antiphon.wire.ring import read_ring_packet, read_token

STEPS_MAX = 1_000_000
"""More steps for one event is a bug, not a hang."""

Waiting = deque[tuple[Machine, Any]]


class Readers(NamedTuple):
    """Of packets that many hear. What is read is never changed: a simulator may read each only
    once for all who hear it."""

    control: Callable[[int, bytes], PacketMessage] = read_control
    ring: Callable[[bytes, DaemonId, Incarnation], RingPacket] = read_ring_packet


READERS = Readers()

KEY_MARK = "/"
"""What a profile stores it stores under its own name: `profile/key`."""

STREAM_TAGS = (Tag.HURRY, Tag.HAVE, Tag.RECOVERY_REQUEST, Tag.RECOVERY_DATA)
ROUTED_TAGS = frozenset(
    {
        *(Tag.PROPOSE, Tag.SITE_STATE, Tag.DIGEST, Tag.SITE_READY, Tag.COMMIT),
        *(Tag.RECOVERY_REQUEST, Tag.RECOVERY_DATA, Tag.CHUNK),
    }
)
"""What members of different segments say to each other, wherever the other is. Leaders greet
each other directly or not at all: that is how they know."""

CHUNKED_TAGS = frozenset({Tag.PROPOSE, Tag.STATE, Tag.SITE_STATE, Tag.DIGEST})
"""What grows with members, segments or holes beyond a datagram."""

HANDLED_TAGS = ROUTED_TAGS | CHUNKED_TAGS
"""What does not simply leave."""

PACKETS = frozenset({Send, Broadcast, Pour})


@lru_cache(maxsize=4)
def _set_of(daemons: tuple[DaemonId, ...]) -> frozenset[DaemonId]:
    """One for all nodes of a process: a simulated cluster has thousands."""
    return frozenset(daemons)


class Node:
    def __init__(
        self,
        me: Member,
        settings: NodeSettings,
        rng: Random,
        profiles: Mapping[str, Machine] | None = None,
        read: Readers = READERS,
        stored: Sequence[Stored] = (),
    ) -> None:
        self.me = me
        self._read = read
        self.cluster = settings.cluster
        self.pause_us = settings.pause_us
        self._packet_bytes = settings.stream.packet_bytes
        self._daemons = _set_of(settings.daemons)
        envelope = Envelope(settings.cluster, me)
        self._envelope = envelope
        self._chunks = Chunks()
        self._tally = Tally(me, settings.level)
        self.membership = Membership(
            me, settings.membership, envelope, rng, settings.sites, settings.weights
        )
        self.stream = Stream(me, settings.stream, envelope, settings.level)
        self.links = Links(me, self._edges(settings), envelope)
        self.groups = Groups(me, settings.level, settings.retain, tuple(group_states(stored)))
        self.retain = Retain(me, settings.retain, settings.level, stored)
        self._profiles: dict[str, Machine] = {STRONG: self.groups, **(profiles or {})}
        names = tuple(sorted(self._profiles))
        self.sessions = Sessions(me, settings.sessions, names, settings.level)
        own: list[Machine] = [self.membership, self.stream, self.links]
        own += [self.retain] if settings.retain.rules else []
        self._timed = [*own, *(profiles or {}).values()]
        self._deadline: Instant = NEVER
        self._routes: dict[type, Machine] = {
            **dict.fromkeys(
                (Submit, SubmitState, Settled, Forget, Freeze, Recover, Install), self.stream
            ),
            **dict.fromkeys((GroupDaemons, ChangeMade, Arrived, Courtesy), self.stream),
            **dict.fromkeys((Forward, Neighbours, PipeUp, PipeDown, PipeRoom), self.links),
            **dict.fromkeys((Holdings, Progress, Recovered, Evidence, Trouble), self.membership),
            **dict.fromkeys((LinkDead, Late), self.membership),
            **dict.fromkeys((Delivered, Stamped, Transitional, Installed), self.groups),
            **dict.fromkeys((Keep, Appended), self.retain),
            **dict.fromkeys((Tell, Taken), self.sessions),
            **dict.fromkeys((Connect, Disconnect, Join, Leave, Define), self.sessions),
            **dict.fromkeys((Multicast, Drained), self.sessions),
        }

    def deadline(self) -> Instant:
        return self._deadline

    def reload(self, settings: NodeSettings, sites: bool = True, edges: bool = True) -> None:
        """Other daemons, limits and rules from the next event on, and where the daemons stand
        and how sites are joined, if that may change. Timeouts and packet sizes belong to a
        life: they wait for the next start."""
        self._daemons = _set_of(settings.daemons)
        self.sessions.reload(settings.sessions)
        if sites:
            self.membership.reload(settings.sites, settings.weights)
        if sites and edges:
            self.links.reload(self._edges(settings.with_packets(self._packet_bytes)))

    def _edges(self, settings: NodeSettings) -> Edges:
        return Edges(self.me.daemon, settings.sites, settings.edges, settings.hop)

    def start(self, now: Instant) -> list[Word]:
        begun = self.retain.start(now)
        return self._run(now, deque(), [*begun, *self.membership.start(now)])

    def leave(self) -> list[Word]:
        """The last words of this life: the others need not wait until it is missed."""
        return self.membership.leave()

    def log(self, group: GroupName) -> Finder:
        """What there is to read of a kept group."""
        log = self.retain.log(group)
        keeping = self.groups.keeping
        standing = keeping.standing(group)
        parts = [] if log is None else log.whole()
        busy = log is not None and log.busy
        return Finder(parts, keeping.branch, standing.tips, standing.covered, busy)

    def busy(self) -> bool:
        """Something that was submitted here is not yet known to be held by all."""
        return self.stream.busy()

    def handle(self, now: Instant, event: Word | Wakeup) -> list[Word]:
        late = now - self._deadline
        if late > self.pause_us:
            self.membership.skip(now, late)
            self.stream.skip(late)
            self.links.skip(late)
            self._renew_deadline()
        if isinstance(event, Received):
            return self._receive(now, event.packet)
        if event is WAKEUP:
            due = [machine for machine in self._timed if machine.deadline() <= now]
            return self._run(now, deque([(machine, WAKEUP) for machine in due]), [])
        if isinstance(event, Persisted):
            profile = event.key.partition(KEY_MARK)[0]
            return self._run(now, deque([(self._profiles[profile], event)]), [])
        return self._run(now, deque([(self._routes[type(event)], event)]), [])

    def _renew_deadline(self) -> None:
        self._deadline = min([machine.deadline() for machine in self._timed])

    def _receive(self, now: Instant, packet: bytes) -> list[Word]:
        try:
            tag, sender = self._open_header(packet)
            if tag == Tag.RELAYED:
                relayed = self._open_relayed(packet)
                if len(relayed.route) > 1:
                    return [forward(self._envelope, relayed)]
                packet = relayed.packet
                tag, sender = self._open_header(packet)
                if tag not in ROUTED_TAGS:
                    raise DecodeError("not_relayed", str(tag))
            if tag == Tag.CHUNK:
                whole = self._open_chunk(sender, packet)
                if whole is None:
                    return []
                tag, packet = whole[TAG_AT], whole
            machine, event = self._open(tag, sender, packet)
        except DecodeError as error:
            return [self._refused(now, error)]
        return self._run(now, deque([(machine, event)]), [])

    def _open_header(self, packet: bytes) -> tuple[int, Member]:
        tag, daemon, incarnation = open_header(packet, self.cluster)
        if daemon not in self._daemons:
            raise DecodeError("unknown_daemon", str(daemon))
        if daemon == self.me.daemon:
            raise DecodeError("own" if incarnation == self.me.incarnation else "twin")
        return tag, Member(daemon, incarnation)

    def _open_relayed(self, packet: bytes) -> Relayed:
        relayed = self._read.control(Tag.RELAYED, packet)
        assert isinstance(relayed, Relayed)
        if relayed.route[0] != self.me.daemon or not self._daemons.issuperset(relayed.route):
            raise DecodeError("bad_route", str(relayed.route))
        return relayed

    def _open_chunk(self, sender: Member, packet: bytes) -> bytes | None:
        """The packet it belongs to, once all of it is here."""
        chunk = self._read.control(Tag.CHUNK, packet)
        assert isinstance(chunk, Chunk)
        whole = self._chunks.add(sender, chunk)
        if whole is None:
            return None
        tag, author = self._open_header(whole)
        if author != sender or tag not in CHUNKED_TAGS:
            raise DecodeError("bad_chunk", str(tag))
        return whole

    def _open(self, tag: int, sender: Member, packet: bytes) -> tuple[Machine, Word]:
        if tag == Tag.TOKEN:
            config, token = read_token(packet)
            return self.stream, HeardToken(sender, config, token)
        if tag == Tag.LINK:
            return self.links, HeardLink(read_link_packet(packet, *sender))
        if tag == Tag.LOOSE:
            return self.stream, Arrived(sender, packet[HEADER_BYTES:])
        if tag == Tag.DATA:
            ring_packet = self._read.ring(packet, *sender)
            return self.stream, HeardPacket(ring_packet, packet)
        heard = Heard(sender, self._read.control(tag, packet))
        return (self.stream if tag in STREAM_TAGS else self.membership), heard

    def _refused(self, now: Instant, error: DecodeError) -> Word:
        record = Record(Kind.DROP, now, self.me.daemon, self.me.incarnation)
        record.reason = error.reason
        record.detail = error.detail
        record.value = 1
        return Emit(record)

    def _run(self, now: Instant, waiting: Waiting, effects: list[Word]) -> list[Word]:
        """A layer never runs inside another: what one says the next hears in its turn."""
        leaving: list[Word] = []
        self._route(effects, waiting, leaving)
        for _ in range(STEPS_MAX):
            if not waiting:
                self._renew_deadline()
                if now >= self._tally.due:
                    leaving += self._tally.tell(
                        now, self.stream.figures(), self.links.figures(), self.links.round_trips()
                    )
                return leaving
            machine, event = waiting.popleft()
            self._route(machine.handle(now, event), waiting, leaving)
        raise AssertionError("an event does not settle")

    def _route(self, effects: Any, waiting: Waiting, leaving: list[Word]) -> None:
        for effect in effects:
            machine = self._routes.get(type(effect))
            if machine is not None:
                waiting.append((machine, effect))
            elif isinstance(effect, Ask):
                waiting.append((self._profiles[effect.profile], effect))
            elif type(effect) is Send and effect.packet[TAG_AT] in HANDLED_TAGS:
                for packet in cut(self._envelope, effect.packet):
                    self._tally.note(packet)
                    leaving.append(self.membership.address(Send(effect.to, packet)))
            else:
                leaving.append(effect)
                if type(effect) in PACKETS:
                    self._tally.note(effect.packet)
