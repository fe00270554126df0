"""What each service waits for, bundle by bundle: one story per rule."""

from collections.abc import Sequence

import pytest

from antiphon.core.bundle import Bundle
from antiphon.core.positions import position
from antiphon.core.service import Service
from antiphon.protocol.stream.delivery import Delivery
from antiphon.wire.pieces import Piece, Token
from tests.unit.protocol.stream.bench import Bench, broadcasts, delivered, member, piece

MISSING = 1
"""Sequence of the bundle that did not come: everything agreed behind it is blocked."""


def blocked_bench() -> Bench:
    """An agreed bundle is here and cannot be delivered, for one before it is lost."""
    bench = Bench()
    assert delivered(bench.hear(bench.packet(1, 2, piece(2, Service.AGREED)))) == []
    return bench


def arrive(bench: Bench, link: int, *pieces: Piece) -> list[int]:
    return [one.sequence for one in delivered(bench.hear(bench.packet(3, link, *pieces)))]


def test_an_unreliable_bundle_passes_a_blocked_agreed_one() -> None:
    """S1, SP-57: bundles of many messages, as one."""
    bench = blocked_bench()
    loose = Piece(1, Service.UNRELIABLE, 1, 1, 5, 0, b"five messages", 0, 0, 0, 2, 0, 0)
    found = delivered(bench.hear(bench.packet(3, 0, loose)))
    assert [(one.service, one.count) for one in found] == [(Service.UNRELIABLE, 5)]


def test_a_reliable_bundle_passes_a_blocked_agreed_one() -> None:
    """S2, SP-58: delivered on arrival and held back by nothing."""
    assert arrive(blocked_bench(), 3, piece(3, Service.RELIABLE)) == [3]


def test_a_fifo_bundle_passes_a_blocked_agreed_one_of_another_session() -> None:
    """S3, SP-62: blocked only by earlier messages of the same session."""
    assert arrive(blocked_bench(), 3, piece(3, Service.FIFO)) == [3]


def test_a_fifo_bundle_waits_for_a_blocked_agreed_one_of_its_session() -> None:
    """S3, SP-60."""
    bench = blocked_bench()
    own = bench.packet(1, 3, piece(3, Service.FIFO, previous=2))
    assert delivered(bench.hear(own)) == []
    assert arrive(bench, 1, piece(1)) == [1, 2, 3]


def test_a_causal_bundle_passes_a_blocked_agreed_one_it_does_not_know() -> None:
    """S4, X-34: causal does not wait for the total order."""
    assert arrive(blocked_bench(), 3, piece(3, Service.CAUSAL)) == [3]


def test_a_causal_bundle_waits_for_the_agreed_one_its_sender_had_delivered() -> None:
    """S4."""
    bench = blocked_bench()
    assert arrive(bench, 3, piece(3, Service.CAUSAL, order_past=position(2, 0))) == []
    assert arrive(bench, 1, piece(1)) == [1, 2, 3]


def test_a_causal_bundle_waits_for_the_early_one_its_sender_had_delivered() -> None:
    """S4: also when that one is still missing."""
    bench = Bench()
    assert arrive(bench, 2, piece(3, Service.CAUSAL, early_past=2, session=2)) == []
    assert arrive(bench, 3, piece(2, Service.CAUSAL)) == [2], "its cause; but 1 may be one"
    assert arrive(bench, 1, piece(1, Service.RELIABLE)) == [1, 3]


@pytest.mark.parametrize("service", [Service.AGREED, Service.SAFE])
def test_an_ordered_bundle_passes_nothing(service: Service) -> None:
    """S5, S6, SP-67: one order, without holes."""
    assert arrive(blocked_bench(), 3, piece(3, service)) == []


def test_an_agreed_bundle_waits_for_a_safe_one_before_it() -> None:
    """SP-67, X-38: safe keeps agreed order, so agreed behind safe waits for it."""
    bench = Bench()
    assert arrive(bench, 1, piece(1, Service.SAFE), piece(2)) == []
    covered = {"site_sequence": 2, "site_stamp": 2, "site_aru": 2}
    bench.visit(Token(2, 1, 1, **covered))
    found = delivered(bench.visit(Token(5, 1, 1, **covered)))
    assert [one.sequence for one in found] == [1, 2]


def test_early_services_pass_a_safe_one_that_is_not_stable() -> None:
    """S2 to S4."""
    bench = Bench()
    early = [piece(at, Service(at - 1), session=at) for at in (2, 3, 4)]
    assert arrive(bench, 1, piece(1, Service.SAFE), *early) == [2, 3, 4]


def test_causal_waits_for_what_its_own_session_sent_before() -> None:
    """S4: though the sender's daemon had not delivered it either."""
    bench = blocked_bench()
    assert arrive(bench, 4, piece(4, Service.CAUSAL, previous=3)) == []
    assert arrive(bench, 3, piece(3, Service.CAUSAL)) == [3, 4]


@pytest.mark.parametrize("service", [Service.RELIABLE, Service.FIFO, Service.CAUSAL])
def test_nothing_runs_ahead_of_a_group_change_before_it(service: Service) -> None:
    """D4, D7: a view lies at the same place among all messages."""
    bench = blocked_bench()
    assert arrive(bench, 3, piece(3, service, after_change=position(2, 0))) == []
    assert arrive(bench, 1, piece(1)) == [1, 2, 3]


def stream(*services: Service) -> list[Bundle]:
    """Bundles of one session, one after the other."""
    made = []
    for at, service in enumerate(services, 1):
        one = Bundle(member(1), 1, at, 1, service, b"")
        one.sequence = one.stamp = at + 1
        one.previous = at if at > 1 else 0
        made.append(one)
    return made


def sequences(bundles: Sequence[Bundle]) -> list[int]:
    return [one.sequence for one in bundles]


def test_a_fifo_bundle_is_not_fooled_by_a_reliable_one_that_ran_ahead() -> None:
    """S3, SP-60: m1 agreed, m2 reliable, m3 fifo; m2 is delivered early, and its being
    delivered says nothing about m1."""
    delivery = Delivery()
    for one in stream(Service.AGREED, Service.RELIABLE, Service.FIFO):
        assert delivery.add(one)
    assert sequences(delivery.take()) == [3], "only the reliable one; 1 is missing"
    first = Bundle(member(2), 1, 1, 1, Service.AGREED, b"", sequence=1, stamp=1)
    assert delivery.add(first)
    assert sequences(delivery.take()) == [1, 2, 4]


def test_reliable_bundles_of_a_session_may_change_places() -> None:
    """S2: in any order."""
    delivery = Delivery()
    one, other = stream(Service.RELIABLE, Service.RELIABLE)
    delivery.add(other)
    assert sequences(delivery.take()) == [3]
    delivery.add(one)
    assert sequences(delivery.take()) == [2]


def test_fifo_bundles_of_a_session_keep_their_places_in_a_stream_with_holes() -> None:
    """SP-60, SP-62: 1 is missing all the time."""
    delivery = Delivery()
    one, two, three = stream(Service.FIFO, Service.FIFO, Service.FIFO)
    delivery.add(three)
    delivery.add(one)
    assert sequences(delivery.take()) == [2]
    delivery.add(two)
    assert sequences(delivery.take()) == [3, 4]


def test_a_bundle_is_taken_once() -> None:
    """D1."""
    delivery = Delivery()
    (one,) = stream(Service.RELIABLE)
    for _ in range(2):
        assert delivery.add(one)
    assert sequences(delivery.take()) == [2]
    assert delivery.add(one)
    assert delivery.take() == []


@pytest.mark.parametrize(("sequence", "stamp"), [(4, 9), (4, 12), (2, 9), (2, 12)])
def test_a_stamp_that_does_not_rise_with_its_sequence_is_a_peers_mistake(
    sequence: int, stamp: int
) -> None:
    """SP-64: dropped with its reason; it must not stop the daemon."""
    bench = Bench()
    arrive(bench, 1, piece(3, stamp=9 if sequence > 3 else 8), piece(5, stamp=12))
    wrong = bench.packet(1, 2, piece(sequence, stamp=stamp))
    assert bench.drop_or_hear(wrong) == "bad_stamp"


def test_a_stamp_that_leaps_to_the_end_is_a_peers_mistake() -> None:
    """SP-76: the clock would follow it, and could never stamp again."""
    bench = Bench()
    wrong = bench.packet(1, 2, piece(2, stamp=2**64 - 1))
    assert bench.drop_or_hear(wrong) == "bad_stamp"
    bench.submit()
    effects = bench.visit(Token(2, 2, 0, site_sequence=2, site_stamp=2))
    assert broadcasts(effects)[0].pieces[0].stamp == 3


@pytest.mark.parametrize(
    ("link", "wrong"),
    [
        (0, Piece(1, Service.UNRELIABLE, 1, 1, 1, 0, b"", early_past=2**64 - 1)),
        (0, Piece(1, Service.UNRELIABLE, 1, 1, 1, 0, b"", order_past=2**64 - 1)),
        (1, piece(2**63, Service.RELIABLE)),
    ],
    ids=["early past", "order past", "sequence"],
)
def test_a_place_beyond_the_order_does_not_spoil_what_i_send(link: int, wrong: Piece) -> None:
    """A past behind itself is refused by everybody; what I believed must not get there."""
    bench = Bench()
    bench.drop_or_hear(bench.packet(1, link, wrong))
    bench.submit()
    told = {"site_sequence": link, "site_stamp": link}
    assert len(broadcasts(bench.visit(Token(2, link, 0, **told)))) == 1


@pytest.mark.parametrize("service", [Service.RELIABLE, Service.UNRELIABLE])
def test_what_i_send_comes_after_the_past_of_what_i_delivered_early(service: Service) -> None:
    """S4: cause goes through messages that themselves waited for nothing."""
    bench = Bench()
    early = piece(7, service, early_past=4, order_past=position(5, 0))
    if service == Service.UNRELIABLE:
        early.sequence = early.stamp = 0
    bench.hear(bench.packet(1, 0 if service == Service.UNRELIABLE else 2, early))
    bench.submit(Service.CAUSAL)
    told = {"site_sequence": 7, "site_stamp": 7}
    (sent,) = broadcasts(bench.visit(Token(2, 2, 0, **told)))
    past = 4 if service == Service.UNRELIABLE else 7
    assert [(one.early_past, one.order_past) for one in sent.pieces] == [(past, position(5, 0))]
