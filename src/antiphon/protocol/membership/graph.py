"""Pure pictures of who is connected with whom."""

from collections.abc import Mapping, Set
from typing import TypeVar

Node = TypeVar("Node", bound=int)


def reachable(graph: Mapping[Node, Set[Node]], start: Node) -> frozenset[Node]:
    """All that are connected with `start`, itself among them."""
    found = {start}
    waiting = [start]
    while waiting and len(found) < len(graph):
        new = graph.get(waiting.pop(), frozenset()) - found
        found |= new
        waiting += new
    return frozenset(found)
