"""Pure pictures of who is connected with whom."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from antiphon.core.overlay import Overlay
from antiphon.core.weights import SiteId, Weights

Node = TypeVar("Node", bound=int)


def reachable(graph: Mapping[Node, Iterable[Node]], start: Node) -> frozenset[Node]:
    """All that are connected with `start`, itself among them."""
    found = {start}
    waiting = [start]
    while waiting:
        for neighbour in graph.get(waiting.pop(), ()):
            if neighbour not in found:
                found.add(neighbour)
                waiting.append(neighbour)
    return frozenset(found)


def overlay_of(segments: int, edges: Iterable[tuple[int, int, int]]) -> Overlay:
    """Ways between segments, by their places in a configuration."""
    sites = tuple(SiteId(at) for at in range(segments))
    ways = tuple(sorted((SiteId(one), SiteId(two), weight) for one, two, weight in edges))
    return Overlay(Weights(sites, ways))
