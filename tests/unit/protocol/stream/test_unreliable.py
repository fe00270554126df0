"""Unreliable messages: at most once, whole or not at all, and in nobody's way."""

from dataclasses import replace

from antiphon.core.ids import DaemonId
from antiphon.core.machine import NEVER
from antiphon.core.service import Service
from antiphon.protocol.stream.assembly import PARTIALS_MAX, Assembly
from antiphon.protocol.stream.ring import PARTIAL
from antiphon.wire.pieces import Piece, Token
from antiphon.wire.ring import LAST
from tests.unit.protocol.stream.bench import (
    SETTINGS,
    Bench,
    Loop,
    broadcasts,
    delivered,
    is_data,
    member,
    opened,
    piece,
)


def loose(number: int, index: int = 0, last: bool = True, body: bytes = b"loose") -> Piece:
    return Piece(LAST if last else 0, Service.UNRELIABLE, 1, number, 1, index, body)


def test_unreliable_messages_have_a_sequence_of_their_own() -> None:
    """SP-53."""
    bench = Bench()
    for service in (Service.UNRELIABLE, Service.FIFO, Service.UNRELIABLE, Service.FIFO):
        bench.submit(service)
    pieces = [one for packet in broadcasts(bench.visit(Token(2))) for one in packet.pieces]
    numbers = {
        sort: [one.number for one in pieces if one.service == sort]
        for sort in (Service.UNRELIABLE, Service.FIFO)
    }
    assert numbers == {Service.UNRELIABLE: [1, 2], Service.FIFO: [1, 2]}


def test_a_lost_unreliable_message_disturbs_nothing_reliable() -> None:
    """SP-53, X-33: no gap, no request, no wait."""

    def loses(source: int, to: int, packet: bytes) -> bool:
        return is_data(packet) and opened(packet).link_sequence == 0

    loop = Loop(members=2, loses=loses)
    for service in (Service.UNRELIABLE, Service.SAFE, Service.UNRELIABLE, Service.FIFO):
        loop.submit(1, service)
    loop.run(20_000)
    assert [one.service for one in loop.delivered[2]] == [Service.SAFE, Service.FIFO]
    kinds = [opened(packet).link_sequence for _, _, packet in loop.packets if is_data(packet)]
    assert kinds.count(0) == 1, "it is sent once and never repaired"


def test_an_unreliable_message_is_never_delivered_twice() -> None:
    """SP-54: the network may double a packet."""
    bench = Bench()
    raw = bench.packet(1, 0, loose(1))
    assert [one.number for one in delivered(bench.hear(raw))] == [1]
    assert delivered(bench.hear(raw)) == []
    assert [one.number for one in delivered(bench.hear(bench.packet(1, 0, loose(2))))] == [2]
    assert delivered(bench.hear(raw)) == []


def test_a_doubled_message_in_parts_is_delivered_once() -> None:
    """SP-54."""
    bench = Bench()
    first = bench.packet(1, 0, loose(1, 0, last=False, body=b"one "))
    second = bench.packet(1, 0, loose(1, 1, body=b"two"))
    found = []
    for raw in (first, first, second, second, first, second, first):
        found += delivered(bench.hear(raw))
    assert [one.body for one in found] == [b"one two"]


def test_parts_in_any_order_make_one_message() -> None:
    """SP-55, SP-100."""
    bench = Bench()
    parts = [bench.packet(1, 0, loose(1, at, at == 2, b"%d" % at)) for at in (2, 0, 1)]
    assert [one.body for raw in parts for one in delivered(bench.hear(raw))] == [b"012"]


def test_a_message_with_a_part_missing_is_dropped_after_a_set_time() -> None:
    """SP-55: counted from the first part; all parts are dropped."""
    bench = Bench()
    bench.hear(bench.packet(1, 0, loose(1, 0, last=False)))
    assert bench.ring.timers.at(PARTIAL) == bench.now + SETTINGS.partial_life_us
    bench.now += SETTINGS.partial_life_us
    bench.ring.wake(bench.now)
    assert bench.ring.timers.at(PARTIAL) == NEVER
    assert delivered(bench.hear(bench.packet(1, 0, loose(1, 1)))) == []


def test_a_message_completed_in_time_is_delivered() -> None:
    """SP-55: shows that the time above is what matters."""
    bench = Bench()
    bench.hear(bench.packet(1, 0, loose(1, 0, last=False)))
    bench.now += SETTINGS.partial_life_us - 1
    bench.ring.wake(bench.now)
    assert len(delivered(bench.hear(bench.packet(1, 0, loose(1, 1))))) == 1


def test_parts_of_unreliable_messages_are_bounded() -> None:
    """P4: whatever a member sends."""
    assembly = Assembly()
    for number in range(1, PARTIALS_MAX + 11):
        assert assembly.add(0, member(1), loose(number, 0, last=False)) is None
    assert assembly.add(2, member(1), loose(11, 1)) is not None
    assert assembly.add(2, member(1), loose(10, 1)) is None, "the oldest went"


def test_unreliable_messages_are_under_the_rings_flow_control() -> None:
    """SP-56: they take from the same allowance, and only while the token is here."""
    bench = Bench(settings=replace(SETTINGS, member_packets_max=4, ring_packets_max=8))
    for _ in range(10):
        bench.submit(Service.UNRELIABLE, bytes(SETTINGS.packet_bytes - 200))
    assert len(broadcasts(bench.visit(Token(2)))) == 4
    assert len(broadcasts(bench.visit(Token(5, flow=12)))) == 0


def test_an_unreliable_message_is_delivered_the_moment_it_is_complete() -> None:
    """SP-57, S1: before an agreed one that waits, and with a hole before it."""
    bench = Bench()
    assert delivered(bench.hear(bench.packet(1, 2, piece(2)))) == []
    assert len(delivered(bench.hear(bench.packet(1, 0, loose(1))))) == 1


def test_its_own_sender_delivers_it_too() -> None:
    """D3 is not owed for unreliable; but a sender has what it sent."""
    bench = Bench()
    bench.submit(Service.UNRELIABLE)
    assert [one.service for one in delivered(bench.visit(Token(2)))] == [Service.UNRELIABLE]


def test_of_another_member_nothing_is_mixed_in() -> None:
    """Parts are told apart by sender, session, sort and number."""
    bench = Bench()
    bench.hear(bench.packet(1, 0, loose(1, 0, last=False, body=b"from 1 ")))
    assert delivered(bench.hear(bench.packet(3, 0, loose(1, 1, body=b"end 3")))) == []
    found = delivered(bench.hear(bench.packet(1, 0, loose(1, 1, body=b"end 1"))))
    assert [(one.sender.daemon, one.body) for one in found] == [(DaemonId(1), b"from 1 end 1")]
