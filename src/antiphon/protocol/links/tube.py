"""One end of a TCP link: objects go up in order, each once, whatever becomes of the pipes.

    DOWN --> DIALLING --> GREETING --> OPEN         the lower daemon dials, the other waits
    any  --> DOWN                                   the pipe breaks, is silent, or has a gap

Speaks the packets of a Hop link, through a pipe.

Timers   DIAL     ask for a pipe, or give a try up
         GREET    the other end has not said what it has: ask again
         ACK      objects came and were not acknowledged
         SILENCE  objects went and nothing came back: another pipe may do better
         DEAD     no pipe, or nothing more was acknowledged nor came, for too long
After    docs/protocols/tcp-link.md
"""

from collections import Counter

from antiphon.core.effects import Arrived, LinkDead, Word
from antiphon.core.machine import Instant, Timers
from antiphon.protocol.links.backlog import OF_NO_STREAM
from antiphon.protocol.links.echo import Echo
from antiphon.protocol.links.keeping import Keeping
from antiphon.protocol.links.memory import Memory
from antiphon.protocol.links.news import LinkId
from antiphon.protocol.links.pipe import Pipe
from antiphon.protocol.links.tcp_settings import TcpSettings
from antiphon.wire.link import OBJECT_BYTES_MAX, LinkAck, LinkPacket, pack_link_packet

DOWN = "DOWN"
DIALLING = "DIALLING"
GREETING = "GREETING"
OPEN = "OPEN"

DIAL = "DIAL"
GREET = "GREET"
ACK = "ACK"
SILENCE = "SILENCE"
DEAD = "DEAD"


class Tube:
    def __init__(
        self, link: LinkId, head: bytes, settings: TcpSettings, memory: Memory, pipe: Pipe
    ) -> None:
        self.link = link
        self.dead = False
        self.state = DOWN
        self.counts: Counter[str] = Counter()
        """Frames poured by what was in them, pipes that ended and packets dropped, by reason."""

        memory.begin()
        self._head = head
        self._settings = settings
        self.path = memory.path
        self._pipe = pipe
        self._dials = link.me.daemon < link.peer.daemon
        self._redial_us = settings.redial_us_min
        self.keeping = Keeping(settings.window_bytes)
        self.received = 0
        self.delivered_bytes = 0
        self._unacked = 0
        """Objects received since the last ack."""

        self._echo = Echo()
        self._timers = Timers()

    def deadline(self) -> Instant:
        return self._timers.deadline()

    def skip(self, gap: Instant) -> None:
        """The process stood still for so long."""
        self._timers.shift(gap)

    # What the layer above asks and says.

    @property
    def backlog_bytes(self) -> int:
        return self.keeping.backlog.bytes

    @property
    def open_objects(self) -> int:
        return len(self.keeping.open)

    def begin(self, now: Instant) -> list[Word]:
        """Use the pipe that is there, or get one."""
        self._watch(now)
        if self._pipe.is_up_to(self.link.peer):
            return self._greet(now)
        if self._dials and not self._pipe.dialling:
            return self._dial(now)
        if self._dials:
            self.state = DIALLING
            self._timers.set(DIAL, now + self._settings.dial_us)
        return []

    def send(
        self,
        now: Instant,
        *objects: bytes,
        stream: int = OF_NO_STREAM,
        is_report: bool = False,
    ) -> list[Word]:
        """Objects for the other end; small ones of one call share frames."""
        if self.dead:
            return []
        for data in objects:
            assert 0 < len(data) <= OBJECT_BYTES_MAX, len(data)
            self.keeping.backlog.add(data, stream, is_report)
        self._watch(now)
        return self._pump(now)

    # What becomes of the pipe.

    def pipe_up(self, now: Instant) -> list[Word]:
        """Another one, if there was one before."""
        if self.dead:
            return []
        self._lose_pipe(now)
        return self._greet(now) if self._pipe.is_up_to(self.link.peer) else []

    def pipe_down(self, now: Instant) -> list[Word]:
        if not self.dead:
            self.counts["broken" if self.state in (GREETING, OPEN) else "refused"] += 1
            self._lose_pipe(now)
        return []

    def pipe_room(self, now: Instant) -> list[Word]:
        return self._pump(now)

    def _dial(self, now: Instant) -> list[Word]:
        self.state = DIALLING
        self._timers.set(DIAL, now + self._settings.dial_us)
        return [self._pipe.dial()]

    def _greet(self, now: Instant) -> list[Word]:
        """Say what I have, and ask for the same."""
        self.state = GREETING
        self._timers.clear(DIAL)
        trip = self.path.round_trip
        self._timers.set(GREET, now + trip.timeout_us() + self._settings.ack_us)
        return [self._tell(now, "hello", probe=True)]

    def _lose_pipe(self, now: Instant) -> None:
        """The next one may take a while, longer each time until it is of use."""
        self.state = DOWN
        for timer in (GREET, ACK, SILENCE):
            self._timers.clear(timer)
        if self._dials:
            self._timers.set(DIAL, now + self._redial_us)
            self._redial_us = min(2 * self._redial_us, self._settings.redial_us_max)
        self._watch(now)

    def _hang_up(self, now: Instant, reason: str) -> list[Word]:
        self.counts[reason] += 1
        self._lose_pipe(now)
        return [self._pipe.hang_up()]

    # What comes through it.

    def receive(self, now: Instant, packet: LinkPacket) -> list[Word] | str:
        """Effects, or why the packet is dropped."""
        if self.dead:
            return []
        fault = self._fault(packet)
        if fault:
            self.counts[fault] += 1
            return fault
        self._echo.note(now, packet.sent_at)
        if packet.ack is not None:
            self._hear_ack(now, packet.ack)
        if self.keeping.open:
            self._timers.set(SILENCE, now + self._settings.silence_us)
        else:
            self._timers.clear(SILENCE)
        effects: list[Word] = []
        before = self.received
        for each in packet.objects:
            if each.sequence > self.received + 1:
                return effects + self._hang_up(now, "gap")
            if each.sequence == self.received + 1:
                self.received += 1
                effects.append(Arrived(self.link.peer, each.data))
        if packet.objects:
            self._note_objects(now, packet)
            self._watch(now, progress=self.received > before)
        if packet.probe or self._unacked >= self._settings.ack_objects:
            effects.append(self._tell(now, "ack"))
        return effects + self._pump(now)

    def _fault(self, packet: LinkPacket) -> str:
        if packet.sender != self.link.peer:
            return "not_a_member"
        if packet.birth != self.link.birth:
            return "other_link"
        if self.state not in (GREETING, OPEN):
            return "no_pipe"
        if packet.ack is not None and packet.ack.received > self.keeping.sequence:
            return "bad_field"
        return ""

    def _hear_ack(self, now: Instant, ack: LinkAck) -> None:
        progress = self.keeping.acknowledge(ack.received)
        trip_us = self._echo.trip_us(now, ack)
        if trip_us is not None:
            self.path.round_trip.note(now, trip_us)
        if self.state == GREETING:
            self.state = OPEN
            self._timers.clear(GREET)
            self.keeping.resume()
            self._redial_us = self._settings.redial_us_min
        self._watch(now, progress)

    def _note_objects(self, now: Instant, packet: LinkPacket) -> None:
        self.delivered_bytes += packet.size
        self._unacked += len(packet.objects)
        if not self._timers.running(ACK):
            self._timers.set(ACK, now + self._settings.ack_us)

    # What time brings.

    def wake(self, now: Instant) -> list[Word]:
        due = self._timers.due(now)
        if DEAD in due:
            return self._die()
        effects: list[Word] = []
        for timer in due:
            if timer == ACK:
                effects.append(self._tell(now, "ack"))
            elif timer == GREET:
                effects += self._greet(now)
            elif timer == SILENCE:
                return effects + self._hang_up(now, "silence")
            elif self.state == DIALLING:
                effects += self._hang_up(now, "no_answer")
            else:
                effects += self._dial(now)
        return effects

    def _watch(self, now: Instant, progress: bool = False) -> None:
        """Nothing is owed while the pipe is open and all is acknowledged."""
        if self.state == OPEN and not self.keeping.unsettled:
            self._timers.clear(DEAD)
        elif progress or not self._timers.running(DEAD):
            self._timers.set(DEAD, now + self._settings.dead_us)

    def _die(self) -> list[Word]:
        reason = "silence" if self.state == OPEN else "no_pipe"
        self.dead = True
        self.state = DOWN
        self._timers.clear_all()
        return [self._pipe.hang_up(), LinkDead(self.link.peer, reason)]

    # What leaves.

    def _pump(self, now: Instant) -> list[Word]:
        """Pour what window and room allow."""
        effects: list[Word] = []
        while self.state == OPEN and self._pipe.room > 0:
            objects = self.keeping.take(self._settings.frame_bytes)
            if not objects:
                break
            self.counts["data"] += 1
            ack = self._has(now) if self._unacked else None
            packet = pack_link_packet(self._head, self.link.birth, now, ack, objects=objects)
            effects.append(self._pipe.pour(packet))
        if effects and not self._timers.running(SILENCE):
            self._timers.set(SILENCE, now + self._settings.silence_us)
        return effects

    def _tell(self, now: Instant, what: str, probe: bool = False) -> Word:
        self.counts[what] += 1
        packet = pack_link_packet(self._head, self.link.birth, now, self._has(now), probe=probe)
        return self._pipe.pour(packet)

    def _has(self, now: Instant) -> LinkAck:
        """What I have; with that, all that came is acknowledged."""
        self._unacked = 0
        self._timers.clear(ACK)
        echo, held = self._echo.told(now)
        return LinkAck(self.received, self.keeping.sequence, echo, held, self.delivered_bytes)
