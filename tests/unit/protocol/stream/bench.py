"""Rings on a bench: one that gets its tokens by hand, or several wired to each other."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from heapq import heappop, heappush

from antiphon.core.bundle import Bundle
from antiphon.core.effects import Broadcast, Delivered, Send, Taken, Trouble, Word
from antiphon.core.ids import ConfigId, Configuration, DaemonId, Incarnation, Member
from antiphon.core.service import Service
from antiphon.core.trace import Level
from antiphon.protocol.stream.packing import Outbox
from antiphon.protocol.stream.ring import Ring
from antiphon.protocol.stream.settings import StreamSettings
from antiphon.wire.control import Have, read_control
from antiphon.wire.packet import Envelope, Tag, open_header, pack_config
from antiphon.wire.pieces import Piece, RingPacket, Token
from antiphon.wire.ring import (
    LAST,
    ORDER_OVERHEAD,
    OWN,
    PACKET_OVERHEAD,
    PIECE_OVERHEAD,
    pack_piece,
    pack_ring_packet,
    read_ring_packet,
    read_token,
)

CLUSTER = 1
SETTINGS = StreamSettings(packet_bytes=410)
LATENCY_US = 100
BODY = b"0123456789"


def member(number: int) -> Member:
    return Member(DaemonId(number), Incarnation(100 + number))


def configuration(members: int) -> Configuration:
    id = ConfigId(4, *member(1), 7)
    return Configuration(id, tuple(member(number) for number in range(1, members + 1)))


def bundle(
    sender: int,
    number: int,
    service: Service = Service.AGREED,
    body: bytes = BODY,
    session: int = 1,
) -> Bundle:
    return Bundle(member(sender), session, number, 1, service, body)


class Bench:
    """Ring `me` of `members`; the test is the rest of the ring."""

    def __init__(
        self,
        me: int = 2,
        members: int = 3,
        settings: StreamSettings = SETTINGS,
        level: Level = Level.OFF,
        start: int = 1_000_000,
    ) -> None:
        self.me = member(me)
        self.configuration = configuration(members)
        self.settings = settings
        self.outbox = Outbox(
            settings.packet_bytes, settings.large_bundles_max, settings.member_bundles_max
        )
        envelope = Envelope(CLUSTER, self.me)
        self.ring = Ring(self.me, self.configuration, settings, envelope, self.outbox, level, 0)
        self.ring.settled = True
        self.now = start
        self.began = self.ring.begin(self.now)
        self._numbers: Counter[tuple[int, bool]] = Counter()

    def submit(
        self,
        service: Service = Service.AGREED,
        body: bytes = BODY,
        session: int = 1,
        control: bool = False,
        priority: int = 0,
    ) -> Bundle:
        key = (session, service != Service.UNRELIABLE)
        self._numbers[key] += 1
        made = Bundle(self.me, session, self._numbers[key], 1, service, body, control)
        self.outbox.push(made, priority)
        return made

    def submit_packets(self, packets: int) -> None:
        """Bundles that fill a packet each."""
        for _ in range(packets):
            overhead = PACKET_OVERHEAD + PIECE_OVERHEAD + ORDER_OVERHEAD
            self.submit(body=bytes(self.settings.packet_bytes - overhead))

    def put_state(self, body: bytes = BODY) -> None:
        self.outbox.put_state(Bundle(self.me, 0, 0, 1, Service.AGREED, body, control=True))

    def visit(self, token: Token, after_us: int = 1_000) -> list[Word]:
        """Effects of a token that must be taken."""
        self.now += after_us
        effects = self.ring.hear_token(self.now, token)
        assert not isinstance(effects, str), effects
        return effects

    def refusal(self, token: Token) -> str:
        effects = self.ring.hear_token(self.now, token)
        assert isinstance(effects, str), effects
        return effects

    def hear(self, packet: bytes) -> list[Word]:
        effects = self.drop_or_hear(packet)
        assert not isinstance(effects, str), effects
        return effects

    def drop_or_hear(self, packet: bytes) -> str | list[Word]:
        read = opened(packet)
        return self.ring.hear_packet(self.now, read, packet)

    def wake(self) -> list[Word]:
        """At the next deadline."""
        self.now = self.ring.timers.deadline()
        return self.ring.wake(self.now)

    def packet(
        self, sender: int, link_sequence: int, *pieces: Piece, token_sequence: int = 1
    ) -> bytes:
        """A ring packet from another member."""
        head = Envelope(CLUSTER, member(sender)).head(Tag.DATA)
        packed = [pack_piece(piece) for piece in pieces]
        config = pack_config(self.configuration.id)
        return pack_ring_packet(head, config, token_sequence, link_sequence, packed)


def piece(
    sequence: int,
    service: Service = Service.AGREED,
    session: int = 1,
    number: int = 0,
    body: bytes = BODY,
    **order: int,
) -> Piece:
    """A whole bundle at a place of the order; its stamp is its sequence."""
    stamp = order.pop("stamp", sequence)
    number = number or sequence
    return Piece(LAST, service, session, number, 1, 0, body, sequence, stamp, **order)


def ring_packet(
    sender: int, config: ConfigId, link_sequence: int, pieces: list[Piece]
) -> RingPacket:
    """As it is heard from another member."""
    origin = (OWN, member(sender), 0)
    return RingPacket(*member(sender), config, 1, link_sequence, *origin, pieces, PACKET_OVERHEAD)


def opened(packet: bytes) -> RingPacket:
    _, sender, incarnation = open_header(packet, CLUSTER)
    return read_ring_packet(packet, sender, incarnation)


def broadcasts(effects: Sequence[Word]) -> list[RingPacket]:
    return [opened(effect.packet) for effect in effects if isinstance(effect, Broadcast)]


def passed(effects: Sequence[Word]) -> Token:
    """The one token among the effects."""
    sends = [effect for effect in effects if isinstance(effect, Send)]
    assert len(sends) == 1, effects
    return read_token(sends[0].packet)[1]


def delivered(effects: Sequence[Word]) -> list[Bundle]:
    return [effect.bundle for effect in effects if isinstance(effect, Delivered)]


def troubles(effects: Sequence[Word]) -> list[tuple[str, int]]:
    return [(one.reason, one.accused) for one in effects if isinstance(one, Trouble)]


def taken_bytes(effects: Sequence[Word]) -> int:
    return sum(effect.size for effect in effects if isinstance(effect, Taken))


def is_data(packet: bytes) -> bool:
    return packet[1] == Tag.DATA


def is_token(packet: bytes) -> bool:
    return packet[1] == Tag.TOKEN


Loses = Callable[[int, int, bytes], bool]
"""(from, to, packet): is it lost?"""


class Loop:
    """Rings wired to each other; every packet takes the same time, and some are lost."""

    def __init__(
        self,
        members: int = 2,
        settings: StreamSettings = SETTINGS,
        loses: Loses = lambda source, to, packet: False,
        **changed: int,
    ) -> None:
        settings = replace(settings, **changed) if changed else settings
        self.benches = {
            number: Bench(number, members, settings, start=0) for number in range(1, members + 1)
        }
        self.loses = loses
        self.now = 0
        self.delivered: dict[int, list[Bundle]] = {number: [] for number in self.benches}
        self.troubles: list[tuple[int, str, int]] = []
        self.packets: list[tuple[int, int, bytes]] = []
        """(time, from, packet) of everything that was sent."""

        self._air: list[tuple[int, int, int, bytes]] = []
        self._count = 0
        for number, bench in self.benches.items():
            self._perform(number, bench.began)

    def submit(
        self, number: int, service: Service = Service.AGREED, body: bytes = BODY, session: int = 1
    ) -> Bundle:
        bench = self.benches[number]
        made = bench.submit(service, body, session)
        self._perform(number, bench.ring.work(self.now))
        return made

    def run(self, until: int) -> None:
        while True:
            due, number = min(
                (bench.ring.timers.deadline(), number) for number, bench in self.benches.items()
            )
            at = self._air[0][0] if self._air else until + 1
            if min(due, at) > until:
                self.now = until
                return
            self.now = max(self.now, min(due, at))
            if at <= due:
                _, _, to, packet = heappop(self._air)
                self._perform(to, self._receive(self.benches[to], packet))
            else:
                self._perform(number, self.benches[number].ring.wake(self.now))

    def _receive(self, bench: Bench, packet: bytes) -> list[Word]:
        tag, *who = open_header(packet, CLUSTER)
        sender = Member(*who)
        if tag == Tag.TOKEN:
            outcome = bench.ring.hear_token(self.now, read_token(packet)[1])
        elif tag == Tag.HURRY:
            outcome = bench.ring.hear_hurry(self.now)
        elif tag == Tag.HAVE:
            have = read_control(tag, packet)
            assert isinstance(have, Have)
            outcome = bench.ring.hear_have(sender, have.stamp)
        else:
            outcome = bench.ring.hear_packet(self.now, opened(packet), packet)
        return [] if isinstance(outcome, str) else outcome

    def _perform(self, number: int, effects: Sequence[Word]) -> None:
        for effect in effects:
            match effect:
                case Broadcast(packet):
                    self.packets.append((self.now, number, packet))
                    for other in self.benches:
                        if other != number:
                            self._send(number, other, packet)
                case Send(to, packet):
                    self.packets.append((self.now, number, packet))
                    self._send(number, to, packet)
                case Delivered(bundle):
                    self.delivered[number].append(bundle)
                case Trouble(reason, accused):
                    self.troubles.append((number, reason, accused))

    def _send(self, source: int, to: int, packet: bytes) -> None:
        if not self.loses(source, to, packet):
            self._count += 1
            heappush(self._air, (self.now + LATENCY_US, self._count, to, packet))
