"""The parts of the planner of regions that need no Spark."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from antiphon.pipeline.regions.cost import Prices
from antiphon.pipeline.regions.merging import Draft, merge_regions
from antiphon.pipeline.regions.nearest import Index

CHEAP_CONTROL = Prices(loss=0.0, token=0.01)

Interests = st.lists(st.sets(st.integers(0, 12), min_size=1), min_size=1, max_size=12)


def draft(at: int, size: int, *groups: int) -> Draft:
    return Draft(size, dict.fromkeys(groups, size), [at])


def flat(rows: list[set[int]]) -> tuple[np.ndarray, np.ndarray]:
    lengths = np.array([len(row) for row in rows], np.int64)
    return lengths, np.array([one for row in rows for one in sorted(row)], np.int64)


def jaccard(one: set[int], other: set[int]) -> float:
    return len(one & other) / len(one | other)


@given(Interests, Interests)
def test_the_nearest_is_the_most_similar(large: list[set[int]], small: list[set[int]]) -> None:
    found = Index([sorted(each) for each in large]).nearest(*flat(small))
    for row, at in zip(small, found.tolist(), strict=True):
        assert jaccard(row, large[at]) == max(jaccard(row, each) for each in large)


@given(Interests)
def test_neighbours_share_something_and_are_not_oneself(rows: list[set[int]]) -> None:
    told = [sorted(row) for row in rows]
    for one, other in Index(told).neighbours(told, 3):
        assert one != other
        assert rows[one] & rows[other]


def test_regions_that_want_the_same_are_merged() -> None:
    """A region the less is a message and a token the less, and nobody gets what it did not
    want."""
    drafts = [draft(0, 10, 1, 2), draft(1, 20, 1, 2), draft(2, 10, 8, 9)]
    merged = merge_regions(drafts, [(0, 1), (1, 2)], {}, CHEAP_CONTROL, None)
    assert [(one.size, sorted(one.parts)) for one in merged] == [(10, [2]), (30, [0, 1])]


def test_a_busy_group_keeps_regions_apart() -> None:
    """Half of the nodes would hear a hundred messages a second for nothing."""
    drafts = [draft(0, 50, 1, 2), draft(1, 50, 1, 2, 3)]
    assert len(merge_regions(drafts, [(0, 1)], {3: 100.0}, CHEAP_CONTROL, None)) == 2
    assert len(merge_regions(drafts, [(0, 1)], {3: 0.01}, CHEAP_CONTROL, None)) == 1


def test_the_bound_is_kept_whatever_it_costs() -> None:
    drafts = [draft(at, at + 1, 10 * at) for at in range(6)]
    merged = merge_regions(drafts, [], {}, CHEAP_CONTROL, 2)
    assert len(merged) == 2
    assert sum(one.size for one in merged) == 21
    assert sorted(part for one in merged for part in one.parts) == list(range(6))


def test_the_cheapest_pair_goes_first() -> None:
    drafts = [draft(0, 5, 1, 2, 3, 4), draft(1, 5, 1, 2, 3, 5), draft(2, 5, 1, 7, 8, 9)]
    merged = merge_regions(drafts, [(0, 1), (0, 2), (1, 2)], {}, CHEAP_CONTROL, 2)
    assert sorted(sorted(one.parts) for one in merged) == [[0, 1], [2]]


def test_prices_count_repairs() -> None:
    """Half of all packets are lost: on average each comes after one repair."""
    prices = Prices(send=1.0, receive=1.0, loss=0.5)
    assert prices.arrive == 2.0
    assert prices.to_region(3) == 7.0
    assert prices.to_members(3) == 9.0
