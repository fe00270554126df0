"""Accelerated passing: the token leaves before the last packets of its visit."""

from dataclasses import replace

import pytest

from antiphon.core.effects import Broadcast, Delivered, Send
from antiphon.core.service import Service
from antiphon.wire.pieces import Token
from tests.unit.protocol.stream.bench import (
    SETTINGS,
    Bench,
    Loop,
    broadcasts,
    is_token,
    passed,
    piece,
)

FAST = replace(SETTINGS, accelerated_packets=3)


@pytest.mark.parametrize(("packets", "before"), [(1, 0), (3, 0), (5, 2), (9, 6)])
def test_the_token_stands_before_the_last_packets(packets: int, before: int) -> None:
    bench = Bench(settings=FAST)
    bench.submit_packets(packets)
    effects = bench.visit(Token(2))
    kinds = [type(effect) for effect in effects if isinstance(effect, Send | Broadcast)]
    assert kinds == [Broadcast] * before + [Send] + [Broadcast] * (packets - before)
    assert passed(effects).link_sequence == packets, "it speaks of all of them"


def test_a_plain_ring_passes_the_token_last() -> None:
    bench = Bench()
    bench.submit_packets(5)
    kinds = [
        type(effect) for effect in bench.visit(Token(2)) if isinstance(effect, Send | Broadcast)
    ]
    assert kinds == [Broadcast] * 5 + [Send]


def test_delivery_comes_after_everything_that_leaves() -> None:
    """SP-184."""
    bench = Bench(settings=FAST)
    bench.submit_packets(5)
    kinds = [type(effect) for effect in bench.visit(Token(2))]
    assert kinds.index(Delivered) > max(
        at for at, kind in enumerate(kinds) if kind in (Send, Broadcast)
    )


def test_packets_numbered_since_my_last_visit_are_not_asked_for_yet() -> None:
    """They may be on their way behind the token."""
    bench = Bench(settings=FAST)
    told = {"site_sequence": 4, "site_stamp": 4}
    assert passed(bench.visit(Token(2, 4, 0, **told))).requests == ()
    bench.hear(bench.packet(1, 2, piece(2)))
    told = {"site_sequence": 6, "site_stamp": 6}
    token = passed(bench.visit(Token(5, 6, 0, **told)))
    assert token.requests == ((1, 1), (3, 4)), "up to the previous visit"


def test_a_plain_ring_asks_at_once() -> None:
    """SP-244."""
    bench = Bench()
    told = {"site_sequence": 4, "site_stamp": 4}
    assert passed(bench.visit(Token(2, 4, 0, **told))).requests == ((1, 4),)


def test_nothing_is_repeated_that_was_only_late() -> None:
    """On a ring without loss the accelerated ring sends every packet once."""
    loop = Loop(members=3, settings=FAST)
    for number, bench in loop.benches.items():
        bench.submit_packets(50)
        loop.submit(number)
    loop.run(100_000)
    packets = [packet for _, _, packet in loop.packets if not is_token(packet)]
    assert len(packets) == len(set(packets))
    assert all(len(found) == 153 for found in loop.delivered.values())


def test_losses_are_repaired_as_on_the_plain_ring() -> None:
    dropped = []

    def loses(source: int, to: int, packet: bytes) -> bool:
        if not is_token(packet) and len(packet) % 7 == 0 and (to, packet) not in dropped:
            dropped.append((to, packet))
            return True
        return False

    loop = Loop(members=3, settings=FAST, loses=loses)
    sent = [
        loop.submit(number, Service.SAFE, bytes(size), session=1)
        for number in (1, 2, 3)
        for size in range(60, 90)
    ]
    loop.run(400_000)
    assert dropped
    orders = [[one.sequence for one in found] for found in loop.delivered.values()]
    assert orders == [list(range(1, len(sent) + 1))] * 3


def test_a_request_that_i_can_answer_is_answered_at_once() -> None:
    bench = Bench(settings=FAST)
    bench.hear(bench.packet(1, 1, piece(1)))
    told = {"site_sequence": 1, "site_stamp": 1}
    effects = bench.visit(Token(2, 1, 0, **told, requests=((1, 1),)))
    assert [packet.link_sequence for packet in broadcasts(effects)] == [1]
