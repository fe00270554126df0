"""Pure pictures of who is connected with whom."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

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
