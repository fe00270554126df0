"""Names as numbers, and slices of the order."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from antiphon.pipeline.verify.events import NUMBER_BITS
from antiphon.pipeline.verify.names import distinct, hashed, list_numbers, mixed, within
from antiphon.pipeline.verify.slices import Slices, slice_table

words = st.integers(0, 2**64 - 1)


@given(st.lists(st.tuples(words, words, words), min_size=1, unique=True))
def test_rows_and_facts_name_alike(names: list[tuple[int, int, int]]) -> None:
    found = hashed(names)
    columns = [np.array(column, np.uint64).view(np.int64) for column in zip(*names, strict=True)]
    assert (mixed(*columns) == found).all()
    assert len(set(found.tolist())) == len(names)


def test_nothing_has_no_number() -> None:
    assert len(mixed(3, np.empty(0, np.int64))) == 0
    assert hashed([]).tolist() == []


@given(st.lists(st.lists(st.integers(0, 3), max_size=3), min_size=1))
def test_lists_are_alike_if_their_items_are_in_order(lists: list[list[int]]) -> None:
    counts = np.array([len(one) for one in lists])
    items = np.array([item for one in lists for item in one], np.int64)
    numbers = list_numbers(np.cumsum(counts) - counts, counts, items).tolist()
    for one, number in zip(lists, numbers, strict=True):
        assert (number == 0) == (one == [])
        for other, another in zip(lists, numbers, strict=True):
            assert (number == another) == (one == other)


@given(st.lists(st.integers(0, 5)))
def test_each_run_counts_from_nothing(counts: list[int]) -> None:
    expected = [place for count in counts for place in range(count)]
    assert within(np.array(counts, np.int64)).tolist() == expected


@given(st.lists(st.integers(-9, 9)))
def test_each_value_once(values: list[int]) -> None:
    assert distinct(np.array(values, np.int64)).tolist() == sorted(set(values))


@given(st.lists(st.integers(1, 3), min_size=1, max_size=30))
def test_a_message_is_in_the_slice_of_its_stamp(senders: list[int]) -> None:
    """Messages are stamped one after another, five to a slice."""
    stamps = np.arange(len(senders))
    part = stamps // 5
    origin = np.array(senders)
    number = np.array([senders[:at].count(who) + 1 for at, who in enumerate(senders)]) * 2
    first: dict[tuple[int, int], int] = {}
    for who, where, one in zip(senders, part.tolist(), number.tolist(), strict=True):
        first.setdefault((who, where), one)
    told = np.array([(*at, one) for at, one in first.items()], np.int64).T
    slices = Slices(int(part.max()) + 1, *slice_table(*told, 4))
    assert (slices.of((origin << NUMBER_BITS) + number) == part).all()
