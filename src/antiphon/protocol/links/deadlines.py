"""Which of many links has to be woken first, without asking all of them."""

from collections.abc import Mapping
from heapq import heappop, heappush, heapreplace
from typing import Protocol

from antiphon.core.ids import DaemonId
from antiphon.core.machine import NEVER, Instant


class Timed(Protocol):
    def deadline(self) -> Instant: ...


class Deadlines:
    """Invariant: a link with a deadline has an entry in the heap that is not later; of several
    entries of a link the one in `_noted` counts. A deadline that moved away is seen when its
    entry comes to the top: most are set anew long before they come."""

    def __init__(self) -> None:
        self._heap: list[tuple[Instant, DaemonId]] = []
        self._noted: dict[DaemonId, Instant] = {}

    def note(self, peer: DaemonId, deadline: Instant) -> None:
        """Something happened at this link."""
        if deadline < self._noted.get(peer, NEVER):
            self._noted[peer] = deadline
            heappush(self._heap, (deadline, peer))

    def first(self, links: Mapping[DaemonId, Timed]) -> Instant:
        while self._heap:
            at, peer = self._heap[0]
            link = links.get(peer)
            true = NEVER if link is None else link.deadline()
            if at != self._noted.get(peer):
                heappop(self._heap)
            elif at == true:
                return at
            elif true == NEVER:
                heappop(self._heap)
                del self._noted[peer]
            else:
                self._noted[peer] = true
                heapreplace(self._heap, (true, peer))
        return NEVER

    def due(self, now: Instant, links: Mapping[DaemonId, Timed]) -> list[DaemonId]:
        """Take out all that have to be woken, earliest first; equal ones by peer."""
        found = []
        while self.first(links) <= now:
            _, peer = heappop(self._heap)
            del self._noted[peer]
            found.append(peer)
        return found

    def clear(self) -> None:
        self._heap.clear()
        self._noted.clear()
