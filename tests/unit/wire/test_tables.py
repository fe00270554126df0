"""Bodies that refer to a table, and the same messages by name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import DecodeError
from antiphon.wire.body import DESTINATIONS_MAX, pack_head, read_body, read_head, referring_parts
from antiphon.wire.tables import NAMES_BYTES_MAX, PLACES_MAX, cuts, named, names_bytes

names = st.text("abcß", min_size=1, max_size=6)
destinations = st.lists(names, min_size=1, max_size=3).map(tuple)


def referring(places: list[int]) -> bytes:
    payloads = [b"%d" % at for at in range(len(places))]
    return b"".join(referring_parts(places, [-1] * len(places), payloads, "ann"))


@given(st.lists(destinations, min_size=1, max_size=30), st.data())
def test_messages_are_the_same_by_name(table: list[tuple[str, ...]], data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(table) - 1), min_size=1, max_size=40))
    body = read_body(referring(places), len(places), tuple(table))
    assert body.refers and body.destinations == tuple(places)
    assert set(body.names) == {name for place in places for name in table[place]}
    found = []
    for first, end, packed in named(body):
        part = read_body(packed, end - first)
        assert not part.refers and part.sender == "ann" and part.kinds == (-1,) * (end - first)
        groups = [part.table[where] for where in part.destinations]
        found += list(zip(groups, part.payloads, strict=True))
    assert found == [(table[place], b"%d" % at) for at, place in enumerate(places)]


@pytest.mark.parametrize(
    "table",
    [
        [(f"g{number}",) for number in range(3 * DESTINATIONS_MAX)],
        [tuple(f"{number} {at}".ljust(250, "x") for at in range(100)) for number in range(8)],
    ],
)
def test_heads_that_would_be_too_long_are_cut(table: list[tuple[str, ...]]) -> None:
    places = [*range(len(table)), *range(len(table))]
    parts = list(cuts(places, table))
    assert len(parts) > 3 and parts[0][0] == 0 and parts[-1][1] == len(places)
    for (_, end, _), (first, _, _) in zip(parts, parts[1:], strict=False):
        assert end == first
    for first, end, numbers in parts:
        assert {*numbers} == {*places[first:end]} and [*numbers.values()] == [*range(len(numbers))]
        assert len(numbers) <= DESTINATIONS_MAX
        assert sum(names_bytes(table[place]) for place in numbers) <= NAMES_BYTES_MAX
        read_head(pack_head("s" * 64, tuple(table[place] for place in numbers)))


@pytest.mark.parametrize("size", [1, 255, 256, 257, 300, 512, PLACES_MAX])
def test_a_place_behind_the_end_is_refused(size: int) -> None:
    table = tuple((f"g{number}",) for number in range(size))
    fine = [0, size - 1, size // 2]
    assert read_body(referring(fine), 3, table).destinations == tuple(fine)
    for place in {size, (size | 0xFF) + 1, 0xFFFF}:
        with pytest.raises(DecodeError) as refused:
            read_body(referring([0, place, 0]), 3, table)
        assert refused.value.reason == "bad_field"


@given(st.integers(1, 600), st.lists(st.integers(0, 0xFFFF), min_size=1, max_size=8), st.data())
def test_one_place_behind_the_end_is_seen_among_any_others(
    size: int, places: list[int], data: st.DataObject
) -> None:
    table = tuple((f"g{number}",) for number in range(size))
    places += data.draw(st.lists(st.integers(0, size - 1), max_size=8))
    places = data.draw(st.permutations(places))
    if max(places) < size:
        assert read_body(referring(places), len(places), table).destinations == tuple(places)
    else:
        with pytest.raises(DecodeError, match="bad_field"):
            read_body(referring(places), len(places), table)


def test_who_has_defined_nothing_cannot_refer() -> None:
    with pytest.raises(DecodeError):
        read_body(referring([0]), 1)


def test_places_that_are_cut_off_are_refused() -> None:
    raw = referring([0] * 300)
    with pytest.raises(DecodeError):
        read_body(raw[: 4 + 7 + 599], 100, (("g",),))
