"""From pieces to bundles: what cannot belong together never becomes a bundle."""

from dataclasses import replace as replaced

import pytest

from antiphon.core.errors import ConfigError
from antiphon.core.positions import position
from antiphon.core.service import Service
from antiphon.protocol.stream.assembly import REMEMBERED, Assembly, DuplicateFilter
from antiphon.protocol.stream.packing import Outbox
from antiphon.protocol.stream.settings import StreamSettings
from antiphon.wire.pieces import Piece, Token
from antiphon.wire.ring import (
    BUNDLE_BYTES_MAX,
    CONTROL,
    LAST,
    ORDER_OVERHEAD,
    PACKET_OVERHEAD,
    PIECE_OVERHEAD,
    SELF_DISCARD,
)
from tests.unit.protocol.stream.bench import Bench, broadcasts, bundle, member, passed


def part(index: int, data: bytes, last: bool = False, number: int = 1, session: int = 1) -> Piece:
    made = Piece(LAST if last else 0, Service.AGREED, session, number, 1, index, data)
    if last:
        made.sequence = made.stamp = 5
    return made


def test_a_whole_piece_is_a_bundle_with_all_it_says() -> None:
    flags = LAST | CONTROL | SELF_DISCARD
    made = Piece(flags, Service.SAFE, 3, 4, 5, 0, b"body", 20, 21, 19, 18, 17, 16)
    got = Assembly().add(0, member(1), made)
    assert got is not None
    assert (got.sender, got.session, got.number, got.count) == (member(1), 3, 4, 5)
    assert (got.service, got.body, got.control, got.self_discard) == (
        Service.SAFE,
        b"body",
        True,
        True,
    )
    assert (got.sequence, got.stamp, got.previous) == (20, 21, 19)
    assert (got.early_past, got.order_past, got.after_change) == (18, 17, 16)


def test_an_empty_last_piece_completes_a_bundle() -> None:
    """Its place in the order did not fit behind the last byte."""
    assembly = Assembly()
    assert assembly.add(0, member(1), part(0, b"all of it")) is None
    got = assembly.add(0, member(1), part(1, b"", last=True))
    assert got is not None and got.body == b"all of it"


def test_a_piece_behind_the_last_one_makes_no_bundle() -> None:
    assembly = Assembly()
    for index in (0, 1, 3):
        assert assembly.add(0, member(1), part(index, b"x")) is None
    assert assembly.add(0, member(1), part(2, b"x", last=True)) is None


def test_a_piece_that_comes_twice_counts_once() -> None:
    assembly = Assembly()
    assembly.add(0, member(1), part(0, b"first"))
    assembly.add(0, member(1), part(0, b"another"))
    got = assembly.add(0, member(1), part(1, b" last", last=True))
    assert got is not None and got.body == b"first last"


def test_a_bundle_that_grows_beyond_the_limit_never_completes() -> None:
    """P4: memory per bundle is bounded whatever a member sends."""
    assembly = Assembly()
    half = bytes(BUNDLE_BYTES_MAX // 2)
    assembly.add(0, member(1), part(0, half))
    assembly.add(0, member(1), part(1, half))
    assert assembly.add(0, member(1), part(2, half)) is None
    (partial,) = assembly._ordered.values()
    assert partial.size <= BUNDLE_BYTES_MAX


def test_the_filter_forgets_the_oldest_and_takes_nothing_older() -> None:
    """SP-54, P4: a number too old to be remembered is taken for a double."""
    seen = DuplicateFilter()
    last = REMEMBERED + 10

    def first_time(number: int) -> bool:
        return seen.first_time(bundle(1, number, Service.UNRELIABLE), 1)

    assert all(first_time(number) for number in range(5, last, 2))
    assert not any(first_time(number) for number in range(5, last, 2))
    assert not first_time(4), "never seen, but too old to know"
    assert [first_time(last), first_time(last)] == [True, False]


def test_sessions_and_members_have_filters_of_their_own() -> None:
    """SP-53."""
    seen = DuplicateFilter()
    for made in (
        bundle(1, 1, Service.UNRELIABLE),
        bundle(2, 1, Service.UNRELIABLE),
        bundle(1, 1, Service.UNRELIABLE, session=2),
    ):
        assert seen.first_time(made, 1)
        assert not seen.first_time(made, 1)


@pytest.mark.parametrize(("spare", "pieces"), [(0, 1), (-1, 2)])
def test_a_bundle_that_just_fits_a_packet_is_not_cut(spare: int, pieces: int) -> None:
    """SP-101."""
    bench = Bench()
    room = bench.settings.packet_bytes - PACKET_OVERHEAD - PIECE_OVERHEAD - ORDER_OVERHEAD
    bench.submit(body=bytes(room - spare))
    packets = broadcasts(bench.visit(Token(2)))
    assert sum(len(packet.pieces) for packet in packets) == pieces


def test_messages_wait_behind_a_group_change_of_their_own_daemon() -> None:
    """D2: a message is sent in the views that its daemon has delivered."""
    bench = Bench()
    bench.submit(session=1)
    bench.submit(session=2, control=True)
    bench.submit(session=3)
    effects = bench.visit(Token(2))
    sent = [one.session for packet in broadcasts(effects) for one in packet.pieces]
    assert sent == [1, 2]
    token = passed(effects)
    assert token.last_change == position(2, 0)
    token = Token(5, 1, 0, flow=1, site_sequence=2, site_stamp=2, last_change=token.last_change)
    sent = [one.session for packet in broadcasts(bench.visit(token)) for one in packet.pieces]
    assert sent == [3]


def test_messages_wait_for_a_group_change_that_did_not_come_yet() -> None:
    """D2: another daemon's change is on the token, and not delivered here; changes go on."""
    bench = Bench()
    bench.submit(session=1)
    bench.submit(session=2, control=True)
    token = Token(2, 1, 0, site_sequence=1, site_stamp=1, last_change=position(1, 0))
    sent = [one.session for packet in broadcasts(bench.visit(token)) for one in packet.pieces]
    assert sent == [2]


def test_nothing_of_clients_leaves_before_the_group_state_is_common() -> None:
    """D2, D7: the daemon's own state goes first and alone."""
    bench = Bench()
    bench.ring.settled = False
    bench.submit()
    bench.put_state(b"state")
    sent = [one for packet in broadcasts(bench.visit(Token(2))) for one in packet.pieces]
    assert [(one.session, one.data) for one in sent] == [(0, b"state")]


def test_group_state_is_numbered_when_it_leaves_and_replaced_when_it_does_not() -> None:
    bench = Bench()
    bench.put_state(b"never sent")
    bench.put_state(b"first")
    first = [one for packet in broadcasts(bench.visit(Token(2))) for one in packet.pieces]
    assert [(one.number, one.data) for one in first] == [(1, b"first")]


def test_what_waits_is_told_apart_by_what_may_leave() -> None:
    outbox = Outbox(400, 4, 256)
    assert not outbox.waiting(settled=True)
    outbox.push(bundle(1, 1), 0)
    assert outbox.waiting(settled=True) and not outbox.waiting(settled=False)
    outbox.put_state(bundle(1, 1))
    assert outbox.waiting(settled=False)
    outbox.restart()
    assert not outbox.waiting(settled=False) and outbox.waiting(settled=True)


@pytest.mark.parametrize(
    "wrong",
    [
        {"packet_bytes": 100},
        {"packet_bytes": 65_508},
        {"member_packets_max": 161},
        {"window_packets_low": 1600},
        {"token_loss_us": 90_000},
    ],
    ids=lambda wrong: "".join(wrong),
)
def test_settings_that_cannot_work_are_a_mistake_of_the_configuration(
    wrong: dict[str, int],
) -> None:
    """Each names its key, and what to do."""
    with pytest.raises(ConfigError) as caught:
        replaced(StreamSettings(), **wrong)
    assert caught.value.key in wrong
    assert caught.value.what and caught.value.remedy
