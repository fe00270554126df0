"""After an install: who has been spoken for, and with which sessions.

Those who have the same directory are a family, and the lowest of it tells it for all of them
(docs/protocols/groups.md). All of a family know the same family.
"""

from antiphon.core.errors import DecodeError
from antiphon.core.ids import Configuration, Member, SessionId
from antiphon.core.ranges import RangeSet
from antiphon.wire.body import Table
from antiphon.wire.changes import GroupState, SessionState, TableState
from antiphon.wire.retained import KeptState

Told = dict[SessionId, SessionState]


class Exchange:
    """What was told in one configuration."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._missing = RangeSet([(1, len(configuration.members))])
        """Places of members that nobody has spoken for."""

        self.sessions: Told = {}
        self.tables: dict[SessionId, Table] = {}
        self.kept: list[KeptState] = []
        """What lies behind the groups, as each family told it, in the order of telling."""

    def take(self, state: GroupState) -> bool:
        """True when this was the last one."""
        members, places = self._configuration.members, self._configuration.ranks
        spoken_for = RangeSet(state.members)
        left = self._missing.copy()
        for first, last in spoken_for.runs():
            left.remove_run(first, last)
        if len(left) + len(spoken_for) != len(self._missing) or not spoken_for:
            raise DecodeError("bad_state", "of others than those who are still to be told of")

        def id_of(told: SessionState | TableState) -> SessionId:
            place = places.get(told.daemon, 0)
            if place not in spoken_for:
                raise DecodeError("bad_state", f"a session of {told.daemon}")
            return SessionId(*members[place - 1], told.session)

        sessions = {id_of(session): session for session in state.sessions}
        tables = {id_of(table): table.destinations for table in state.tables}
        self.sessions.update(sessions)
        self.tables.update(tables)
        self.kept += state.kept
        self._missing = left
        return not left


def family_of(
    family: tuple[Member, ...], together: tuple[Member, ...], settled: bool
) -> tuple[Member, ...]:
    """Who has the same directory as I, after an install."""
    if settled:
        return together
    coming = frozenset(together)
    return tuple(member for member in family if member in coming)
