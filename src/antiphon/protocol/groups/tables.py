"""Destinations that sessions have defined, so that their bundles need not name them.

All daemons of a configuration have the same: a table grows by what is delivered in agreed order,
and is told to newcomers with the groups (docs/protocols/tables.md).
"""

from collections.abc import Set

from antiphon.core.ids import GroupName, Member, SessionId
from antiphon.wire.body import Table
from antiphon.wire.changes import TableState
from antiphon.wire.tables import PLACES_MAX

NO_TABLE: Table = ()


class Tables:
    def __init__(self) -> None:
        self._of: dict[SessionId, Table] = {}
        self._names: dict[SessionId, tuple[GroupName, ...]] = {}

    def of(self, session: SessionId) -> Table:
        return self._of.get(session, NO_TABLE)

    def names_of(self, session: SessionId) -> tuple[GroupName, ...]:
        """Every group that is in the table, once."""
        names = self._names.get(session)
        if names is None:
            found = dict.fromkeys(name for names in self.of(session) for name in names)
            names = self._names[session] = tuple(found)
        return names

    def define(self, session: SessionId, destinations: Table) -> Table:
        """The table afterwards. What no daemon lets its clients define is not taken."""
        table = self.of(session)
        if len(table) + len(destinations) <= PLACES_MAX:
            table = self._of[session] = table + destinations
            self._names.pop(session, None)
        return table

    def forget(self, session: SessionId) -> None:
        self._of.pop(session, None)
        self._names.pop(session, None)

    def cut(self, coming: Set[Member]) -> None:
        """Keep only those of sessions at these daemons."""
        for session in [one for one in self._of if one[:2] not in coming]:
            self.forget(session)

    def states(self) -> list[TableState]:
        return [
            TableState(session.daemon, session.number, self._of[session])
            for session in sorted(self._of)
        ]

    def load(self, told: dict[SessionId, Table]) -> None:
        """What everybody has told."""
        self._of = dict(told)
        self._names.clear()
