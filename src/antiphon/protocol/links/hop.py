"""One end of a Hop link: objects go up on arrival in any order, and each goes up once.

    send -->  backlog --> bucket, window --> packets      Sending
    Arrived <-- any order <-- objects <-- packets         Receiving: gaps, nacks
                                          acks            both ends, by count and by time

Born with the configuration that needs it and dropped with it (SP-11).

Timers   SEND   the bucket has credit again
         ACK    something came and was not acknowledged
         NACK   a gap is old enough to be asked for, or to be asked for again
         PROBE  what was sent last is old and not acknowledged: was the tail lost?
After    docs/protocols/hop.md
"""

from collections import Counter

from antiphon.core.effects import Arrived, LinkDead, Send, Word
from antiphon.core.machine import Instant, Timers
from antiphon.protocol.links.backlog import OF_NO_STREAM
from antiphon.protocol.links.echo import Echo
from antiphon.protocol.links.memory import Memory
from antiphon.protocol.links.news import LinkId
from antiphon.protocol.links.rate import Bucket, Report
from antiphon.protocol.links.repair import Receiving, as_runs
from antiphon.protocol.links.sending import Sending
from antiphon.protocol.links.settings import HopSettings
from antiphon.wire.link import (
    CLOCK,
    LINK_OVERHEAD,
    LinkAck,
    LinkPacket,
    ack_bytes,
    pack_link_packet,
)

SEND = "SEND"
ACK = "ACK"
NACK = "NACK"
PROBE = "PROBE"


class Hop:
    def __init__(
        self, now: Instant, link: LinkId, head: bytes, settings: HopSettings, memory: Memory
    ) -> None:
        self.link = link
        self.dead = False
        self.counts: Counter[str] = Counter()
        """Packets sent by what was in them, and received ones that were dropped, by reason."""

        memory.begin()
        self._head = head
        self._settings = settings
        self.path = memory.path
        self.rate = memory.rate
        self._bucket = Bucket(now, self.rate.rate_bytes, self.rate.burst_bytes)
        self.sending = Sending(settings, self.path)
        self.receiving = Receiving(settings, self.path)
        self._timers = Timers()

        self._unacked = 0
        """Packets sent or received since the last ack (SP-141, X-32)."""

        self._echo = Echo()
        self._object_at: Instant | None = None
        self.delivered_bytes = 0
        """Of all packets with objects that came."""

        self._probes = 0
        self._probed_since: Instant = 0

    def deadline(self) -> Instant:
        return self._timers.deadline()

    def skip(self, gap: Instant) -> None:
        """The process stood still for so long."""
        self._timers.shift(gap)

    # What the layer above asks and says.

    @property
    def backlog_bytes(self) -> int:
        return self.sending.backlog.bytes

    @property
    def open_objects(self) -> int:
        return len(self.sending.open)

    def send(
        self,
        now: Instant,
        *objects: bytes,
        stream: int = OF_NO_STREAM,
        is_report: bool = False,
    ) -> list[Word]:
        """Objects for the other end; small ones of one call share packets."""
        if self.dead:
            return []
        for data in objects:
            assert 0 < len(data) <= self._settings.object_bytes_max, len(data)
            self.sending.backlog.add(data, stream, is_report)
        return self._pump(now)

    # What the network brings.

    def receive(self, now: Instant, packet: LinkPacket) -> list[Word] | str:
        """Effects, or why the packet is dropped."""
        if self.dead:
            return []
        fault = self._fault(packet)
        if fault:
            self.counts[fault] += 1
            return fault
        self._echo.note(now, packet.sent_at)
        effects: list[Word] = [
            Arrived(self.link.peer, each.data)
            for each in packet.objects
            if self.receiving.take(now, each)
        ]
        if packet.ack is not None:
            self._hear_ack(now, packet, packet.ack)
            if packet.nack and self.sending.request(now, packet.ack.echo, packet.nack):
                return effects + self._die("nacks")
        if packet.objects:
            self._note_objects(now, packet)
        if packet.probe or self._unacked >= self._settings.ack_packets:
            effects.append(self._ack(now))
        self._arm_nack(now)
        return effects + self._pump(now)

    def _fault(self, packet: LinkPacket) -> str:
        if packet.sender != self.link.peer:
            return "not_a_member"
        if packet.birth != self.link.birth:
            return "other_link"
        if packet.ack is not None and not self.sending.is_possible(packet.ack, packet.nack):
            return "bad_field"
        highest = packet.objects[-1].sequence if packet.objects else 0
        if packet.ack is not None:
            highest = max(highest, packet.ack.highest)
        return "beyond_window" if self.receiving.is_beyond(highest) else ""

    def _hear_ack(self, now: Instant, packet: LinkPacket, ack: LinkAck) -> None:
        self._probes = 0
        self.sending.acknowledge(ack)
        self.receiving.learn(now, ack.highest)
        trip_us = self._echo.trip_us(now, ack)
        if trip_us is not None:
            self._learn_way(now, packet, ack, trip_us)
        if not self.sending.open:
            self._timers.clear(PROBE)

    def _learn_way(self, now: Instant, packet: LinkPacket, ack: LinkAck, trip_us: int) -> None:
        arrived = (packet.sent_at - ack.held) % CLOCK
        trip = self.path.round_trip
        trip.note(now, trip_us)
        self.path.queue.note(now, ack.echo, arrived)
        report = Report(
            ack.delivered,
            arrived,
            self.path.queue.delay_us,
            trip.smooth_us,
            trip.least_us(),
            self.path.loss.sent,
            self.path.loss.lost,
        )
        self.rate.heard(now, report)
        self._bucket.fill(now)
        self._bucket.rate_bytes = self.rate.rate_bytes
        self._bucket.burst_bytes = self.rate.burst_bytes

    def _note_objects(self, now: Instant, packet: LinkPacket) -> None:
        """SP-162, SP-170: an ack is due by count, or soon after the first packet after
        silence, or at last after the long time."""
        self.delivered_bytes += packet.size
        settings = self._settings
        quiet = self._object_at is None or now - self._object_at > settings.ack_long_us
        self._object_at = now
        self._unacked += 1
        if not self._timers.running(ACK):
            wait_us = settings.ack_short_us if quiet else settings.ack_long_us
            self._timers.set(ACK, now + wait_us)

    # What time brings.

    def wake(self, now: Instant) -> list[Word]:
        effects: list[Word] = []
        for timer in self._timers.due(now):
            if timer == ACK:
                effects.append(self._ack(now))
            elif timer == NACK:
                effects += self._nack(now)
            elif timer == PROBE:
                effects += self._probe(now)
            if self.dead:
                return effects
        return effects + self._pump(now)

    def _nack(self, now: Instant) -> list[Word]:
        wanted, too_often = self.receiving.take_due(now)
        if too_often:
            return self._die("requests")
        self._arm_nack(now)
        runs = as_runs(wanted)
        most = self._settings.nack_runs_max
        return [self._control(now, tuple(runs[at : at + most])) for at in range(0, len(runs), most)]

    def _probe(self, now: Instant) -> list[Word]:
        if not self._probes:
            self._probed_since = now
        self._probes += 1
        silent_us = now - self._probed_since
        if self._probes > self._settings.requests_max and silent_us >= self._settings.dead_us:
            return self._die("silence")
        self._arm_probe(now)
        return [self._control(now, probe=True)]

    def _die(self, reason: str) -> list[Word]:
        self.dead = True
        self._timers.clear_all()
        return [LinkDead(self.link.peer, reason)]

    def _arm_nack(self, now: Instant) -> None:
        """SP-240: nothing is missing, nothing is asked for."""
        due = self.receiving.next_due()
        if self.receiving.missing:
            self._timers.set(NACK, max(now, due))
        else:
            self._timers.clear(NACK)

    def _arm_probe(self, now: Instant) -> None:
        """By then what leaves now is acknowledged, if it comes."""
        wait_us = self.path.round_trip.timeout_us() + self._settings.ack_long_us
        self._timers.set(PROBE, now + wait_us)

    # What leaves.

    def _pump(self, now: Instant) -> list[Word]:
        """Send what bucket and window allow (SP-157, X-32)."""
        effects: list[Word] = []
        window_bytes = self.rate.window_bytes
        self._bucket.fill(now)
        while self.sending.has_work(window_bytes):
            if self._bucket.is_empty():
                at = max(self._bucket.empty_until(now), now + self._settings.send_us)
                self._timers.set(SEND, at)
                break
            effects += self._data(now, window_bytes)
        else:
            self._timers.clear(SEND)
            if self.sending.idle:
                self.rate.ran_dry()
        if effects:
            self._arm_probe(now)
        return effects

    def _data(self, now: Instant, window_bytes: int) -> list[Word]:
        """Objects, with an ack beside them if half of what makes one due is there (SP-106)."""
        self._unacked += 1
        ack = None
        if 2 * self._unacked >= self._settings.ack_packets:
            ack = self._state(now, self._settings.ack_runs_max)
        room = self._settings.packet_bytes - LINK_OVERHEAD - ack_bytes(ack)
        objects = self.sending.take(now, room, window_bytes)
        if not objects:  # the next is too large to leave room for an ack
            ack, room = None, self._settings.packet_bytes - LINK_OVERHEAD
            objects = self.sending.take(now, room, window_bytes)
        if ack is not None:
            ack.highest = self.sending.sequence
            self._acked()
        packet = pack_link_packet(self._head, self.link.birth, now, ack, objects=objects)
        self._bucket.charge(len(packet))  # SP-159: resent or not
        self.counts["data"] += 1
        sends: list[Word] = [Send(self.link.peer.daemon, packet)]
        if self._unacked >= self._settings.ack_packets:
            sends.append(self._ack(now))
        return sends

    def _ack(self, now: Instant) -> Send:
        self.counts["ack"] += 1
        ack = self._state(now, self._settings.ack_runs_max)
        self._acked()
        return Send(self.link.peer.daemon, pack_link_packet(self._head, self.link.birth, now, ack))

    def _control(
        self, now: Instant, nack: tuple[tuple[int, int], ...] = (), probe: bool = False
    ) -> Send:
        """A nack or a probe: each says how things stand, for the other end judges by that."""
        self.counts["probe" if probe else "nack"] += 1
        packet = pack_link_packet(
            self._head, self.link.birth, now, self._state(now, 0), nack, probe=probe
        )
        return Send(self.link.peer.daemon, packet)

    def _state(self, now: Instant, runs_max: int) -> LinkAck:
        echo, held = self._echo.told(now)
        return LinkAck(
            self.receiving.received,
            self.sending.sequence,
            echo,
            held,
            self.delivered_bytes,
            self.receiving.runs(runs_max) if runs_max else (),
        )

    def _acked(self) -> None:
        self._unacked = 0
        self._timers.clear(ACK)
