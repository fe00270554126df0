"""Which local sessions the messages of a bundle are for. Decided once for a table and a directory,
or for a destination if the table is long and hardly ever comes again."""

from collections.abc import Callable, Sequence

from antiphon.core.ids import GroupName, SessionId
from antiphon.wire.body import Body, Destination, Table

ROUTES_REMEMBERED = 1024
TABLE_REMEMBERED_MAX = 16
"""Longer tables hardly ever come again: whoever sends to many groups sends to others each time,
until it has defined them."""

REACHED_REMEMBERED = 32_768

Reached = dict[int, tuple[GroupName, ...]]
"""Local sessions that one destination reaches, and by which of its groups."""


class Way:
    """What of a table is for one local session."""

    __slots__ = ("number", "groups", "reaches_all")

    def __init__(self, number: int, groups: list[tuple[GroupName, ...]]) -> None:
        self.number = number
        self.groups = groups
        """Of each place in the table, those that this session is in."""

        self.reaches_all = all(groups)

    def chosen(self, body: Body) -> Sequence[int]:
        """Which messages of a body are for this session."""
        if self.reaches_all:
            return range(body.count)
        groups = self.groups
        return [at for at, where in enumerate(body.destinations) if groups[where]]


class Routing:
    def __init__(self, reached: Callable[[Destination], Reached]) -> None:
        self._find = reached
        self._reached: dict[Destination, Reached] = {}
        self._of_table: dict[Table, list[Way]] = {}
        self._of_session: dict[SessionId, list[Way]] = {}
        """Of those whose bundles refer to a table of theirs."""

    def forget(self) -> None:
        """Somebody came or went, or a table has grown."""
        self._reached.clear()
        self._of_table.clear()
        self._of_session.clear()

    def ways(self, origin: SessionId, body: Body) -> list[Way]:
        if body.refers:
            ways = self._of_session.get(origin)
            if ways is None:
                ways = self._of_session[origin] = self._ways(body.table)
            return ways
        if len(body.table) > TABLE_REMEMBERED_MAX:
            return self._ways(body.table)
        ways = self._of_table.get(body.table)
        if ways is None:
            if len(self._of_table) >= ROUTES_REMEMBERED:
                self._of_table.clear()
            ways = self._of_table[body.table] = self._ways(body.table)
        return ways

    def _ways(self, table: Table) -> list[Way]:
        reached = [self._reach(destination) for destination in table]
        numbers = sorted(set().union(*reached))
        return [Way(number, [one.get(number, ()) for one in reached]) for number in numbers]

    def _reach(self, destination: Destination) -> Reached:
        found = self._reached.get(destination)
        if found is None:
            if len(self._reached) >= REACHED_REMEMBERED:
                self._reached.clear()
            found = self._reached[destination] = self._find(destination)
        return found
