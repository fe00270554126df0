"""LinkWindow against a set of sequences."""

from hypothesis import given
from hypothesis import strategies as st

from antiphon.protocol.stream.window import LinkWindow, joined_requests

STEPS = st.lists(
    st.tuples(st.sampled_from(["store", "store", "store", "learn", "release"]), st.integers(1, 25)),
    max_size=50,
)
RUNS = st.lists(
    st.tuples(st.integers(1, 30), st.integers(0, 4)).map(lambda run: (run[0], run[0] + run[1])),
    max_size=8,
)


class DumbWindow:
    def __init__(self) -> None:
        self.received: set[int] = set()
        self.known = 0
        self.released = 0

    @property
    def contiguous(self) -> int:
        end = 0
        while end + 1 in self.received:
            end += 1
        return end

    @property
    def highest(self) -> int:
        return max({*self.received, self.known, 0})


@given(STEPS)
def test_it_keeps_what_a_set_would_keep(steps: list[tuple[str, int]]) -> None:
    """SP-177, SP-192: packets are kept until everybody has them; SP-244: what was sent and
    did not come is missing, and nothing else."""
    tested, model = LinkWindow(), DumbWindow()
    for what, amount in steps:
        if what == "store":
            new = amount not in model.received
            assert tested.store(amount, b"%d" % amount) == new
            model.received.add(amount)
        elif what == "learn":
            tested.learn(amount)
            model.known = max(model.known, amount)
        else:
            tested.release(amount)
            model.released = max(model.released, min(amount, model.contiguous))
        assert (tested.contiguous, tested.highest) == (model.contiguous, model.highest)
        assert tested.released == model.released
        kept = {one for one in model.received if one > model.released}
        assert tested.packets == {one: b"%d" % one for one in kept}


@given(STEPS, st.integers(0, 30), st.integers(1, 4))
def test_missing_names_the_first_runs_that_did_not_come(
    steps: list[tuple[str, int]], upto: int, runs_max: int
) -> None:
    tested, received = LinkWindow(), set[int]()
    for what, amount in steps:
        if what == "store":
            tested.store(amount, b"")
            received.add(amount)
    missing = [one for one in range(1, upto + 1) if one not in received]
    runs = tested.missing(upto, runs_max)
    named = [one for first, last in runs for one in range(first, last + 1)]
    assert named == missing[: len(named)]
    assert len(runs) <= runs_max
    if len(runs) < runs_max:
        assert named == missing


@given(RUNS, RUNS, st.integers(1, 64))
def test_joined_requests_are_sorted_apart_and_ask_for_both(
    some: list[tuple[int, int]], others: list[tuple[int, int]], runs_max: int
) -> None:
    """SP-179: a token's list is one that every member accepts."""
    joined = joined_requests(some, others, runs_max)
    named = [one for first, last in joined for one in range(first, last + 1)]
    wanted = {one for first, last in some + others for one in range(first, last + 1)}
    assert len(joined) <= runs_max
    assert all(one[1] + 1 < other[0] for one, other in zip(joined, joined[1:], strict=False))
    assert named == sorted(wanted)[: len(named)]
    if len(joined) < runs_max:
        assert named == sorted(wanted)
