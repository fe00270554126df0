"""Whether many sequences agree on one order, against trying all orders."""

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from antiphon.check.disputes import find_dispute, ranks
from antiphon.check.history import Daemon
from antiphon.core.ids import DaemonId, Incarnation, Member

SEQUENCES = st.lists(st.lists(st.integers(0, 4), unique=True), max_size=5)


def follows(sequence: list[int], order: tuple[int, ...]) -> bool:
    return [number for number in order if number in sequence] == sequence


@given(SEQUENCES)
def test_an_order_is_found_when_there_is_one(sequences: list[list[int]]) -> None:
    possible = any(
        all(follows(sequence, order) for sequence in sequences) for order in permutations(range(5))
    )
    rank = ranks(sequences)
    assert (rank is not None) == possible
    if rank is not None:
        for sequence in sequences:
            assert sorted(sequence, key=rank.__getitem__) == sequence


@given(SEQUENCES)
def test_a_dispute_is_a_true_circle_and_as_short_as_can_be(sequences: list[list[int]]) -> None:
    parties = [
        (Daemon(Member(DaemonId(number), Incarnation(1))), sequence)
        for number, sequence in enumerate(sequences, 1)
    ]
    said = {process: sequence for process, sequence in parties}
    dispute = find_dispute(parties)
    assert (dispute is None) == (ranks(sequences) is not None)
    if dispute is None:
        return
    for (process, one, other), following in zip(dispute, dispute[1:] + dispute[:1], strict=True):
        assert said[process].index(one) < said[process].index(other)
        assert following[1] == other
    inverted = any(
        one in b and other in b and b.index(one) > b.index(other)
        for a in sequences
        for b in sequences
        for place, one in enumerate(a)
        for other in a[place:]
    )
    assert (len(dispute) == 2) == inverted
