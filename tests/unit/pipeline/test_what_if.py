"""What overlays cost, on a square with one long side (SP-107, SP-111, SP-113)."""

import tomllib
from typing import Any

import pytest

from antiphon.pipeline.overlay.what_if import broken_lines, compare, configuration, weights_of

SQUARE = {
    ("a", "b"): 10,
    ("b", "c"): 20,
    ("c", "d"): 10,
    ("a", "c"): 25,
    ("b", "d"): 25,
    ("a", "d"): 100,
    ("d", "a"): 200,
}


def rows(shape: str) -> dict[str, dict[str, Any]]:
    names, table = weights_of(SQUARE)
    return {row["source"]: row for row in compare(names, table) if row["shape"] == shape}


def test_a_way_measured_once_counts_for_both_directions() -> None:
    names, table = weights_of(SQUARE)
    assert names == ["a", "b", "c", "d"]
    cost = {(names[one], names[other]): weight for one, other, weight in table.edges}
    assert cost["b", "a"] == 10
    assert (cost["a", "d"], cost["d", "a"]) == (100, 200)


def test_the_measured_tree_goes_around_a_long_line() -> None:
    found = rows("measured")
    assert found["a"]["worst_ms"] == 3.5  # to d by b, or by c: not 10.0
    assert found["a"]["reached"] == 3
    assert rows("fan-out")["a"]["worst_ms"] == 10.0
    assert rows("fan-out")["a"]["sent_by_source"] == 3


def test_a_tree_for_all_and_a_chain_use_the_short_lines() -> None:
    """a - b - c - d in both."""
    for shape in ("tree", "chain"):
        assert rows(shape)["a"]["worst_ms"] == 4.0
        assert rows(shape)["a"]["sent_by_source"] == 1


def test_what_is_left_when_a_line_breaks() -> None:
    names, table = weights_of(SQUARE)
    found = {row["broken"]: row for row in broken_lines(names, table)}
    assert "a - d" not in found  # no tree uses it
    assert found["a - b"]["apart"] == "no"
    assert found["a - b"]["detour_ms"] == 3.5  # by c: 45 in place of 10
    names, table = weights_of({("a", "b"): 10, ("b", "c"): 10})
    assert [row["apart"] for row in broken_lines(names, table)] == ["yes", "yes"]


def test_shapes_need_every_line() -> None:
    names, table = weights_of({("a", "b"): 10, ("b", "c"): 10})
    assert {row["shape"] for row in compare(names, table)} == {"measured"}


@pytest.mark.parametrize("ways", [SQUARE, {("x", "y"): 7}])
def test_the_configuration_says_the_same(ways: dict[tuple[str, str], int]) -> None:
    names, table = weights_of(ways)
    told = tomllib.loads(configuration(names, table))
    again = {}
    for edge in told["edge"]:
        one, other = edge["between"]
        again[one, other] = edge["weight"]
        again[other, one] = edge["weight_back"]
    assert weights_of(again) == (names, table)
