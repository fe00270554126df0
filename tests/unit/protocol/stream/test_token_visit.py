"""A visit of the token: what happens, and in which order."""

import pytest

from antiphon.core.effects import Broadcast, Delivered, Emit, Send, Stamped
from antiphon.core.ids import NOBODY, DaemonId
from antiphon.core.positions import position
from antiphon.core.service import Service
from antiphon.core.trace import Kind, Level
from antiphon.wire.pieces import Token
from antiphon.wire.ring import REQUESTS_MAX
from tests.unit.protocol.stream.bench import (
    Bench,
    Loop,
    broadcasts,
    delivered,
    is_token,
    member,
    passed,
    piece,
)


def test_the_order_of_a_visit_is_repeats_new_packets_token_then_delivery() -> None:
    """SP-184: answer retransmits, take client messages, send, update the token, pass it on,
    then deliver."""
    bench = Bench()
    bench.hear(bench.packet(1, 1, piece(1)))
    bench.submit()
    effects = bench.visit(Token(2, 1, 1, site_sequence=1, site_stamp=1, requests=((1, 1),)))
    kinds = [type(effect) for effect in effects if type(effect) in (Broadcast, Send, Delivered)]
    assert kinds == [Broadcast, Broadcast, Send, Delivered]
    assert [packet.link_sequence for packet in broadcasts(effects)] == [1, 2]
    token = passed(effects)
    assert (token.link_sequence, token.site_sequence) == (2, 2)


def test_a_repeated_packet_is_the_very_same_that_came() -> None:
    """Whoever has it repeats it, whosever it is."""
    bench = Bench(me=3)
    raw = bench.packet(1, 1, piece(1))
    bench.hear(raw)
    effects = bench.visit(Token(3, 1, 0, site_sequence=1, site_stamp=1, requests=((1, 1),)))
    assert [effect.packet for effect in effects if isinstance(effect, Broadcast)] == [raw]
    assert passed(effects).requests == ()


def test_what_i_lack_stays_on_the_list_of_requests() -> None:
    """SP-179: the list goes on to somebody who has it."""
    bench = Bench()
    bench.hear(bench.packet(1, 2, piece(2)))
    effects = bench.visit(Token(2, 3, 0, site_sequence=3, site_stamp=3, requests=((1, 2),)))
    assert [packet.link_sequence for packet in broadcasts(effects)] == [2]
    assert passed(effects).requests == ((1, 1), (3, 3))


def test_a_lost_tail_shows_at_the_token() -> None:
    """SP-244: nothing came after it, and yet it is asked for."""
    bench = Bench()
    effects = bench.visit(Token(2, 4, 4, site_sequence=4, site_stamp=4))
    token = passed(effects)
    assert token.requests == ((1, 4),)
    assert (token.link_aru, token.link_modifier) == (0, 2)


def test_a_token_asks_for_a_bounded_number_of_runs() -> None:
    bench = Bench()
    holes = 2 * REQUESTS_MAX + 10
    for sequence in range(2, 2 * holes, 2):
        bench.hear(bench.packet(1, sequence, piece(sequence)))
    token = passed(bench.visit(Token(2, 2 * holes, 0, site_sequence=500, site_stamp=500)))
    assert len(token.requests) == REQUESTS_MAX
    assert token.requests[:2] == ((1, 1), (3, 3))


def test_each_message_gets_a_sequence_and_a_stamp_and_each_packet_a_link_sequence() -> None:
    """SP-74 to SP-78, SP-186: (site, sequence) names a bundle; stamps rise with it."""
    bench = Bench()
    for _ in range(3):
        bench.submit()
    effects = bench.visit(Token(2, 7, 7, site_sequence=11, site_stamp=20))
    packets = broadcasts(effects)
    assert [packet.link_sequence for packet in packets] == [8]
    sent = packets[0].pieces
    assert [one.sequence for one in sent] == [12, 13, 14]
    assert [one.stamp for one in sent] == [21, 22, 23]
    assert [one.previous for one in sent] == [0, 12, 13]
    token = passed(effects)
    assert (token.site_sequence, token.site_stamp, token.link_sequence) == (14, 23, 8)


def test_a_stamp_is_above_every_stamp_that_was_seen() -> None:
    """SP-76, SP-181: Lamport's rule, on the token and in packets."""
    bench = Bench()
    bench.hear(bench.packet(3, 1, piece(1, stamp=90)))
    bench.submit()
    effects = bench.visit(Token(2, 1, 1, site_sequence=1, site_stamp=95))
    assert broadcasts(effects)[0].pieces[0].stamp == 96


def test_unreliable_messages_take_nothing_of_the_order() -> None:
    """SP-53, X-33: a lost one must leave no gap."""
    bench = Bench()
    bench.submit(Service.UNRELIABLE)
    bench.submit(Service.RELIABLE)
    effects = bench.visit(Token(2))
    token = passed(effects)
    assert (token.link_sequence, token.site_sequence, token.site_stamp) == (1, 1, 1)
    loose = [packet for packet in broadcasts(effects) if packet.link_sequence == 0]
    assert [one.number for packet in loose for one in packet.pieces] == [1]


@pytest.mark.parametrize("sequence", [1, 2])
def test_an_old_or_doubled_token_is_dropped(sequence: int) -> None:
    """SP-185."""
    bench = Bench()
    bench.visit(Token(2))
    assert bench.refusal(Token(sequence)) == "old_token"


def test_an_impossible_token_is_dropped() -> None:
    """SP-185: one that takes back what I have, or leaps out of every window."""
    bench = Bench()
    for sequence in (1, 2):
        bench.hear(bench.packet(1, sequence, piece(sequence)))
    far = 2 * bench.settings.buffered_packets_max + 1
    good = Token(2, 2, 2, site_sequence=2, site_stamp=2)
    for wrong in (
        Token(2, 1, 1, site_sequence=2, site_stamp=2),
        Token(2, 2, 2, site_sequence=1, site_stamp=2),
        Token(2, 2, 2, site_sequence=2, site_stamp=1),
        Token(2, far, 2, site_sequence=2, site_stamp=2),
    ):
        assert bench.refusal(wrong) == "impossible_token"
    assert passed(bench.visit(good)).sequence == 3


@pytest.mark.parametrize(
    "wrong",
    [
        Token(5, 3, flow=0, site_sequence=3, site_stamp=3),
        Token(5, 3, flow=2**32 - 1, site_sequence=3, site_stamp=3),
        Token(2**64 - 1, 3, flow=3, site_sequence=3, site_stamp=3),
        Token(5, 3, flow=3, site_sequence=2**64 - 1, site_stamp=2**64 - 1),
    ],
    ids=["flow taken back", "flow at its end", "sequence at its end", "stamp at its end"],
)
def test_a_token_that_cannot_be_passed_on_is_dropped(wrong: Token) -> None:
    """SP-185, SP-178: a peer's nonsense must not stop the daemon."""
    bench = Bench()
    bench.submit_packets(3)
    bench.visit(Token(2))
    bench.submit_packets(2)
    assert bench.refusal(wrong) == "impossible_token"


def test_the_aru_is_lowered_by_who_lacks_something_and_carries_its_name() -> None:
    """SP-182, SP-183, SP-187, X-31: both values, each with a name of its own."""
    bench = Bench()
    bench.hear(bench.packet(1, 1, piece(1, stamp=5)))
    token = passed(bench.visit(Token(2, 3, 3, site_sequence=3, site_stamp=9, site_aru=9)))
    assert (token.link_aru, token.link_modifier) == (1, 2)
    assert (token.site_aru, token.site_modifier) == (5, 2)


def test_the_aru_of_another_is_not_raised() -> None:
    """SP-187."""
    bench = Bench()
    for sequence in (1, 2, 3):
        bench.hear(bench.packet(1, sequence, piece(sequence)))
    token = passed(
        bench.visit(
            Token(
                *(2, 3, 1),
                link_modifier=DaemonId(3),
                site_sequence=3,
                site_stamp=3,
                site_aru=1,
                site_modifier=DaemonId(3),
            )
        )
    )
    assert (token.link_aru, token.link_modifier) == (1, 3)
    assert (token.site_aru, token.site_modifier) == (1, 3)


def test_who_lowered_it_raises_it_and_takes_its_name_off_when_nothing_is_missing() -> None:
    """SP-187, X-31: kept while something is missing."""
    bench = Bench()
    bench.visit(Token(2, 3, 3, site_sequence=3, site_stamp=3, site_aru=3))
    bench.hear(bench.packet(1, 1, piece(1)))
    mine = {"link_modifier": DaemonId(2), "site_modifier": DaemonId(2)}
    told = passed(bench.visit(Token(5, 3, 0, **mine, site_sequence=3, site_stamp=3)))
    assert (told.link_aru, told.link_modifier, told.site_aru, told.site_modifier) == (1, 2, 1, 2)
    for sequence in (2, 3):
        bench.hear(bench.packet(1, sequence, piece(sequence)))
    told = passed(bench.visit(Token(8, 3, 1, **mine, site_sequence=3, site_stamp=3, site_aru=1)))
    assert (told.link_aru, told.link_modifier) == (3, NOBODY)
    assert (told.site_aru, told.site_modifier) == (3, NOBODY)


def test_a_packet_is_discarded_when_two_visits_in_a_row_show_it_at_everybody() -> None:
    """SP-177, SP-188, SP-192: the lesser of this and the last rotation's value."""
    bench = Bench()
    bench.hear(bench.packet(1, 1, piece(1)))
    bench.visit(Token(2, 1, 1, site_sequence=1, site_stamp=1, site_aru=1))
    assert 1 in bench.ring._window.packets
    bench.visit(Token(5, 1, 1, site_sequence=1, site_stamp=1, site_aru=1))
    assert bench.ring._window.packets == {}
    assert bench.ring.delivery.own.held == {}


def test_safe_waits_for_two_visits_that_cover_it() -> None:
    """S6, SP-69, SP-172: stability comes from the token alone."""
    bench = Bench()
    assert delivered(bench.hear(bench.packet(1, 1, piece(1, Service.SAFE)))) == []
    covered = {"site_sequence": 1, "site_stamp": 1, "site_aru": 1}
    assert delivered(bench.visit(Token(2, 1, 1, **covered))) == []
    assert [one.sequence for one in delivered(bench.visit(Token(5, 1, 1, **covered)))] == [1]


def test_a_packet_that_came_before_is_dropped() -> None:
    bench = Bench()
    raw = bench.packet(1, 1, piece(1))
    bench.hear(raw)
    assert bench.drop_or_hear(raw) == "duplicate"


def test_a_packet_of_somebody_else_is_dropped() -> None:
    """Another life of a member is another member; and I do not hear myself."""
    bench = Bench()
    assert bench.drop_or_hear(bench.packet(9, 1, piece(1))) == "not_a_member"
    assert bench.drop_or_hear(bench.packet(2, 1, piece(1))) == "not_a_member"


def test_a_packet_far_beyond_the_window_is_dropped() -> None:
    """P4: nobody makes me keep more than the window."""
    bench = Bench()
    far = 2 * bench.settings.buffered_packets_max + 1
    assert bench.drop_or_hear(bench.packet(1, far, piece(1))) == "beyond_window"


def test_packet_repair_and_stability_take_one_token() -> None:
    """SP-172, SP-173: a lost packet is repaired by another member than its sender, and all
    of it happens without any message but packets and tokens."""
    lost: list[bytes] = []

    def loses(source: int, to: int, packet: bytes) -> bool:
        if source == 1 and to == 3 and not is_token(packet) and not lost:
            lost.append(packet)
            return True
        return False

    loop = Loop(members=3, loses=loses)
    loop.submit(1, Service.SAFE)
    loop.run(30_000)
    assert lost
    repeats = [source for _, source, packet in loop.packets if packet == lost[0]]
    assert repeats == [1, 1] or repeats == [1, 2]
    for number in loop.benches:
        assert [one.sender for one in loop.delivered[number]] == [member(1)]
        assert loop.benches[number].ring.delivery.own.held == {}


def test_the_past_of_a_bundle_is_what_its_daemon_delivered_and_its_session_sent() -> None:
    """S4, X-34: also what is not delivered yet, for others may learn of it before that."""
    bench = Bench()
    bench.hear(bench.packet(1, 1, piece(1, Service.RELIABLE)))  # delivered: early past 1
    bench.hear(bench.packet(1, 3, piece(3)))  # not delivered: 2 is missing
    for service in (Service.AGREED, Service.CAUSAL, Service.CAUSAL):
        bench.submit(service, session=1)
    bench.submit(Service.CAUSAL, session=2)
    told = {"site_sequence": 3, "site_stamp": 3}
    pieces = broadcasts(bench.visit(Token(2, 3, 0, **told)))[0].pieces
    by_session = {
        session: [(one.sequence, one.early_past, one.order_past) for one in pieces]
        for session, pieces in (
            (1, [one for one in pieces if one.session == 1]),
            (2, [one for one in pieces if one.session == 2]),
        )
    }
    first = by_session[1][0][0]
    ordered = position(first, 0)
    assert by_session[1][0] == (first, 1, 0)
    assert by_session[1][1][1:] == (1, ordered), "behind its session's agreed one"
    assert by_session[1][2][1:] == (by_session[1][1][0], ordered)
    assert by_session[2][0][1:] == (1, 0), "another session does not know of it"


def test_at_level_all_every_stamp_and_every_whole_unreliable_bundle_is_told() -> None:
    """What judges read; at other levels nothing of it is made."""
    for level, expected in ((Level.ALL, 2), (Level.VIEWS, 0), (Level.OFF, 0)):
        bench = Bench(level=level)
        bench.submit(Service.AGREED)
        bench.submit(Service.UNRELIABLE)
        effects = bench.visit(Token(2))
        assert len([one for one in effects if isinstance(one, Stamped)]) == expected
        complete = [
            one.record.first
            for one in effects
            if isinstance(one, Emit) and one.record.kind == Kind.COMPLETE
        ]
        assert complete == [1] * (expected // 2)
