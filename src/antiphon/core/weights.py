"""What it costs to go from one site to another: the table that all members of a configuration
share, and ways to make one.

A table is frozen with its configuration, so everybody computes the same trees (SP-44, SP-110).
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise, permutations
from typing import NamedTuple, NewType

from antiphon.core.errors import ConfigError

SiteId = NewType("SiteId", int)

Pair = tuple[SiteId, SiteId]

WEIGHT_MAX = 2**32 - 1
LAST_RESORT = 1_000_000
"""Of an edge outside an imposed shape: dearer than any way inside it, but a way."""

WEIGHT_US = 100
"""A measured weight of 1: finer differences are noise, and would move trees."""


class Weights(NamedTuple):
    """Both tuples are sorted: equal tables are equal values. A pair that cannot talk is not
    there; one that can is there in both directions, for acks go back."""

    sites: tuple[SiteId, ...]
    edges: tuple[tuple[SiteId, SiteId, int], ...]


def frozen(sites: Iterable[SiteId], weights: Mapping[Pair, int]) -> Weights:
    """The one table that says this, whatever the order in which it was said (SP-112)."""
    known = set(sites)
    for (one, other), weight in weights.items():
        where = f"weight from {one} to {other}"
        if one == other or not {one, other} <= known:
            raise ConfigError("weights", f"{where}: not two sites", "name two of the sites")
        if not 1 <= weight <= WEIGHT_MAX:
            raise ConfigError("weights", f"{where} is {weight}", f"use 1 to {WEIGHT_MAX}")
        if (other, one) not in weights:
            raise ConfigError("weights", f"{where} has no way back", "give both directions")
    edges = ((one, other, weight) for (one, other), weight in weights.items())
    return Weights(tuple(sorted(known)), tuple(sorted(edges)))


def without(table: Weights, broken: Iterable[Pair]) -> Weights:
    """The table without pairs that cannot talk, whichever way round they are named."""
    gone = {frozenset(pair) for pair in broken}
    edges = (edge for edge in table.edges if frozenset(edge[:2]) not in gone)
    return table._replace(edges=tuple(edges))


def among(table: Weights, active: Iterable[SiteId]) -> Weights:
    """The table for the sites that are there (SP-111)."""
    there = set(active)
    edges = (edge for edge in table.edges if {edge[0], edge[1]} <= there)
    return Weights(tuple(site for site in table.sites if site in there), tuple(edges))


def measured_weight(round_trip_us: int, loss: float) -> int:
    """Half the way there and back, and what repairs add to it on average: a lost object comes
    a round trip later, and again with the same chance."""
    share = min(max(loss, 0.0), 0.9)
    way_us = round_trip_us / 2 + round_trip_us * share / (1 - share)
    return min(WEIGHT_MAX, max(1, round(way_us / WEIGHT_US)))


# Shapes (SP-113).


def fan_out(sites: Sequence[SiteId]) -> Weights:
    """Every source sends to every site itself (SP-114)."""
    return frozen(sites, dict.fromkeys(permutations(sites, 2), 1))


def imposed(sites: Sequence[SiteId], edges: Iterable[Pair]) -> Weights:
    """Exactly these edges, in both directions, as long as they hold. When one is broken the
    others are there as a last resort."""
    weights = dict.fromkeys(permutations(sites, 2), LAST_RESORT)
    for one, other in edges:
        weights[one, other] = weights[other, one] = 1
    return frozen(sites, weights)


def shared_tree(sites: Sequence[SiteId], edges: Sequence[Pair]) -> Weights:
    """One tree for all sources."""
    joined = {sites[0]} if sites else set()
    for _ in edges:
        joined |= {site for edge in edges if joined & {*edge} for site in edge}
    if len(edges) != len(sites) - 1 or joined != {*sites}:
        raise ConfigError("weights", "the edges are no tree", "join all sites without a circle")
    return imposed(sites, edges)


def chain(sites: Sequence[SiteId]) -> Weights:
    """In the order given."""
    return imposed(sites, pairwise(sites))


def ring(sites: Sequence[SiteId]) -> Weights:
    """In the order given, and back to the first."""
    return imposed(sites, pairwise([*sites, *sites[:1]] if len(sites) > 2 else sites))
