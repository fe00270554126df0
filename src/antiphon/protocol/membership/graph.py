"""Ways between leaders: a pure picture of edges with a weight in each direction.

From the same edges everybody computes the same ways: of equally cheap ones that with the fewest
nodes, then the lowest, as links/overlay.py chooses its trees.
"""

from collections.abc import Iterable, Mapping
from heapq import heappop, heappush
from typing import TypeVar

Graph = Mapping[int, Mapping[int, int]]
"""From each node to its neighbours, with the weight of that direction."""

Path = tuple[int, ...]
"""From the first node to the last, both among them."""


Way = tuple[int, int, Path]
"""What it costs, how many nodes it has, and which; the lowest is taken."""

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


def paths(graph: Graph, start: int) -> dict[int, tuple[int, Path]]:
    """The cheapest way from `start` to each that it reaches, and what it costs."""
    first: Way = (0, 1, (start,))
    best = {start: first}
    done: dict[int, tuple[int, Path]] = {}
    waiting = [first]
    while waiting:
        cost, length, path = heappop(waiting)
        node = path[-1]
        if node in done:
            continue
        done[node] = (cost, path)
        for neighbour, weight in graph.get(node, {}).items():
            way: Way = (cost + weight, length + 1, (*path, neighbour))
            if neighbour not in done and (neighbour not in best or way < best[neighbour]):
                best[neighbour] = way
                heappush(waiting, way)
    return done


def used(graph: Graph) -> set[tuple[int, int]]:
    """The edges that lie on a cheapest way between any two, in both directions."""
    found: set[tuple[int, int]] = set()
    for start in graph:
        for _, path in paths(graph, start).values():
            if len(path) > 1:
                one, two = path[-2:]
                found.add((one, two))
                found.add((two, one))
    return found
