"""Trees over the sites: one for each source, the same at every daemon (SP-107 to SP-110).

All-pairs shortest paths over directed weights, then for each source the tree of its shortest
paths. Between equal costs the path with fewer sites wins, then the one that is lower as a list:
every beginning of such a path is one too, so they form a tree.
"""

from collections.abc import Iterable
from functools import lru_cache

from antiphon.core.machine import NEVER
from antiphon.core.weights import SiteId, Weights

UNREACHABLE = NEVER


class Tree:
    """The way of everything that one site sends."""

    __slots__ = ("source", "parents", "children", "_below")

    def __init__(self, source: SiteId, parents: dict[SiteId, SiteId]) -> None:
        self.source = source
        self.parents = parents
        """In order of distance from the source, which has none itself."""

        children: dict[SiteId, list[SiteId]] = {site: [] for site in (source, *parents)}
        below: dict[SiteId, set[SiteId]] = {site: {site} for site in children}
        for site, parent in parents.items():
            children[parent].append(site)
        for site, parent in reversed(parents.items()):
            below[parent] |= below[site]
        self.children = {site: tuple(sorted(each)) for site, each in children.items()}
        self._below = {site: frozenset(each) for site, each in below.items()}

    @property
    def sites(self) -> frozenset[SiteId]:
        return self._below[self.source]

    def below(self, site: SiteId) -> frozenset[SiteId]:
        """The site itself and all that hear the source through it: a branch is pruned if
        none of them wants the message (SP-120)."""
        return self._below[site]

    def path(self, to: SiteId) -> tuple[SiteId, ...]:
        """From the source, both ends included."""
        steps = [to]
        while steps[-1] != self.source:
            steps.append(self.parents[steps[-1]])
        return tuple(reversed(steps))


class Overlay:
    """Made once for a set of sites and their weights; trees are made when asked for."""

    def __init__(self, table: Weights) -> None:
        self.sites = table.sites
        self._place = {site: place for place, site in enumerate(table.sites)}
        self._into: list[list[tuple[int, int]]] = [[] for _ in table.sites]
        """Per site: from which other one at what weight."""

        for one, other, weight in table.edges:
            self._into[self._place[other]].append((self._place[one], weight))
        self._costs = all_pairs(self._into)
        self._trees: dict[SiteId, Tree] = {}

    def cost(self, source: SiteId, to: SiteId) -> int:
        """UNREACHABLE if there is no way at all."""
        return self._costs[self._place[source]][self._place[to]]

    def tree(self, source: SiteId) -> Tree:
        if source not in self._trees:
            self._trees[source] = self._shortest(source)
        return self._trees[source]

    def reached(self, source: SiteId) -> frozenset[SiteId]:
        """A pair that cannot talk is routed around; only who is cut off from all is missing."""
        return self.tree(source).sites

    def next_hop(self, site: SiteId, to: SiteId) -> SiteId:
        """Where a message of `site` itself goes first."""
        return self.tree(site).path(to)[1]

    def links(self) -> tuple[tuple[SiteId, SiteId], ...]:
        """Pairs of sites, the lower one first, that some tree joins: these need a link."""
        steps = (step for source in self.sites for step in self.tree(source).parents.items())
        return tuple(sorted({(min(step), max(step)) for step in steps}))

    def _shortest(self, source: SiteId) -> Tree:
        root = self._place[source]
        costs = self._costs[root]
        paths: dict[int, tuple[int, tuple[int, ...]]] = {root: (0, (root,))}
        parents: dict[SiteId, SiteId] = {}
        near_first = sorted(range(len(self.sites)), key=costs.__getitem__)
        for place in near_first:
            if place == root or costs[place] >= UNREACHABLE:
                continue
            cost = costs[place]
            # Weights are positive, so whoever is before this site on the way is nearer.
            hops, way = min(
                paths[before]
                for before, weight in self._into[place]
                if costs[before] + weight == cost
            )
            paths[place] = (hops + 1, (*way, place))
            parents[self.sites[place]] = self.sites[way[-1]]
        return Tree(source, parents)


def overlay_of(segments: int, edges: Iterable[tuple[int, int, int]]) -> Overlay:
    """Of the segments of a configuration, which are counted from 0."""
    sites = tuple(SiteId(number) for number in range(segments))
    ways = ((SiteId(one), SiteId(other), weight) for one, other, weight in edges)
    return _overlay(Weights(sites, tuple(sorted(ways))))


@lru_cache(maxsize=8)
def _overlay(table: Weights) -> Overlay:
    """Several ask for the same one when a configuration begins."""
    return Overlay(table)


def all_pairs(into: list[list[tuple[int, int]]]) -> list[list[int]]:
    """Floyd and Warshall: the least cost from each to each (SP-109)."""
    size = len(into)
    costs = [[UNREACHABLE] * size for _ in range(size)]
    for to in range(size):
        costs[to][to] = 0
        for source, weight in into[to]:
            costs[source][to] = weight
    for through in range(size):
        onward = costs[through]
        for row in costs:
            first = row[through]
            if first < UNREACHABLE:
                row[:] = [
                    cost if cost <= first + rest else first + rest
                    for cost, rest in zip(row, onward, strict=True)
                ]
    return costs
