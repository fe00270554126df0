"""A calm ring: the token stays while little is sent, and safe messages do not wait for it."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.core.effects import Broadcast, Word
from antiphon.core.service import Service
from antiphon.protocol.stream.passing import VISIT
from antiphon.protocol.stream.prompt import MEMBERS_MAX
from antiphon.protocol.stream.quiet import CALM_PACKETS
from antiphon.protocol.stream.source import LEAP_MAX
from antiphon.wire.packet import Tag
from antiphon.wire.pieces import Token
from tests.unit.protocol.stream.bench import (
    LATENCY_US,
    SETTINGS,
    Bench,
    Loop,
    delivered,
    is_data,
    is_token,
    member,
    piece,
)

QUIET_US = 500_000


def calm_loop(members: int = 3) -> Loop:
    """The token has just begun to rest with the leader."""
    loop = Loop(members)
    loop.run(QUIET_US)
    leader = loop.benches[1].ring
    while leader.passing.held is not None:
        loop.run(loop.now + LATENCY_US // 2)
    while leader.passing.held is None:
        loop.run(loop.now + LATENCY_US // 2)
    loop.packets.clear()
    return loop


def tags(loop: Loop) -> list[int]:
    return [packet[1] for _, _, packet in loop.packets]


def everywhere(loop: Loop, count: int) -> bool:
    return all(len(found) == count for found in loop.delivered.values())


def says(effects: Sequence[Word]) -> list[int]:
    return [effect.packet[1] for effect in effects if isinstance(effect, Broadcast)]


def test_the_token_stays_while_the_leader_sends_a_little() -> None:
    """Agreed messages are delivered when they come: nobody needs the token for it."""
    loop = calm_loop()
    for count in (1, 2, 3):
        loop.submit(1)
        loop.run(loop.now + LATENCY_US + 1)
        assert everywhere(loop, count)
    assert tags(loop) == [Tag.DATA] * 3


def test_it_stays_no_longer_than_so_long_from_the_first() -> None:
    loop = calm_loop()
    loop.submit(1)
    first = loop.now
    loop.run(first + SETTINGS.token_stay_us // 2)
    loop.submit(1)
    assert not any(is_token(packet) for _, _, packet in loop.packets)
    loop.run(first + SETTINGS.token_stay_us)
    assert any(is_token(packet) for _, _, packet in loop.packets)


def test_a_leader_with_more_to_send_passes_the_token_at_once() -> None:
    loop = calm_loop()
    bench = loop.benches[1]
    bench.submit_packets(CALM_PACKETS)
    loop.submit(1)
    assert is_token(loop.packets[-1][2])
    assert tags(loop).count(Tag.DATA) > CALM_PACKETS


def test_many_small_sendings_end_the_stay() -> None:
    loop = calm_loop()
    for _ in range(CALM_PACKETS):
        loop.submit(1)
    assert tags(loop) == [Tag.DATA] * CALM_PACKETS
    loop.submit(1)
    assert tags(loop) == [Tag.DATA] * (CALM_PACKETS + 1) + [Tag.TOKEN]


def test_a_member_with_work_ends_the_stay() -> None:
    loop = calm_loop()
    loop.submit(1)
    loop.submit(3)
    loop.run(loop.now + 4 * LATENCY_US)
    assert everywhere(loop, 2)


def test_safe_messages_of_a_calm_ring_do_not_wait_for_the_token() -> None:
    """One way for the message, one for the word of those who hold it."""
    loop = calm_loop()
    loop.submit(1, Service.SAFE)
    loop.run(loop.now + LATENCY_US)
    assert not loop.delivered[1]
    loop.run(loop.now + LATENCY_US)
    assert everywhere(loop, 1)
    assert tags(loop) == [Tag.DATA, Tag.HAVE, Tag.HAVE]


def test_agreed_messages_need_no_words() -> None:
    loop = calm_loop()
    loop.submit(1)
    loop.run(loop.now + 2 * LATENCY_US)
    assert tags(loop) == [Tag.DATA]


def test_safe_messages_of_a_member_that_hurried_do_not_wait_either() -> None:
    loop = calm_loop()
    loop.submit(2, Service.SAFE)
    loop.run(loop.now + 4 * LATENCY_US)  # Hurry, token, message, words
    assert everywhere(loop, 1)


def test_two_members_know_at_once() -> None:
    """Who sent a message holds it, and the other has it in hands."""
    loop = calm_loop(2)
    loop.submit(1, Service.SAFE)
    loop.run(loop.now + LATENCY_US)
    assert [len(loop.delivered[number]) for number in (1, 2)] == [0, 1]
    loop.run(loop.now + LATENCY_US)
    assert everywhere(loop, 1)


def test_in_a_large_ring_safe_messages_wait_for_the_token() -> None:
    loop = calm_loop(MEMBERS_MAX + 1)
    loop.submit(1, Service.SAFE)
    loop.run(loop.now + QUIET_US)
    assert everywhere(loop, 1)
    assert Tag.HAVE not in tags(loop)


def test_words_that_are_lost_are_told_by_the_token() -> None:
    loop = calm_loop()
    loop.loses = lambda source, to, packet: packet[1] == Tag.HAVE
    loop.submit(1, Service.SAFE)
    loop.run(loop.now + 3 * LATENCY_US)
    assert not any(loop.delivered.values())
    loop.run(loop.now + SETTINGS.token_stay_us + 8 * LATENCY_US)
    assert everywhere(loop, 1)


def test_nobody_says_that_it_holds_what_comes_after_a_loss() -> None:
    """Member 3 does not get the first message."""
    loop = calm_loop()
    lost: list[bytes] = []

    def loses(source: int, to: int, packet: bytes) -> bool:
        if to == 3 and is_data(packet) and not lost:
            lost.append(packet)
            return True
        return False

    loop.loses = loses
    loop.submit(1, Service.SAFE)
    loop.submit(1, Service.SAFE)
    loop.run(loop.now + 3 * LATENCY_US)
    assert lost and not any(loop.delivered.values())
    loop.run(loop.now + QUIET_US)
    assert everywhere(loop, 2)


def test_a_word_counts_only_as_far_as_all_hold_it() -> None:
    """Others may be further than I am, and one of them further than the other."""
    bench = Bench(me=2)
    for sequence in (2, 5, 8):
        bench.visit(Token(sequence))
    first = piece(1, Service.SAFE)
    second = piece(2, Service.SAFE)
    assert bench.ring.hear_have(member(3), 2) == []
    assert says(bench.hear(bench.packet(1, 1, first))) == [Tag.HAVE]
    assert bench.ring.delivery.stable == 1
    assert says(bench.hear(bench.packet(1, 2, second))) == [Tag.HAVE]
    assert bench.ring.delivery.stable == 2


def test_what_a_sender_has_not_said_it_holds_is_not_inferred_from_what_it_sends() -> None:
    """Member 1 sends the second message, and perhaps lacks the first, which was member 3's."""
    bench = Bench(me=2)
    for sequence in (2, 5, 8):
        bench.visit(Token(sequence))
    bench.hear(bench.packet(3, 1, piece(1, Service.SAFE)))
    bench.hear(bench.packet(1, 2, piece(2, Service.SAFE)))
    assert bench.ring.hear_have(member(3), 2) == []
    assert bench.ring.delivery.stable == 0
    told = bench.ring.hear_have(member(1), 1)
    assert not isinstance(told, str)
    assert [bundle.sequence for bundle in delivered(told)] == [1]


@pytest.mark.parametrize(
    ("sender", "stamp", "reason"),
    [(member(4), 1, "not_a_member"), (member(1), LEAP_MAX + 1, "bad_stamp")],
)
def test_words_that_cannot_be_are_dropped(sender: tuple[int, int], stamp: int, reason: str) -> None:
    assert Bench(me=2).ring.hear_have(member(sender[0]), stamp) == reason


STEPS = st.lists(
    st.tuples(
        st.integers(1, 3),  # who sends
        st.sampled_from([Service.SAFE, Service.SAFE, Service.AGREED]),
        st.integers(0, 4_000),  # how long until the next
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(STEPS, st.sets(st.tuples(st.integers(0, 60), st.integers(1, 3)), max_size=20))
def test_whatever_is_lost_a_safe_message_is_delivered_when_all_hold_it_and_not_before(
    steps: list[tuple[int, Service, int]], losses: set[tuple[int, int]]
) -> None:
    """S3 on one ring: also while the token stays, and words and packets are lost."""
    loop = calm_loop()
    loop.loses = lambda source, to, packet: (len(loop.packets), to) in losses
    safe = 0
    seen = dict.fromkeys(loop.delivered, 0)

    def look() -> None:
        for number, found in loop.delivered.items():
            for bundle in found[seen[number] :]:
                holders = [bench.ring.delivery.has(bundle) for bench in loop.benches.values()]
                assert bundle.service != Service.SAFE or all(holders), (number, bundle)
            seen[number] = len(found)

    for sender, service, pause in steps:
        loop.submit(sender, service)
        safe += service == Service.SAFE
        until = loop.now + pause
        while loop.now < until:
            loop.run(loop.now + LATENCY_US // 2)
            look()
    loop.run(loop.now + 4 * QUIET_US)
    look()
    assert everywhere(loop, len(steps))
    assert loop.troubles == []


def test_the_stay_is_a_rest_like_any_other() -> None:
    """Who holds the token has one timer only, which ends it."""
    loop = calm_loop()
    loop.submit(1)
    assert loop.benches[1].ring.timers.at(VISIT) <= loop.now + SETTINGS.token_stay_us
