"""Which ways between hosts are shut: by a partition, until healed, or for ever.

Kept as rules, not per pair of hosts: a world of thousands has millions of pairs, and hardly
any of them ever speak.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from antiphon.core.ids import DaemonId

Hosts = frozenset[DaemonId]


@dataclass(frozen=True, slots=True)
class Ways:
    """From any of these hosts to any of those, never to itself; None is every host."""

    sources: Hosts | None = None
    targets: Hosts | None = None
    both: bool = False
    """And back."""

    def cover(self, a: DaemonId, b: DaemonId) -> bool:
        return a != b and (self._lead(a, b) or (self.both and self._lead(b, a)))

    def _lead(self, a: DaemonId, b: DaemonId) -> bool:
        if self.sources is not None and a not in self.sources:
            return False
        return self.targets is None or b in self.targets

    @property
    def all(self) -> bool:
        return self.sources is None and self.targets is None


EVERY_WAY = Ways()


class Gates:
    def __init__(self) -> None:
        self._side: dict[DaemonId, int] = {}
        self._mended: list[Ways] = []
        """Open again since the network fell apart."""

        self._closings: list[tuple[Ways, bool]] = []
        """Closed or opened again; the last one counts."""

        self._broken: list[Ways] = []

    def cut(self, components: Iterable[Iterable[DaemonId]]) -> None:
        """Only hosts of one component reach each other; the unnamed are one component."""
        self._side = {host: index for index, part in enumerate(components) for host in part}
        self._mended.clear()

    def close(self, ways: Ways) -> None:
        self._closings.append((ways, True))

    def break_for_ever(self, ways: Ways) -> None:
        self._broken.append(ways)

    def heal(self, ways: Ways = EVERY_WAY) -> None:
        """End partitions and closings there, but not what is broken."""
        if ways.all:
            self.cut([])
            self._closings.clear()
        else:
            self._mended.append(ways)
            self._closings.append((ways, False))

    def shut(self, a: DaemonId, b: DaemonId) -> bool:
        return self._parted(a, b) or self._closed(a, b) or any(w.cover(a, b) for w in self._broken)

    def joined(self, a: DaemonId, b: DaemonId) -> bool:
        """Open both ways."""
        return not self.shut(a, b) and not self.shut(b, a)

    def _parted(self, a: DaemonId, b: DaemonId) -> bool:
        if self._side.get(a) == self._side.get(b):
            return False
        return not any(ways.cover(a, b) for ways in self._mended)

    def _closed(self, a: DaemonId, b: DaemonId) -> bool:
        told = (closed for ways, closed in reversed(self._closings) if ways.cover(a, b))
        return next(told, False)
