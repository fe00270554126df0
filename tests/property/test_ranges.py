"""RangeSet against a set of integers."""

from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.ranges import RangeSet

VALUES = st.integers(1, 40)
STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "add_run", "remove_run", "update"]), VALUES, VALUES),
    max_size=30,
)


def play(steps: list[tuple[str, int, int]]) -> tuple[RangeSet, set[int]]:
    tested, model = RangeSet(), set[int]()
    for what, first, last in steps:
        run = range(first, last + 1)
        match what:
            case "add":
                tested.add(first)
                model.add(first)
            case "add_run":
                tested.add_run(first, last)
                model |= {*run}
            case "remove_run":
                tested.remove_run(first, last)
                model -= {*run}
            case "update":
                tested.update(RangeSet([(first, first), (last, last)]))
                model |= {first, last}
    return tested, model


@given(STEPS)
def test_it_holds_what_a_set_would_hold(steps: list[tuple[str, int, int]]) -> None:
    tested, model = play(steps)
    assert list(tested) == sorted(model)
    assert len(tested) == len(model)
    assert bool(tested) == bool(model)
    assert [value for value in range(-1, 43) if value in tested] == sorted(model)
    if model:
        assert (tested.first(), tested.last()) == (min(model), max(model))


@given(STEPS)
def test_its_runs_are_sorted_and_apart(steps: list[tuple[str, int, int]]) -> None:
    runs = list(play(steps)[0].runs())
    assert all(first <= last for first, last in runs)
    assert all(one[1] + 1 < other[0] for one, other in zip(runs, runs[1:], strict=False))


@given(STEPS, VALUES, VALUES)
def test_gaps_are_what_is_not_there(
    steps: list[tuple[str, int, int]], first: int, last: int
) -> None:
    tested, model = play(steps)
    assert list(tested.gaps(first, last)) == sorted({*range(first, last + 1)} - model)


@given(STEPS, STEPS)
def test_equal_sets_are_equal_whatever_their_story(
    some: list[tuple[str, int, int]], others: list[tuple[str, int, int]]
) -> None:
    one, one_model = play(some)
    other, other_model = play(others)
    assert (one == other) == (one_model == other_model)
    assert one == RangeSet(one.runs())


@given(STEPS, VALUES)
def test_a_copy_goes_its_own_way(steps: list[tuple[str, int, int]], value: int) -> None:
    tested, model = play(steps)
    twin = tested.copy()
    twin.remove_run(value, value)
    twin.add(41)
    assert list(tested) == sorted(model)
    assert list(twin) == sorted((model - {value}) | {41})
