"""All links together: packets on their way, each passing the links of its path in turn.

A packet enters the next link at the time it came out of the last one and not when somebody
looked, so that a late look delays nothing but the end. It is a pure machine like its links.
"""

from collections.abc import Sequence
from heapq import heappop, heappush

from antiphon.tools.wan.link import GONE, LinkModel

NEVER = 1 << 62
Route = tuple[Sequence[LinkModel], int]
"""The links, and the port at their end."""

Arrival = tuple[int, int, bytes]
"""When, at which port, what."""


class Fabric:
    def __init__(self) -> None:
        self._moving: list[tuple[int, int, bytes, Route, int]] = []
        """By when they come out of a link; then by when they entered it. The last number says
        which link of the route is next."""

        self._entries = 0

    def send(self, now: int, packet: bytes, route: Route) -> None:
        """Into the first link. One without links arrives at once."""
        self._enter(now, packet, route, 0)

    def arrivals(self, now: int) -> list[Arrival]:
        """What has come to its end, in order of time."""
        moving, found = self._moving, []
        while moving and moving[0][0] <= now:
            at, _, packet, route, step = heappop(moving)
            if step == len(route[0]):
                found.append((at, route[1], packet))
            else:
                self._enter(at, packet, route, step)
        return found

    def deadline(self) -> int:
        """When to ask for arrivals next, or NEVER."""
        return self._moving[0][0] if self._moving else NEVER

    def _enter(self, now: int, packet: bytes, route: Route, step: int) -> None:
        if step < len(route[0]):
            now = route[0][step].enter(now, len(packet))
            if now == GONE:
                return
            step += 1
        self._entries += 1
        heappush(self._moving, (now, self._entries, packet, route, step))
