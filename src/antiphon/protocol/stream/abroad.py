"""Other segments, as a member of this ring knows them: their streams, and what they hold.

What comes from abroad comes to the leader over links and to the others on the ring. Only the
leader has a gateway.
"""

from collections.abc import Callable

from antiphon.core.bundle import Bundle
from antiphon.core.effects import Word
from antiphon.core.errors import DecodeError
from antiphon.core.ids import Configuration, Member
from antiphon.core.machine import Instant
from antiphon.protocol.stream.assembly import Assembly
from antiphon.protocol.stream.delivery import Delivery
from antiphon.protocol.stream.far_window import FarWindow
from antiphon.protocol.stream.gateway import Gateway
from antiphon.protocol.stream.lookout import Lookout
from antiphon.protocol.stream.settings import StreamSettings
from antiphon.protocol.stream.token import adaptive_delay
from antiphon.wire.crossing import Parcel
from antiphon.wire.pieces import ForeignPieces, Piece, RingPacket, Token
from antiphon.wire.reports import StreamReport
from antiphon.wire.ring import REPORTS, pack_foreign_packet, pack_reports_packet, read_pieces

Take = Callable[[Bundle], bool]
Loose = Callable[[Instant, Bundle, list[Word]], None]


class Abroad:
    def __init__(
        self,
        configuration: Configuration,
        mine: int,
        delivery: Delivery,
        gateway: Gateway | None,
        settings: StreamSettings,
        take: Take,
        loose: Loose,
    ) -> None:
        self._segments = configuration.segments
        self._mine = mine
        self._delivery = delivery
        self.gateway = gateway
        self.lookout = Lookout(settings, configuration, mine, gateway is not None)
        self._settings = settings
        self._window = FarWindow(settings)
        self._take = take
        self._loose = loose
        self._assembly = Assembly()
        self._reports: dict[int, StreamReport] = {}

        # What they say together, kept up with each: it is asked for more often.
        self.floor = 0
        """The highest stamp that a leader has told of."""

        self.floor_wanted = 0
        """Up to this stamp somebody waits for floors."""

        self.held_wanted = 0
        """Up to this stamp somebody waits until all hold."""

        self._others_unstable = 0
        """Bytes that others have under way."""

        self._pressed = 0
        """So many of them may soon be held up by their windows."""

        self.held = 0
        """Up to this stamp every other segment holds what is for it."""

        self._at_held = len(self._segments) - 1
        """So many are known to hold no more than that."""

    # What comes.

    def hear_packet(self, now: Instant, packet: RingPacket) -> str | list[Word]:
        """On the ring, from our leader."""
        if packet.origin == REPORTS:
            for report in packet.reports:
                if not self._fault_of(report):
                    self._learn(report)
            return []
        segment = packet.origin - 1
        if self._is_unknown(segment):
            return "unknown_segment"
        if packet.author not in self._segments[segment]:
            return "not_a_member"
        reliable = packet.link_sequence != 0
        return self._take_pieces(now, segment, packet.author, packet.pieces, reliable)

    def arrive(self, now: Instant, parcel: Parcel, alone: bool) -> str | list[Word]:
        """Over a link, at the leader: on to the next, and here."""
        assert self.gateway is not None
        segment, mask = parcel.segment, parcel.mask
        if self._is_unknown(segment):
            return "unknown_segment"
        if parcel.author >= len(self._segments[segment]):
            return "not_a_member"
        author = self._segments[segment][parcel.author]
        try:
            pieces = read_pieces(parcel.body, 0, parcel.reliable)
        except DecodeError as error:
            return error.reason
        foreign = ForeignPieces(segment, author, mask, parcel.body)
        effects: list[Word] = list(self.gateway.forward(parcel.reliable, foreign))
        ours = not mask or mask >> self._mine & 1
        if ours and not alone:
            self.gateway.arrived.append((parcel.reliable, foreign))
        if ours or parcel.reliable:
            taken = self._take_pieces(now, segment, author, pieces, parcel.reliable)
            if isinstance(taken, str):
                return taken
            effects += taken
        return effects

    def hear_report(self, now: Instant, report: StreamReport) -> str | list[Word]:
        """Over a link, at the leader."""
        assert self.gateway is not None
        fault = self._fault_of(report)
        if fault:
            return fault
        self._learn(report)
        return list(self.gateway.forward_report(report))

    def _is_unknown(self, segment: int) -> bool:
        return segment >= len(self._segments) or segment == self._mine

    def _fault_of(self, report: StreamReport) -> str:
        if self._is_unknown(report.segment):
            return "unknown_segment"
        if len(report.heads) != len(self._segments):
            return "bad_field"
        known = self._reports.get(report.segment)
        return "old_report" if known is not None and known.number >= report.number else ""

    def _learn(self, report: StreamReport) -> None:
        before = self._reports.get(report.segment)
        self._reports[report.segment] = report
        head = report.heads[self._mine]
        self._delivery.learn(report.segment, report.count, report.floor, head)
        self.floor = max(self.floor, report.floor)
        self.floor_wanted = max(self.floor_wanted, report.floor_wanted)
        self.held_wanted = max(self.held_wanted, report.held_wanted)
        if before is not None:
            self._others_unstable -= before.unstable
            self._pressed -= self._presses(before.unstable)
        self._others_unstable += report.unstable
        self._pressed += self._presses(report.unstable)
        if (0 if before is None else before.held) <= self.held < report.held:
            self._at_held -= 1
            if not self._at_held:
                self._renew_held()

    def _renew_held(self) -> None:
        """The last of those who held no more holds more."""
        held = [report.held for report in self._reports.values()]
        held += [0] * (len(self._segments) - 1 - len(held))
        self.held = min(held)
        self._at_held = held.count(self.held)

    def _take_pieces(
        self, now: Instant, segment: int, author: Member, pieces: list[Piece], reliable: bool
    ) -> str | list[Word]:
        effects: list[Word] = []
        for piece in pieces:
            bundle = self._assembly.add(now, author, piece, segment)
            if bundle is None:
                continue
            if not reliable:
                self._loose(now, bundle, effects)
            elif not self._take(bundle):
                return "bad_stamp"
        return effects

    # How much may be under way.

    @property
    def _unstable(self) -> int:
        """In the streams of all."""
        return self._others_unstable + self._delivery.own.bytes

    @property
    def room_packets(self) -> int:
        """So many packets may leave now."""
        room = max(0, min(self.room_bytes, self._window.burst_bytes()))
        return 1 + room // self._settings.packet_bytes

    @property
    def room_bytes(self) -> int:
        """So much more may be stamped here: within the window of our stream, and within the
        common one."""
        own = self._window.bytes - self._delivery.own.bytes
        return min(own, self._settings.far_bytes_max - self._unstable)

    def pause_us(self, packets: int) -> Instant:
        """After so many: by the rate of the ways; and the fuller the common window, the
        longer."""
        settings = self._settings
        low, high = settings.far_bytes_low, settings.far_bytes_max
        delay_us = adaptive_delay(self._unstable, low, high, settings.delay_us_max)
        return max(delay_us, self._window.pause_us(packets * settings.packet_bytes))

    def is_pressed(self) -> bool:
        """A stream is fast: it may be held up for want of reports, and can afford them."""
        return bool(self._pressed) or self._presses(self._delivery.own.bytes)

    def _presses(self, unstable: int) -> bool:
        return unstable >= 2 * self._settings.far_bytes_min

    def note_own(self, now: Instant, waiting: bool = False) -> None:
        """Something of ours was stamped, or became stable; or there is more that waits."""
        own = self._delivery.own
        self._window.note(now, own.total_bytes, own.total_bytes - own.bytes, waiting)

    def look(self, now: Instant) -> list[Word]:
        """Is somebody late, or something missing for too long?"""
        floor = self.gateway.floor if self.gateway is not None else 0
        return self.lookout.look(now, self._delivery.sources, self._reports, floor)

    # What goes.

    def sent(self, reliable: bool, author: Member, mask: int, body: bytes) -> list[Word]:
        """Our ring has stamped these pieces."""
        if self.gateway is None:
            return []
        return list(self.gateway.forward(reliable, ForeignPieces(self._mine, author, mask, body)))

    def inject(
        self, head: bytes, config: bytes, token: Token, room: int
    ) -> list[tuple[int, bytes]]:
        """Packets for our ring with what came over links, and their link sequences."""
        gateway = self.gateway
        packets: list[tuple[int, bytes]] = []
        if gateway is None:
            return packets
        if room > 0:
            reports = gateway.take_reports()
            if reports:
                token.link_sequence += 1
                link = token.link_sequence
                raw = pack_reports_packet(head, config, token.sequence, link, reports)
                packets.append((link, raw))
        while gateway.arrived and len(packets) < room:
            reliable, pieces = gateway.arrived.popleft()
            link = 0
            if reliable:
                token.link_sequence += 1
                link = token.link_sequence
            raw = pack_foreign_packet(head, config, token.sequence, link, pieces)
            packets.append((link, raw))
        return packets

    def expire(self, now: Instant, life: Instant) -> None:
        """Parts of unreliable bundles that came too long ago."""
        self._assembly.expire(now, life)

    def unreliable_partials(self) -> bool:
        return self._assembly.unreliable_partials()
