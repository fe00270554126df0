"""Messages, as many at a time as no record tells apart."""

from hypothesis import given
from hypothesis import strategies as st

from antiphon.check.pieces import Cutter, indexes
from antiphon.core.ids import DaemonId, Incarnation, SessionId
from antiphon.core.trace import Kind, Record

RUNS = st.lists(
    st.tuples(st.integers(1, 2), st.integers(0, 1), st.integers(1, 20), st.integers(1, 8)),
    max_size=12,
)


def named(session: int, service: int, first: int, count: int) -> Record:
    origin = SessionId(DaemonId(1), Incarnation(1), session)
    node = DaemonId(1)
    return Record(Kind.SEND, 1, node, origin=origin, service=service, first=first, count=count)


@given(RUNS)
def test_the_pieces_of_a_run_are_its_messages_in_order(
    wanted: list[tuple[int, int, int, int]],
) -> None:
    cutter = Cutter()
    runs = [cutter.run(named(*each)) for each in wanted]
    pieces = cutter.cut()
    assert [piece.index for piece in pieces] == list(range(len(pieces)))
    for run, (session, service, first, count) in zip(runs, wanted, strict=True):
        numbers = [
            number
            for piece in run.pieces
            for number in range(piece.first, piece.first + piece.count)
        ]
        assert numbers == list(range(first, first + count))
        assert indexes(run.mask) == sorted(piece.index for piece in run.pieces)
        assert all(piece.origin.number == session for piece in run.pieces)
        assert all(piece.unreliable == (service == 0) for piece in run.pieces)


@given(RUNS)
def test_a_message_belongs_to_one_piece(wanted: list[tuple[int, int, int, int]]) -> None:
    cutter = Cutter()
    for each in wanted:
        cutter.run(named(*each))
    seen = [
        (piece.origin, piece.unreliable, number)
        for piece in cutter.cut()
        for number in range(piece.first, piece.first + piece.count)
    ]
    assert len(seen) == len(set(seen))


@given(st.sets(st.integers(0, 300)))
def test_the_bits_of_a_mask_are_listed_from_the_lowest(numbers: set[int]) -> None:
    assert indexes(sum(1 << number for number in numbers)) == sorted(numbers)
