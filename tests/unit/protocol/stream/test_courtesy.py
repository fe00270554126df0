"""A member with clients that are behind keeps the ring from sending for a while."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.core.effects import Courtesy
from antiphon.core.trace import Level
from antiphon.protocol.stream.stream import State, Stream
from antiphon.wire.packet import Envelope, Tag
from antiphon.wire.pieces import Token
from tests.unit.protocol.stream.bench import (
    CLUSTER,
    LATENCY_US,
    SETTINGS,
    Bench,
    Loop,
    broadcasts,
    is_data,
    member,
    passed,
)

ROTATION_US = 3 * LATENCY_US + 100
WAIT_US = 100_000


def flooded(members: int, *senders: int) -> Loop:
    """These send, and have more than they could so far."""
    loop = Loop(members)
    for sender in senders:
        loop.benches[sender].submit_packets(4_000)
        loop._perform(sender, loop.benches[sender].ring.work(loop.now))
    loop.run(20_000)
    return loop


def sent(loop: Loop, since: int) -> int:
    return sum(at >= since and is_data(packet) for at, _, packet in loop.packets)


def test_a_leader_that_floods_sends_as_much_as_another_member() -> None:
    """Its token does not rest while there is something to send, and room for it."""
    by_leader, by_another = (sent(flooded(3, number), 0) for number in (1, 2))
    assert by_leader > 0.95 * by_another


@pytest.mark.parametrize("waiting", [(1,), (2,), (3,), (1, 3), (1, 2, 3)])
@pytest.mark.parametrize("senders", [(1,), (2,), (1, 2, 3)])
def test_nobody_sends_anything_new_meanwhile(
    waiting: tuple[int, ...], senders: tuple[int, ...]
) -> None:
    loop = flooded(3, *senders)
    end = loop.now + WAIT_US
    for number in waiting:
        loop.benches[number].ring.patient.until = end
    assert sent(loop, loop.now - ROTATION_US)
    loop.run(end - 1)
    assert not sent(loop, loop.now - WAIT_US + 2 * ROTATION_US)
    loop.run(end + 2 * SETTINGS.token_rest_us_max)  # it may rest twice before all know
    assert sent(loop, end)
    assert loop.troubles == []


def test_a_daemon_alone_waits_too_and_does_not_spin() -> None:
    bench = Bench(1, members=1)
    bench.ring.patient.until = bench.now + WAIT_US
    made = bench.submit()
    bench.ring.work(bench.now)
    assert made.sequence == 0
    assert bench.ring.timers.deadline() == bench.now + WAIT_US
    bench.wake()
    assert made.sequence == 1


def test_repeats_and_the_state_of_groups_do_not_wait() -> None:
    bench = Bench(2)
    bench.submit_packets(1)
    token = passed(bench.visit(Token(1)))
    bench.ring.patient.until = bench.now + WAIT_US
    bench.put_state()
    token.sequence += 1
    token.requests = ((1, 1),)
    effects = bench.visit(token)
    assert sorted(packet.link_sequence for packet in broadcasts(effects)) == [1, 2]


def test_what_is_counted_for_clients_is_taken_off_again() -> None:
    bench = Bench(2)
    bench.ring.patient.until = bench.now + 2_000
    token = passed(bench.visit(Token(1)))
    assert token.flow == SETTINGS.ring_packets_max + SETTINGS.member_packets_max
    token.sequence += 2
    token = passed(bench.visit(token, after_us=5_000))
    assert token.flow == 0


@settings(max_examples=60, deadline=None)
@given(
    waits=st.lists(st.tuples(st.integers(1, 3), st.integers(0, 40_000)), max_size=8),
    losses=st.sets(st.tuples(st.integers(0, 400), st.integers(1, 3)), max_size=20),
    senders=st.sets(st.integers(1, 3), min_size=1),
)
def test_whoever_waits_and_whatever_is_lost_everything_arrives(
    waits: list[tuple[int, int]], losses: set[tuple[int, int]], senders: set[int]
) -> None:
    """P2, P3: no token is refused for what is counted on it."""
    loop = Loop(3)
    loop.loses = lambda source, to, packet: (len(loop.packets), to) in losses
    for sender in senders:
        for _ in range(60):
            loop.submit(sender, body=bytes(200))
    for number, pause in waits:
        ring = loop.benches[number].ring
        ring.patient.until = loop.now + pause
        loop.run(loop.now + pause // 2)
    loop.run(loop.now + 2_000_000)
    assert {len(found) for found in loop.delivered.values()} == {60 * len(senders)}
    assert loop.troubles == []


def test_when_clients_have_caught_up_the_leader_is_asked_for_the_token() -> None:
    """It may rest there: the others have something to send and do not know that they may."""
    stream = Stream(member(2), SETTINGS, Envelope(CLUSTER, member(2)), Level.OFF)
    bench = Bench(2)
    stream._ring, stream.state = bench.ring, State.RUNNING
    assert stream.handle(bench.now, Courtesy(bench.now + WAIT_US)) == []
    assert bench.ring.patient.until == bench.now + WAIT_US
    bench.ring._quiet.rotations = 3
    (hurry,) = stream.handle(bench.now + 10, Courtesy(0))
    assert hurry.packet[1] == Tag.HURRY
    assert stream.handle(bench.now + 20, Courtesy(0)) == []  # it was over


def test_while_groups_are_exchanged_nobody_waits() -> None:
    stream = Stream(member(2), SETTINGS, Envelope(CLUSTER, member(2)), Level.OFF)
    bench = Bench(2)
    stream._ring, stream.state = bench.ring, State.RUNNING
    bench.ring.settled = False
    assert stream.handle(bench.now, Courtesy(bench.now + WAIT_US)) == []
    assert bench.ring.patient.until == 0
