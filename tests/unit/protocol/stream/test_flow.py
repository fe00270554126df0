"""Flow control: per rotation for the ring and for a member, and the network's window."""

from dataclasses import replace
from typing import Any

from antiphon.core.effects import Broadcast, Word
from antiphon.core.ids import DaemonId
from antiphon.core.service import Service
from antiphon.protocol.stream.watch import BLOCKED_WINDOW, RECEIVE_FAILURE
from antiphon.wire.pieces import Token
from tests.unit.protocol.stream.bench import (
    SETTINGS,
    Bench,
    Loop,
    broadcasts,
    is_token,
    passed,
    piece,
    troubles,
)

SMALL = replace(
    SETTINGS,
    ring_packets_max=10,
    member_packets_max=6,
    window_packets_low=8,
    window_packets_max=20,
    control_packets_reserve=4,
)


def count(effects: list[Word]) -> int:
    return len(broadcasts(effects))


def test_a_member_sends_no_more_than_its_own_limit() -> None:
    """SP-190."""
    bench = Bench(settings=SMALL)
    bench.submit_packets(20)
    assert count(bench.visit(Token(2))) == 6


def test_a_member_sends_no_more_than_the_ring_has_left() -> None:
    """SP-189, SP-191: ring limit minus the token's flow field plus what it sent last."""
    bench = Bench(settings=SMALL)
    bench.submit_packets(20)
    assert count(bench.visit(Token(2, flow=7))) == 3
    assert count(bench.visit(Token(5, 3, 3, flow=10, site_sequence=3, site_stamp=3))) == 3
    assert count(bench.visit(Token(8, 6, 6, flow=13, site_sequence=6, site_stamp=6))) == 0


def test_the_flow_field_counts_the_last_rotation_repeats_included() -> None:
    """SP-178."""
    bench = Bench(settings=SMALL)
    bench.hear(bench.packet(1, 1, piece(1)))
    bench.submit_packets(2)
    one = {"site_sequence": 1, "site_stamp": 1}
    token = passed(bench.visit(Token(2, 1, 0, flow=1, **one, requests=((1, 1),))))
    assert token.flow == 1 + 3
    token = passed(bench.visit(Token(5, 3, 3, flow=4, site_sequence=3, site_stamp=3)))
    assert token.flow == 1


def test_repeats_come_out_of_the_same_allowance() -> None:
    """SP-191, TR-41: recovery traffic does not add to the load."""
    bench = Bench(settings=SMALL)
    for sequence in range(1, 6):
        bench.hear(bench.packet(1, sequence, piece(sequence)))
    bench.submit_packets(20)
    five = {"site_sequence": 5, "site_stamp": 5}
    effects = bench.visit(Token(2, 5, 0, **five, requests=((1, 5),)))
    assert [packet.link_sequence for packet in broadcasts(effects)] == [1, 2, 3, 4, 5, 6]


def test_what_was_asked_for_beyond_the_allowance_stays_on_the_list() -> None:
    bench = Bench(settings=SMALL)
    for sequence in range(1, 9):
        bench.hear(bench.packet(1, sequence, piece(sequence)))
    effects = bench.visit(Token(2, 8, 0, site_sequence=8, site_stamp=8, requests=((1, 8),)))
    assert count(effects) == 6
    assert passed(effects).requests == ((7, 8),)


def fill_window(bench: Bench, packets: int) -> dict[str, int]:
    """Others' packets that come and that nobody knows to be everywhere; what a token says."""
    for sequence in range(1, packets + 1):
        bench.hear(bench.packet(1, sequence, piece(sequence)))
    return {"site_sequence": packets, "site_stamp": packets}


def test_the_window_counts_everybodys_packets() -> None:
    """TR-45, TR-47: received and not yet known to be at all members, whosever they are."""
    bench = Bench(settings=SMALL)
    told = fill_window(bench, 17)
    bench.submit_packets(10)
    assert count(bench.visit(Token(2, 17, 0, DaemonId(3), **told))) == 3


def test_the_window_moves_by_what_i_see_alone() -> None:
    """TR-46: no message asks for it or tells it; what I learnt by two visits counts in the
    third, for a visit first sends (SP-184)."""
    bench = Bench(settings=SMALL)
    told = fill_window(bench, 20)
    bench.submit_packets(10)
    sent = [count(bench.visit(Token(sequence, 20, 20, **told))) for sequence in (2, 5, 8)]
    assert sent == [0, 0, 6]


def test_a_full_window_stops_clients() -> None:
    """TR-49."""
    bench = Bench(settings=SMALL)
    told = fill_window(bench, 20)
    bench.submit(Service.SAFE)
    bench.submit(Service.UNRELIABLE, session=2)
    effects = bench.visit(Token(2, 20, 0, DaemonId(3), **told))
    assert count(effects) == 0
    assert passed(effects).sequence == 3, "the token goes on: it says that I am alive"


def test_group_state_leaves_above_a_full_window() -> None:
    """TR-49: what everybody waits for may go a little further."""
    bench = Bench(settings=SMALL)
    told = fill_window(bench, 20)
    bench.submit()
    bench.put_state()
    effects = bench.visit(Token(2, 20, 0, DaemonId(3), **told))
    assert [one.flags & 2 for packet in broadcasts(effects) for one in packet.pieces] == [2]


def test_not_even_group_state_goes_beyond_the_reserve() -> None:
    """TR-51, P4: the window bounds what is kept."""
    bench = Bench(settings=SMALL)
    told = fill_window(bench, 24)
    bench.put_state()
    assert count(bench.visit(Token(2, 24, 0, DaemonId(3), **told))) == 0


def test_a_small_window_delays_nobody() -> None:
    """TR-48, TR-42: members send without waiting for acknowledgements in between."""
    bench = Bench(settings=SMALL)
    told = fill_window(bench, 2)
    bench.submit_packets(12)
    assert count(bench.visit(Token(2, 2, 0, DaemonId(3), **told))) == 6
    more = {"site_sequence": 8, "site_stamp": 8}
    assert count(bench.visit(Token(5, 8, 0, DaemonId(3), flow=6, **more), after_us=1)) == 6


def test_a_filling_window_delays_the_next_sending() -> None:
    """TR-48: longer as it fills."""
    waited = []
    for unstable in (9, 13, 15):
        bench = Bench(settings=SMALL)
        told = fill_window(bench, unstable)
        bench.submit_packets(1)
        assert count(bench.visit(Token(2, unstable, 0, DaemonId(3), **told))) == 1
        bench.submit_packets(1)
        sequence, start = 5, bench.now
        top = unstable + 1
        again = {"site_sequence": top, "site_stamp": top}
        while not count(
            bench.visit(
                Token(sequence, top, 0, DaemonId(3), flow=0 + (sequence == 5), **again), 100
            )
        ):
            sequence += 3
        waited.append(bench.now - start)
    assert waited == sorted(waited)
    assert SMALL.delay_us_max // 12 <= waited[0] < waited[2] <= SMALL.delay_us_max + 100


def test_group_state_is_never_delayed() -> None:
    """TR-48 is for clients; everybody waits for group state."""
    bench = Bench(settings=SMALL)
    told = fill_window(bench, 15)
    bench.submit_packets(1)
    bench.visit(Token(2, 15, 0, DaemonId(3), **told))
    bench.put_state()
    again = {"site_sequence": 16, "site_stamp": 16}
    assert count(bench.visit(Token(5, 16, 0, DaemonId(3), flow=1, **again), after_us=1)) == 1


def test_a_window_that_stays_blocked_is_blamed_on_the_one_that_holds_it() -> None:
    """TR-50: membership removes who does not take part; the token says who it is."""
    bench = Bench(settings=SMALL)
    told = fill_window(bench, 23)
    found = []
    for sequence in range(2, 30, 3):
        token = Token(sequence, 23, 3, DaemonId(3), **told)
        found += troubles(bench.visit(token, SMALL.blocked_window_us // 4))
    assert found == [(BLOCKED_WINDOW, 3)], "said once"


def test_a_window_that_moves_is_not_blocked() -> None:
    """TR-50: slow is not stuck."""
    bench = Bench(settings=SMALL)
    told = fill_window(bench, 24)
    found = []
    for step, sequence in enumerate(range(2, 14, 3), 1):
        token = Token(sequence, 24, step, DaemonId(3), **told)
        found += troubles(bench.visit(token, SMALL.blocked_window_us * 3 // 4))
    assert found == []


def test_a_packet_that_never_comes_is_a_failure_to_receive() -> None:
    """SP-154: though other packets and the token go on."""
    bench = Bench(settings=SMALL)
    bench.hear(bench.packet(1, 2, piece(2)))
    found = []
    for sequence in range(2, 40, 3):
        told = {"site_sequence": 2, "site_stamp": 2}
        found += troubles(bench.visit(Token(sequence, 2, 0, **told), SMALL.receive_failure_us // 8))
    assert found == [(RECEIVE_FAILURE, 0)]


def test_a_hole_in_the_order_that_no_packet_fills_is_a_failure_to_receive() -> None:
    """SP-154: all packets came, but what one of them said could not be taken."""
    bench = Bench(settings=SMALL)
    assert bench.drop_or_hear(bench.packet(1, 1, piece(1, stamp=2**60))) == "bad_stamp"
    found = []
    for sequence in range(2, 40, 3):
        told = {"site_sequence": 1, "site_stamp": 1}
        found += troubles(bench.visit(Token(sequence, 1, 1, **told), SMALL.receive_failure_us // 8))
    assert found == [(RECEIVE_FAILURE, 0)]


def test_members_together_stay_within_the_rings_limit() -> None:
    """SP-189: whoever sends how much, in no rotation more than the limit leaves."""
    loop = Loop(members=3, settings=SMALL, token_rest_us_max=1_000, token_rest_us_min=1_000)
    for number, bench in loop.benches.items():
        bench.submit_packets(40)
        loop.submit(number)
    loop.run(200_000)
    visits: list[int] = [0]
    for _, _, packet in loop.packets:
        if is_token(packet):
            visits.append(0)
        else:
            visits[-1] += 1
    rotations = [sum(visits[at : at + 3]) for at in range(len(visits) - 2)]
    assert max(visits) == 6
    assert max(rotations) == 10
    assert all(len(found) == 123 for found in loop.delivered.values())


def test_nobody_keeps_more_than_the_window_and_a_rotation() -> None:
    """TR-51, P4: with one member that hears nothing of it for a while."""
    deaf = [True]

    def loses(source: int, to: int, packet: bytes) -> bool:
        return deaf[0] and to == 3 and not is_token(packet)

    loop = Loop(members=3, settings=SMALL, loses=loses)
    for number, bench in loop.benches.items():
        bench.submit_packets(100)
        loop.submit(number)
    most = 0
    for step in range(1, 8_000):
        if step == 3_000:
            deaf[0] = False
        loop.run(step * 100)
        kept = [len(bench.ring._window.packets) for bench in loop.benches.values()]
        most = max(most, *kept)
    assert SMALL.window_packets_max <= most <= SMALL.buffered_packets_max
    assert all(len(found) == 303 for found in loop.delivered.values())


def test_everything_leaves_only_while_i_hold_the_token() -> None:
    """SP-56: unreliable messages, too."""
    bench = Bench()
    bench.submit(Service.UNRELIABLE)
    effects = bench.ring.work(bench.now)
    assert not [effect for effect in effects if isinstance(effect, Broadcast)]
    assert count(bench.visit(Token(2))) == 1


class Looked(dict[int, bytes]):
    """Counts how often somebody looks for a packet."""

    times = 0

    def get(self, *key: Any) -> Any:
        self.times += 1
        return super().get(*key)


def test_requests_for_what_everybody_has_cost_nothing() -> None:
    """Bounded work per packet: a few bytes of a token can name all that was ever sent."""
    bench = Bench()
    far = 1_000_000
    window = bench.ring._window
    window.released = window.contiguous = window.highest = far
    looked = Looked()
    window.packets = looked
    bench.visit(Token(2, far, far, site_sequence=1, site_stamp=1, requests=((1, far),)))
    assert looked.times < 1_000
