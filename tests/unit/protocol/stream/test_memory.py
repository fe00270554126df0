"""Nothing grows with time: what a ring remembers of sessions that came and went (P4)."""

from antiphon.core.effects import Emit, Forget
from antiphon.core.service import Service
from antiphon.core.trace import Kind, Level
from antiphon.protocol.stream.assembly import SESSIONS_MAX, TOKEN_LIFE, DuplicateFilter
from antiphon.protocol.stream.delivery import MARKS_MAX, Delivery
from antiphon.wire.pieces import Piece, Token
from antiphon.wire.ring import LAST
from tests.unit.protocol.stream.bench import Bench, Loop, bundle, delivered, piece
from tests.unit.protocol.stream.test_stream import Machine


def test_a_delivery_forgets_sessions_that_lie_behind() -> None:
    """SP-61, P4: FIFO costs little per session, and nothing for one that is gone."""
    delivery = Delivery()
    for sequence in range(1, 20 * MARKS_MAX):
        one = bundle(1, 1, Service.FIFO, session=sequence)
        one.sequence = one.stamp = sequence
        assert delivery.add(one)
        delivery.take()
        delivery.make_stable(sequence)
        delivery.release()
    assert len(delivery.own.marks) <= MARKS_MAX + 1
    assert delivery.own.gaps == {}


def test_a_forgotten_mark_does_not_hold_up_its_session() -> None:
    """The cursor says the same."""
    delivery = Delivery()
    for sequence in range(1, 2 * MARKS_MAX):
        one = bundle(1, 1, Service.FIFO, session=sequence)
        one.sequence = one.stamp = sequence
        delivery.add(one)
    delivery.take()
    delivery.make_stable(2 * MARKS_MAX)
    delivery.release()
    late = bundle(1, 2, Service.FIFO, session=3)
    late.sequence = late.stamp = 2 * MARKS_MAX + 5  # with a hole before it
    late.previous = 3
    delivery.add(late)
    assert [one.sequence for one in delivery.take()] == [late.sequence]


def test_what_was_released_is_not_kept_again() -> None:
    """D1, P4: a late copy of what everybody has."""
    delivery = Delivery()
    one = bundle(1, 1, Service.RELIABLE)
    one.sequence = one.stamp = 1
    delivery.add(one)
    assert len(delivery.take()) == 1
    delivery.make_stable(1)
    delivery.release()
    delivery.add(one)
    assert delivery.own.held == {} and delivery.take() == []


def test_the_filter_forgets_sessions_that_are_silent() -> None:
    """SP-54, P4: what is older is refused by its token sequence."""
    seen = DuplicateFilter()
    for number in range(20 * SESSIONS_MAX):
        one = bundle(1, 1, Service.UNRELIABLE, session=number)
        assert seen.first_time(one, 10 * number)
    assert len(seen._seen) <= SESSIONS_MAX + TOKEN_LIFE // 10 + 1
    recent = range(20 * SESSIONS_MAX - TOKEN_LIFE // 10 + 5, 20 * SESSIONS_MAX)
    for number in recent:
        assert not seen.first_time(bundle(1, 1, Service.UNRELIABLE, session=number), 1)


def test_an_unreliable_packet_is_too_late_after_many_hops_of_the_token() -> None:
    """SP-54: nobody remembers any more whether it came."""
    bench = Bench()
    bench.visit(Token(TOKEN_LIFE + 2))
    loose = Piece(LAST, Service.UNRELIABLE, 1, 1, 1, 0, b"old")
    raw = bench.packet(1, 0, loose, token_sequence=2)
    assert bench.drop_or_hear(raw) == "too_late"
    fresh = bench.packet(1, 0, loose, token_sequence=TOKEN_LIFE)
    assert len(delivered(bench.hear(fresh))) == 1


def test_a_session_that_ended_leaves_nothing_in_the_ring() -> None:
    machine = Machine()
    ring = machine.stream._ring
    assert ring is not None
    stamping = ring.stamping
    stamping._last[7] = 3
    stamping._past[7] = (3, 0)
    stamping.reaching._sent[7] = [3]
    assert machine.tell(Forget(7)) == []
    assert not stamping._last and not stamping._past and not stamping.reaching._sent


def test_buffers_are_told_as_they_grow() -> None:
    """P4: judged from the records."""
    bench = Bench(level=Level.ALL)
    rows = []
    for visit in range(6):
        for link in range(10 * visit + 1, 10 * visit + 11):
            bench.hear(bench.packet(1, link, piece(link)))
        top = 10 * visit + 10
        told = {"site_sequence": top, "site_stamp": top}
        effects = bench.visit(Token(2 + 3 * visit, top, 0, **told))
        rows += [one.record for one in effects if isinstance(one, Emit)]
    buffers = [row for row in rows if row.kind == Kind.BUFFERS]
    assert buffers[0].value == 10
    assert 2 <= len(buffers) < 6, "not every time"
    assert {row.limit for row in buffers} == {bench.settings.buffered_packets_max}


def test_the_end_of_a_burst_leaves_nothing_behind() -> None:
    """SP-69, SP-192: windows and bundles are empty when all is stable."""
    loop = Loop(members=3)
    for number in loop.benches:
        for session in range(1, 30):
            loop.submit(number, Service(session % 6), bytes(session * 20), session)
    loop.run(500_000)
    for bench in loop.benches.values():
        ring = bench.ring
        assert ring._window.packets == {}
        assert ring.delivery.own.held == {}
        assert ring._assembly._ordered == {}
        assert ring._assembly._unreliable == {}
        assert ring.delivery._waiting == {}
        assert not ring.delivery.own.ahead
