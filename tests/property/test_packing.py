"""Bundles through packets and back: whole, in order, in fair turns."""

from collections import Counter
from random import Random
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.bundle import Bundle
from antiphon.core.ids import ConfigId, DaemonId, Incarnation, Member
from antiphon.core.service import Service
from antiphon.protocol.stream.assembly import Assembly
from antiphon.protocol.stream.packing import Outbox
from antiphon.wire.packet import Envelope, Tag, pack_config
from antiphon.wire.pieces import Piece
from antiphon.wire.ring import (
    ORDER_OVERHEAD,
    PACKET_OVERHEAD,
    PIECE_OVERHEAD,
    pack_ring_packet,
    read_ring_packet,
)

ME = Member(DaemonId(1), Incarnation(1))
HEAD = Envelope(1, ME).head(Tag.DATA)
CONFIG = pack_config(ConfigId(1, *ME, 1))
PACKET_BYTES = 256
WHOLE_BYTES = PACKET_BYTES - PACKET_OVERHEAD - PIECE_OVERHEAD - ORDER_OVERHEAD
"""What fits into one packet."""

SIZES = st.one_of(
    st.integers(0, 40),
    st.integers(WHOLE_BYTES - 70, WHOLE_BYTES + 70),
    st.integers(0, 12 * PACKET_BYTES),
)
SUBMITTED = st.lists(
    st.tuples(
        st.integers(1, 5),
        st.sampled_from([Service.UNRELIABLE, Service.RELIABLE, Service.SAFE]),
        SIZES,
    ),
    min_size=1,
    max_size=25,
)


class Packet(NamedTuple):
    reliable: bool
    pieces: list[Piece]
    size: int


class Sender:
    """An outbox, the stamps it asked for, and the packets it filled."""

    crossing_bytes = 0

    def __init__(self, large_bundles_max: int = 4) -> None:
        self.outbox = Outbox(PACKET_BYTES, large_bundles_max, 256)
        self.stamped: list[Bundle] = []
        self.finished: list[Bundle] = []
        self.packets: list[Packet] = []
        self._numbers: Counter[tuple[int, bool]] = Counter()
        self.wanted = 0

    def submit(self, session: int, service: Service, size: int, priority: int = 0) -> Bundle:
        key = (session, service != Service.UNRELIABLE)
        self._numbers[key] += 1
        body = bytes((index * 31 + session + size) % 256 for index in range(size))
        bundle = Bundle(ME, session, self._numbers[key], 1, service, body)
        self.outbox.push(bundle, priority)
        return bundle

    def mask(self, bundle: Bundle) -> int:
        return self.wanted

    def far_bytes(self, bundle: Bundle) -> int:
        return 0

    def stamp(self, bundle: Bundle) -> None:
        self.stamped.append(bundle)
        if bundle.service != Service.UNRELIABLE:
            bundle.sequence = bundle.stamp = len(self.stamped)

    def visit(self, packets_max: int) -> int:
        """How many packets it filled."""
        packets, finished = self.outbox.fill(packets_max, lambda bundle: True, self)
        self.finished += finished
        for number, packet in enumerate(packets, len(self.packets) + 1):
            link = number if packet.reliable else 0
            raw = pack_ring_packet(HEAD, CONFIG, 1, link, packet.parts)
            pieces = read_ring_packet(raw, *ME).pieces
            self.packets.append(Packet(packet.reliable, pieces, len(raw)))
        return len(packets)

    def empty(self, packets_max: int) -> None:
        while self.outbox.waiting(settled=True):
            assert self.visit(packets_max), "what waits leaves"


def assembled(packets: list[Packet]) -> list[Bundle]:
    assembly = Assembly()
    found = [assembly.add(0, ME, piece) for packet in packets for piece in packet.pieces]
    return [bundle for bundle in found if bundle is not None]


def order_of(bundle: Bundle) -> tuple[int, bool, int]:
    return (bundle.session, bundle.service != Service.UNRELIABLE, bundle.number)


@given(SUBMITTED, st.integers(1, 9), st.integers(1, 4), st.randoms(use_true_random=False))
def test_bundles_come_back_whole_whatever_the_order_of_their_packets(
    submitted: list[tuple[int, Service, int]], packets_max: int, large: int, rng: Random
) -> None:
    """SP-100, SP-101, SP-102: cut to the size of a packet and put together again."""
    sender = Sender(large)
    sent = [sender.submit(*one) for one in submitted]
    sender.empty(packets_max)
    shuffled = list(sender.packets)
    rng.shuffle(shuffled)
    back = assembled(shuffled)
    assert sorted(back, key=order_of) == sorted(sent, key=order_of)


@given(SUBMITTED, st.integers(1, 9))
def test_packets_are_never_too_large_nor_too_many(
    submitted: list[tuple[int, Service, int]], packets_max: int
) -> None:
    """SP-190: a visit gives no more packets than allowed. Sorts are not mixed (X-33)."""
    sender = Sender()
    for one in submitted:
        sender.submit(*one)
    while sender.outbox.waiting(settled=True):
        assert 1 <= sender.visit(packets_max) <= packets_max
    assert max(packet.size for packet in sender.packets) <= PACKET_BYTES
    for packet in sender.packets:
        sorts = {piece.service != Service.UNRELIABLE for piece in packet.pieces}
        assert sorts == {packet.reliable}


@given(SUBMITTED, st.integers(1, 9))
def test_bundles_of_a_session_are_stamped_in_the_order_they_came(
    submitted: list[tuple[int, Service, int]], packets_max: int
) -> None:
    """SP-07, SP-52: one queue per session."""
    sender = Sender()
    sent = [sender.submit(*one) for one in submitted]
    sender.empty(packets_max)
    assert sender.stamped == sender.finished
    for session in range(1, 6):
        of_session = [bundle for bundle in sent if bundle.session == session]
        assert [bundle for bundle in sender.stamped if bundle.session == session] == of_session


@given(SUBMITTED, st.integers(1, 9), st.integers(1, 3))
def test_few_large_bundles_are_under_way_at_a_time(
    submitted: list[tuple[int, Service, int]], packets_max: int, large: int
) -> None:
    """P4: bounds what receivers hold in parts."""
    sender = Sender(large)
    for one in submitted:
        sender.submit(*one)
    while sender.outbox.waiting(settled=True):
        sender.visit(packets_max)
        queues = sender.outbox._queues.values()
        begun = [queue for queue in queues if queue.sent_pieces]
        assert sum(len(queue.bundles[0].body) > WHOLE_BYTES for queue in begun) <= large


def test_few_small_bundles_are_under_way_at_a_time() -> None:
    """P4: as above, where bundles are cut only because a packet was nearly full."""
    outbox = Outbox(1400, 4, 256)
    for session in range(1, 101):
        for number in (1, 2):
            outbox.push(Bundle(ME, session, number, 1, Service.AGREED, bytes(1000)), 0)
    sender = Sender()
    while outbox.waiting(settled=True):
        outbox.fill(40, lambda bundle: True, sender)
        assert sum(queue.sent_pieces > 0 for queue in outbox._queues.values()) <= 4


def test_a_visit_takes_so_many_bundles_and_the_next_goes_on() -> None:
    outbox = Outbox(1400, 4, visit_bundles_max=10)
    for number in range(1, 26):
        outbox.push(Bundle(ME, 1, number, 1, Service.AGREED, b"short"), 0)
    visits = [outbox.fill(40, lambda bundle: True, Sender())[1] for _ in range(3)]
    assert [[bundle.number for bundle in visit] for visit in visits] == [
        [*range(1, 11)],
        [*range(11, 21)],
        [*range(21, 26)],
    ]


@given(st.integers(2, 6), st.integers(1, 30), st.integers(1, 10), st.integers(0, 3 * PACKET_BYTES))
def test_sessions_take_turns(sessions: int, each: int, packets_max: int, size: int) -> None:
    """Nobody gets a second piece while another that waits had none."""
    sender = Sender(large_bundles_max=sessions)
    for _ in range(each):
        for session in range(1, sessions + 1):
            sender.submit(session, Service.AGREED, size)
    sender.visit(packets_max)
    taken = Counter(dict.fromkeys(range(1, sessions + 1), 0))
    for packet in sender.packets:
        for piece in packet.pieces:
            taken[piece.session] += 1
            still = [session for session in taken if sender.outbox._queues.get(session)]
            if len(still) == sessions:
                assert max(taken.values()) - min(taken.values()) <= 1


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(0, 40)), min_size=1, max_size=30),
    st.lists(st.integers(-1, 1), min_size=5, max_size=5),
    st.integers(1, 5),
)
def test_a_higher_priority_goes_first_and_a_session_keeps_its_order(
    submitted: list[tuple[int, int]], priorities: list[int], packets_max: int
) -> None:
    """SP-93: expedited in the queue, while the order that was asked for is kept."""
    sender = Sender()
    sent = [
        sender.submit(session, Service.FIFO, size, priorities[session - 1])
        for session, size in submitted
    ]
    sender.empty(packets_max)
    given_out = [priorities[bundle.session - 1] for bundle in sender.stamped]
    assert given_out == sorted(given_out, reverse=True)
    for session in range(1, 6):
        of_session = [bundle for bundle in sent if bundle.session == session]
        assert [bundle for bundle in sender.stamped if bundle.session == session] == of_session


@given(SUBMITTED, st.integers(1, 6), st.integers(0, 6))
def test_after_a_restart_what_was_partly_sent_is_sent_again(
    submitted: list[tuple[int, Service, int]], packets_max: int, visits: int
) -> None:
    """A new configuration takes nothing over from the old one's half messages."""
    sender = Sender()
    sent = [sender.submit(*one) for one in submitted]
    for _ in range(visits):
        sender.visit(packets_max)
    early = list(sender.finished)
    sender.packets.clear()
    sender.outbox.restart()
    sender.empty(packets_max)
    back = assembled(sender.packets)
    rest = [bundle for bundle in sent if not any(bundle is one for one in early)]
    assert sorted(back, key=order_of) == sorted(rest, key=order_of)


@given(
    SUBMITTED,
    st.lists(st.integers(1, 5), min_size=1, max_size=6),
    st.randoms(use_true_random=False),
)
def test_what_others_want_by_now_begins_again_and_fits_the_pieces_that_some_have(
    submitted: list[tuple[int, Service, int]], visits: list[int], rng: Random
) -> None:
    """SP-120: whom a bundle is for may grow while it is under way."""
    sender = Sender()
    sent = [sender.submit(*one) for one in submitted]
    for bit, packets_max in enumerate(visits):
        sender.wanted = (1 << bit + 1) - 1
        sender.visit(packets_max)
    sender.wanted = 0
    sender.empty(4)
    shuffled = list(sender.packets)
    rng.shuffle(shuffled)
    assert sorted(assembled(shuffled), key=order_of) == sorted(sent, key=order_of)
