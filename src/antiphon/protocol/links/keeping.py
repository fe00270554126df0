"""The objects of a TCP link that the other end is not known to have."""

from antiphon.protocol.links.backlog import Backlog
from antiphon.wire.link import OBJECT_OVERHEAD, LinkObject


class Keeping:
    """Invariant: `open` holds exactly what lies above `acked` up to `sequence`; everything from
    `_next` on has not been poured into the present pipe."""

    def __init__(self, window_bytes: int) -> None:
        self._window_bytes = window_bytes
        self.backlog = Backlog()
        self.sequence = 0
        self.acked = 0
        self.open: dict[int, bytes] = {}
        self.open_bytes = 0
        self._next = 1
        self.repeated = 0

    @property
    def unsettled(self) -> bool:
        """Something is on its way, or wants to be."""
        return bool(self.open or self.backlog)

    def resume(self) -> None:
        """A new pipe, whose other end has told what it has: go on from there."""
        self._next = self.acked + 1

    def take(self, room: int) -> list[LinkObject]:
        """Objects for one frame: what an earlier pipe has lost, then new ones if the window is
        open. The first is taken whatever its size."""
        taken: list[LinkObject] = []
        while True:
            if self._next <= self.sequence:
                data, repeats = self.open[self._next], 1
            elif self.backlog and self.open_bytes < self._window_bytes:
                data, repeats = self.backlog.first, 0
            else:
                return taken
            room -= OBJECT_OVERHEAD + len(data)
            if taken and room < 0:
                return taken
            taken.append(LinkObject(self._next, repeats, data))
            if not repeats:
                self._open_next()
            self.repeated += repeats
            self._next += 1

    def _open_next(self) -> None:
        data = self.backlog.pop()
        self.sequence += 1
        self.open[self.sequence] = data
        self.open_bytes += len(data)

    def acknowledge(self, received: int) -> bool:
        """Everything up to here has come; true if that is news."""
        assert received <= self.sequence
        for sequence in range(self.acked + 1, received + 1):
            self.open_bytes -= len(self.open.pop(sequence))
        news = received > self.acked
        self.acked = max(self.acked, received)
        self._next = max(self._next, self.acked + 1)
        return news
