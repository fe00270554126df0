"""The token's pace: it rests when nobody has work, is repeated when lost, missed when gone."""

from dataclasses import replace

import pytest

from antiphon.core.effects import Broadcast, Send
from antiphon.core.machine import NEVER
from antiphon.core.service import Service
from antiphon.protocol.stream.passing import LOSS, REPEAT, VISIT
from antiphon.protocol.stream.watch import TOKEN_LOSS
from antiphon.wire.packet import Tag
from antiphon.wire.pieces import Token
from antiphon.wire.ring import read_token
from tests.unit.protocol.stream.bench import (
    LATENCY_US,
    SETTINGS,
    Bench,
    Loop,
    delivered,
    is_token,
    passed,
    piece,
    troubles,
)


def tokens_in(loop: Loop, start: int, end: int) -> int:
    return sum(is_token(packet) and start <= at < end for at, _, packet in loop.packets)


def test_an_idle_ring_slows_its_token() -> None:
    loop = Loop(members=2)
    loop.run(1_000_000)
    busy = 1_000_000 // LATENCY_US
    idle = tokens_in(loop, 500_000, 1_000_000)
    assert idle <= 2 * (500_000 // SETTINGS.token_rest_us_max + 1)
    assert idle < busy // 100
    assert loop.troubles == []


def test_the_rest_ends_when_the_leader_itself_has_work() -> None:
    loop = Loop(members=3)
    loop.run(500_000)
    loop.submit(1)
    loop.run(500_000 + 3 * LATENCY_US)
    assert all(len(found) == 1 for found in loop.delivered.values())


def test_a_member_with_work_hurries_the_leader() -> None:
    """One message to the leader, and the token comes."""
    loop = Loop(members=3)
    loop.run(500_000)
    start = len(loop.packets)
    loop.submit(3)
    assert [packet[1] for _, _, packet in loop.packets[start:]] == [Tag.HURRY]
    loop.run(500_000 + 5 * LATENCY_US)
    assert all(len(found) == 1 for found in loop.delivered.values())


def test_a_member_hurries_the_leader_once() -> None:
    bench = Bench(me=2)
    for sequence in (2, 5, 8):
        bench.visit(Token(sequence))
    bench.submit()
    assert len(bench.ring.work(bench.now)) == 1
    bench.submit()
    assert bench.ring.work(bench.now) == []


def test_nothing_hurries_while_the_token_goes_round() -> None:
    bench = Bench(me=2)
    bench.hear(bench.packet(1, 1, piece(1)))
    bench.visit(Token(2, 1, 1, site_sequence=1, site_stamp=1))
    bench.submit()
    assert bench.ring.work(bench.now) == []


def test_what_waits_for_the_group_state_does_not_hurry() -> None:
    """Clients' bundles are stamped when the configuration is settled (D2)."""
    bench = Bench(me=2)
    bench.ring.settled = False
    for sequence in (2, 5, 8):
        bench.visit(Token(sequence))
    bench.submit()
    assert bench.ring.work(bench.now) == []
    bench.put_state()
    assert len(bench.ring.work(bench.now)) == 1


def test_a_leader_rests_longer_and_longer_up_to_a_limit() -> None:
    bench = Bench(me=1, members=2)
    rests = []
    sequence = passed(bench.began).sequence
    for _ in range(12):
        sequence += 1
        bench.now += 10
        assert bench.ring.hear_token(bench.now, Token(sequence)) is not None
        due = bench.ring.timers.at(VISIT)
        if due < NEVER:
            rests.append(due - bench.now)
            assert bench.ring.timers.at(LOSS) == NEVER, "who holds the token does not miss it"
            sequence = passed(bench.wake()).sequence
        else:
            sequence += 1
    assert rests == sorted(rests)
    assert rests[0] <= SETTINGS.token_rest_us_min
    assert SETTINGS.token_rest_us_max - 20 <= rests[-1] <= SETTINGS.token_rest_us_max


def test_a_passed_token_is_repeated_until_there_is_a_sign_of_life() -> None:
    bench = Bench(me=2)
    bench.submit()
    sent = [effect for effect in bench.visit(Token(2)) if isinstance(effect, Send)]
    assert bench.ring.timers.at(REPEAT) - bench.now >= SETTINGS.token_repeat_us
    assert bench.wake() == sent
    assert bench.wake() == sent


def test_in_a_quiet_ring_a_member_waits_for_the_rest_before_it_repeats() -> None:
    """The token lies with the leader: no need to send it again and again."""
    bench = Bench(me=2)
    for sequence in (2, 5, 8):
        bench.visit(Token(sequence))
    assert bench.ring.timers.at(REPEAT) - bench.now > SETTINGS.token_rest_us_max
    bench.submit()
    bench.visit(Token(11))
    assert bench.ring.timers.at(REPEAT) - bench.now < SETTINGS.token_rest_us_max


def test_in_a_quiet_ring_the_leader_repeats_soon() -> None:
    bench = Bench(me=1)
    sequence = passed(bench.began).sequence
    for _ in range(4):
        bench.now += 10
        effects = bench.ring.hear_token(bench.now, Token(sequence + 2))
        assert not isinstance(effects, str)
        sequence = passed(effects or bench.wake()).sequence
    assert bench.ring.timers.at(REPEAT) - bench.now < SETTINGS.token_rest_us_max


@pytest.mark.parametrize("sign", ["packet of a later visit", "token"])
def test_a_sign_of_life_ends_the_repeats(sign: str) -> None:
    bench = Bench(me=2)
    bench.submit()
    passed_on = passed(bench.visit(Token(2)))
    if sign == "token":
        bench.now += 10
        later = Token(5, 1, 1, flow=1, site_sequence=1, site_stamp=1)
        assert not isinstance(bench.ring.hear_token(bench.now, later), str)
        assert bench.ring.timers.at(REPEAT) > bench.now + SETTINGS.token_repeat_us // 2
    else:
        raw = bench.packet(3, 2, piece(2), token_sequence=passed_on.sequence)
        bench.hear(raw)
        assert bench.ring.timers.at(REPEAT) == NEVER


def test_a_packet_of_an_earlier_visit_is_no_sign_of_life() -> None:
    bench = Bench(me=2)
    bench.submit()
    bench.visit(Token(2))
    bench.hear(bench.packet(1, 2, piece(2), token_sequence=1))
    assert bench.ring.timers.at(REPEAT) < NEVER


def test_a_repeated_token_runs_on_behind_a_loss() -> None:
    """The token was lost behind me: my predecessor's repeat reaches me, and mine goes on."""
    bench = Bench(me=2)
    bench.submit()
    effects = bench.visit(Token(2))
    sent = [effect for effect in effects if isinstance(effect, Send)]
    bench.now += SETTINGS.token_repeat_us
    assert bench.ring.hear_token(bench.now, Token(2)) == sent


def test_a_doubled_token_does_not_chase_the_true_one() -> None:
    bench = Bench(me=2)
    bench.submit()
    bench.visit(Token(2))
    bench.now += 1
    assert bench.refusal(Token(2)) == "old_token"


def test_a_lost_token_costs_a_repeat_and_no_more() -> None:
    """No message is sent but the token again, and nobody is in trouble."""
    lost = []

    def loses(source: int, to: int, packet: bytes) -> bool:
        if is_token(packet) and len(lost) < 4 and read_token(packet)[1].sequence in (7, 12, 13):
            lost.append(packet)
            return True
        return False

    loop = Loop(members=3, loses=loses)
    for number in (1, 2, 3):
        loop.benches[number].submit_packets(100)
        loop.submit(number)
    loop.run(SETTINGS.token_loss_us)
    assert len(lost) >= 3
    assert loop.troubles == []
    assert all(len(found) == 303 for found in loop.delivered.values())


def test_no_sign_of_the_token_for_too_long_is_trouble() -> None:
    """Said once: whatever is done about it is done by others."""
    bench = Bench(me=2)
    found = []
    for _ in range(3):
        if bench.ring.timers.deadline() < NEVER:
            found += troubles(bench.wake())
    assert found == [(TOKEN_LOSS, 0)]
    assert bench.now - 1_000_000 >= SETTINGS.token_loss_us


def test_who_passed_the_token_misses_it_too() -> None:
    bench = Bench(me=2)
    bench.visit(Token(2))
    assert bench.ring.timers.at(LOSS) - bench.now >= SETTINGS.token_loss_us


def test_a_silent_ring_is_in_trouble_everywhere_but_at_the_one_that_rests() -> None:
    dead = [False]
    loop = Loop(members=3, loses=lambda source, to, packet: dead[0])
    loop.submit(2)
    loop.run(20_000)
    dead[0] = True
    loop.run(20_000 + 5 * SETTINGS.token_loss_us)
    assert sorted(loop.troubles) == [(number, TOKEN_LOSS, 0) for number in (1, 2, 3)]


def test_a_ring_of_one_needs_nobody() -> None:
    """X-39: one daemon keeps the same values without a token on its way."""
    bench = Bench(me=1, members=1)
    assert not [effect for effect in bench.began if isinstance(effect, Send)]
    bench.submit(Service.SAFE)
    bench.now += 1
    effects = bench.ring.work(bench.now)
    assert [one.sequence for one in delivered(effects)] == [1]
    assert bench.ring._window.packets == {}
    assert bench.ring.timers.at(LOSS) == NEVER


def test_a_ring_of_one_comes_back_to_what_one_visit_could_not_take() -> None:
    bench = Bench(me=1, members=1, settings=replace(SETTINGS, member_packets_max=3))
    bench.submit_packets(10)
    effects = bench.ring.work(bench.now)
    taken = delivered(effects)
    assert len(taken) == 3
    while bench.ring.timers.at(VISIT) < NEVER:
        more = bench.wake()
        taken += delivered(more)
        effects += more
    assert len(taken) == 10
    assert not [effect for effect in effects if isinstance(effect, Broadcast)], "nobody to hear"


def test_a_large_unreliable_message_keeps_the_ring_turning() -> None:
    """It takes no place in the link order, and yet something moves: the leader must not rest
    in each rotation, as it does for a packet that cannot be had."""
    loop = Loop(members=3, member_packets_max=2, ring_packets_max=6, token_stay_us=20_000)
    loop.submit(3, Service.UNRELIABLE, body=bytes(20_000))
    loop.run(100 * 3 * LATENCY_US)
    assert all(len(found) == 1 for found in loop.delivered.values())
