"""Trees over sites: shortest, whole, and the same for everybody."""

from collections.abc import Callable, Sequence
from itertools import permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import ConfigError
from antiphon.core.overlay import UNREACHABLE, Overlay
from antiphon.core.weights import (
    LAST_RESORT,
    WEIGHT_MAX,
    SiteId,
    Weights,
    among,
    chain,
    fan_out,
    frozen,
    imposed,
    measured_weight,
    ring,
    shared_tree,
    without,
)

Edges = dict[tuple[SiteId, SiteId], int]


def sites(*numbers: int) -> list[SiteId]:
    return [SiteId(number) for number in numbers]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[SiteId], Edges]:
    """Sites, and edges in both directions with weights of their own, many of them equal."""
    found = draw(st.lists(st.integers(1, 50), min_size=1, max_size=8, unique=True))
    weights: Edges = {}
    for one, other in permutations(sites(*found), 2):
        if one < other and draw(st.booleans()):
            weights[one, other] = draw(st.integers(1, 4))
            weights[other, one] = draw(st.integers(1, 4))
    return sites(*found), weights


def every_path(weights: Edges, source: SiteId, to: SiteId) -> list[tuple[int, tuple[SiteId, ...]]]:
    """By brute force: what each path without circles costs."""
    found = []
    waiting = [(0, (source,))]
    while waiting:
        cost, path = waiting.pop()
        if path[-1] == to:
            found.append((cost, path))
            continue
        for (one, other), weight in weights.items():
            if one == path[-1] and other not in path:
                waiting.append((cost + weight, (*path, other)))
    return found


@given(graphs())
def test_every_tree_spans_what_can_be_reached_over_shortest_paths(
    graph: tuple[list[SiteId], Edges],
) -> None:
    """SP-107 to SP-109, X-01: of equal costs fewer hops, then the lower path."""
    known, weights = graph
    overlay = Overlay(frozen(known, weights))
    for source in known:
        tree = overlay.tree(source)
        for to in known:
            paths = every_path(weights, source, to)
            assert (to in tree.sites) == bool(paths)
            if not paths:
                assert overlay.cost(source, to) == UNREACHABLE
                continue
            cost, _, path = min((cost, len(path), path) for cost, path in paths)
            assert (overlay.cost(source, to), tree.path(to)) == (cost, path)
            if to != source:
                assert overlay.next_hop(source, to) == path[1]
                assert to in tree.children[tree.parents[to]]


@given(graphs(), st.randoms(use_true_random=False))
def test_the_trees_do_not_depend_on_the_order_in_which_things_are_said(
    graph: tuple[list[SiteId], Edges], random: Random
) -> None:
    """SP-44, SP-110: everybody computes the same."""
    known, weights = graph
    table = frozen(known, weights)
    mixed_sites = random.sample(known, len(known))
    mixed = dict(random.sample([*weights.items()], len(weights)))
    assert frozen(mixed_sites, mixed) == table
    one, other = Overlay(table), Overlay(frozen(mixed_sites, mixed))
    for source in known:
        assert one.tree(source).parents == other.tree(source).parents
        assert one.tree(source).children == other.tree(source).children


@given(graphs())
def test_the_branches_below_a_site_are_apart_and_whole(graph: tuple[list[SiteId], Edges]) -> None:
    """SP-120: whoever prunes by branches misses nobody and sends to nobody twice."""
    known, weights = graph
    overlay = Overlay(frozen(known, weights))
    for source in known:
        tree = overlay.tree(source)
        for site in tree.sites:
            branches = [tree.below(child) for child in tree.children[site]]
            assert sum(map(len, branches)) + 1 == len(tree.below(site))
            assert {site}.union(*branches) == tree.below(site)


def test_weights_count_in_their_direction() -> None:
    """SP-112."""
    one, two, three = sites(1, 2, 3)
    weights = dict.fromkeys(permutations((one, two, three), 2), 5)
    weights[one, three] = 20
    overlay = Overlay(frozen([one, two, three], weights))
    assert overlay.tree(one).path(three) == (one, two, three)
    assert overlay.tree(three).path(one) == (three, one)


def test_a_pair_that_cannot_talk_is_routed_around() -> None:
    """SP-200: a detour; somebody is missing only when all ways are cut."""
    known = sites(1, 2, 3, 4)
    table = fan_out(known)
    broken = without(table, [(known[1], known[0])])
    assert Overlay(broken).tree(known[0]).path(known[1]) == (1, 3, 2)
    assert Overlay(broken).reached(known[0]) == {*known}
    alone = without(table, [(known[1], other) for other in known])
    assert Overlay(alone).reached(known[0]) == {1, 3, 4}
    assert Overlay(alone).reached(known[1]) == {2}
    assert Overlay(alone).cost(known[0], known[1]) == UNREACHABLE


def test_only_active_sites_are_in_the_overlay() -> None:
    """SP-111, SP-115: rebuilt for those who are there; X-29: and only then."""
    known = sites(1, 2, 3)
    table = among(chain(known), sites(3, 1))
    assert table.sites == (1, 3)
    assert Overlay(table).tree(known[0]).path(known[2]) == (1, 3)


def test_equal_weights_give_a_fan_out() -> None:
    """SP-114."""
    overlay = Overlay(fan_out(sites(4, 2, 9)))
    assert overlay.tree(SiteId(4)).children == {4: (2, 9), 2: (), 9: ()}
    assert overlay.links() == ((2, 4), (2, 9), (4, 9))


TREE = [(2, 1), (2, 3), (3, 4), (3, 5)]


@pytest.mark.parametrize(
    ("shape", "edges"),
    [
        (lambda known: shared_tree(known, TREE), TREE),
        (chain, [(1, 2), (2, 3), (3, 4), (4, 5)]),
        (ring, [(1, 2), (2, 3), (3, 4), (4, 5), (5, 1)]),
    ],
)
def test_a_shape_is_imposed_by_weights(
    shape: Callable[[Sequence[SiteId]], Weights], edges: list[tuple[int, int]]
) -> None:
    """SP-113: no tree uses another edge; when one is broken, some do, and nobody is lost."""
    known = sites(1, 2, 3, 4, 5)
    overlay = Overlay(shape(known))
    assert overlay.links() == tuple(sorted((min(edge), max(edge)) for edge in edges))
    first, second = edges[0]
    broken = Overlay(without(shape(known), [(SiteId(first), SiteId(second))]))
    assert all(broken.reached(site) == {*known} for site in known)


def test_a_ring_goes_both_ways_round() -> None:
    tree = Overlay(ring(sites(1, 2, 3, 4))).tree(SiteId(1))
    assert tree.path(SiteId(4)) == (1, 4)
    assert tree.path(SiteId(3)) == (1, 2, 3), "as far on either side: the lower path"
    assert Overlay(ring(sites(1, 2))).links() == ((1, 2),)


def test_a_hundred_sites_are_computed_at_once() -> None:
    """X-07: a hundred trees that all span a hundred sites, and shapes far longer than wide."""
    known = sites(*range(1, 101))
    random = Random(1)
    weights = {pair: random.randint(1, 50) for pair in permutations(known, 2)}
    for table in (frozen(known, weights), chain(known)):
        overlay = Overlay(table)
        assert all(len(overlay.tree(source).parents) == 99 for source in known)
    assert overlay.cost(known[0], known[-1]) == 99 < LAST_RESORT


@pytest.mark.parametrize(
    "weights",
    [
        {(1, 1): 1},
        {(1, 3): 1, (3, 1): 1},
        {(1, 2): 0, (2, 1): 1},
        {(1, 2): WEIGHT_MAX + 1, (2, 1): 1},
        {(1, 2): 1},
    ],
)
def test_a_table_that_makes_no_sense_is_refused(weights: Edges) -> None:
    with pytest.raises(ConfigError) as refused:
        frozen(sites(1, 2), weights)
    assert refused.value.key == "weights"


@pytest.mark.parametrize(
    "edges",
    [[(1, 2)], [(1, 2), (2, 1)], [(1, 2), (2, 3), (3, 1)], [(2, 3), (2, 3)], [(1, 2), (3, 4)]],
)
def test_edges_that_are_no_tree_are_refused(edges: list[tuple[SiteId, SiteId]]) -> None:
    with pytest.raises(ConfigError):
        shared_tree(sites(1, 2, 3), edges)


def test_an_imposed_edge_to_nowhere_is_refused() -> None:
    with pytest.raises(ConfigError):
        imposed(sites(1, 2), [(SiteId(1), SiteId(9))])


def test_a_measured_weight_is_time_and_counts_repairs() -> None:
    """SP-247: half the round trip, and for each loss one more."""
    assert measured_weight(104_000, 0.0) == 520
    assert measured_weight(104_000, 0.2) == 780
    assert measured_weight(0, 0.0) == 1
    assert measured_weight(104_000, 2.0) == measured_weight(104_000, 0.9)
    assert measured_weight(10**12, 0.5) == WEIGHT_MAX
