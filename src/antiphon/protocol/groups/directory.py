"""Who is in which group, and what sessions have defined: pure bookkeeping, the same at every daemon
of a configuration."""

from collections.abc import Mapping

from antiphon.core.ids import ConfigId, DaemonId, GroupName, Member, SessionId, ViewId
from antiphon.core.ranges import RangeSet
from antiphon.protocol.groups.exchange import Exchange
from antiphon.protocol.groups.tables import Tables
from antiphon.protocol.groups.views import Group, cut_view_id
from antiphon.wire.changes import GroupStanding, GroupState, SessionState, TableState

STANDINGS_MAX = 1024
"""A state is closed when the next daemon would bring it above so many memberships and places."""

Ranks = Mapping[DaemonId, int]
"""Places of daemons in the list of members, counted from 1."""


class Directory:
    def __init__(self) -> None:
        self.groups: dict[GroupName, Group] = {}
        self.tables = Tables()
        self._of_session: dict[SessionId, dict[GroupName, None]] = {}

    def groups_of(self, session: SessionId) -> tuple[GroupName, ...]:
        return tuple(sorted(self._of_session.get(session, ())))

    def join(self, session: SessionId, name: str, group: GroupName, view: ViewId) -> Group | None:
        """The group after it, or None if the session is in it already."""
        if group in self._of_session.get(session, ()):
            return None
        self._of_session.setdefault(session, {})[group] = None
        before = self.groups.get(group)
        if before is None:
            self.groups[group] = Group(view, {session: name}, view.position)
        else:
            self.groups[group] = before.changed(view, before.members | {session: name})
        return self.groups[group]

    def leave(self, session: SessionId, group: GroupName, view: ViewId) -> Group | None:
        """What is left of the group, or None if the session is not in it."""
        if group not in self._of_session.get(session, ()):
            return None
        del self._of_session[session][group]
        if not self._of_session[session]:
            del self._of_session[session]
        before = self.groups[group]
        members = dict(before.members)
        del members[session]
        left = before.changed(view, members)
        if members:
            self.groups[group] = left
        else:
            del self.groups[group]
        return left

    def cut(
        self, config: ConfigId, base: ConfigId, together: tuple[Member, ...]
    ) -> list[tuple[GroupName, Group, ViewId]]:
        """Keep only sessions of these daemons: (group, what is left, old view) per group that
        lost somebody."""
        changed = []
        coming = frozenset(together)
        self.tables.cut(coming)
        for name in sorted(self.groups):
            group = self.groups[name]
            group.changed_at = 0
            if not group.loses(coming):
                continue
            left = {
                session: label for session, label in group.members.items() if session[:2] in coming
            }
            cut = Group(cut_view_id(config, base, group.view), left, 0)
            changed.append((name, cut, group.view))
            if left:
                self.groups[name] = cut
            else:
                del self.groups[name]
        self._reindex()
        return changed

    def _reindex(self) -> None:
        self._of_session = {}
        for name in sorted(self.groups):
            for session in self.groups[name].members:
                self._of_session.setdefault(session, {})[name] = None

    def states_of(self, family: tuple[Member, ...], ranks: Ranks) -> list[GroupState]:
        """What is told of the sessions of these daemons: each state of whole daemons, and of no
        more than must be."""
        by_daemon: dict[DaemonId, list[SessionState]] = {}
        for session in sorted(self._of_session):
            groups = self.groups_of(session)
            label = self.groups[groups[0]].members[session]
            standings = tuple(map(self._standing, groups))
            state = SessionState(session.daemon, session.number, label, standings)
            by_daemon.setdefault(session.daemon, []).append(state)
        tables_at: dict[DaemonId, list[TableState]] = {}
        for table in self.tables.states():
            tables_at.setdefault(table.daemon, []).append(table)
        states: list[GroupState] = []
        places, sessions, tables, standing = RangeSet(), list[SessionState](), list[TableState](), 0
        for member in family:
            own, defined = by_daemon.get(member.daemon, []), tables_at.get(member.daemon, [])
            more = sum(len(session.groups) for session in own)
            more += sum(len(table.destinations) for table in defined)
            if places and standing + more > STANDINGS_MAX:
                told = tuple(places.runs()), tuple(sessions)
                states.append(GroupState(*told, tables=tuple(tables)))
                places, sessions, tables, standing = RangeSet(), [], [], 0
            places.add(ranks[member.daemon])
            sessions += own
            tables += defined
            standing += more
        told = tuple(places.runs()), tuple(sessions)
        return [*states, GroupState(*told, tables=tuple(tables))]

    def _standing(self, name: GroupName) -> GroupStanding:
        group = self.groups[name]
        return GroupStanding(name, group.view, group.era, group.index)

    def merge(
        self, exchange: Exchange, view: ViewId
    ) -> list[tuple[GroupName, Group, dict[SessionId, ViewId]]]:
        """Put everybody's sessions together: (group, joint group, last view of each member)
        per group whose members come from several views. Members that all come from one view
        are all of that view: whoever else was in it has been cut off under another id."""
        told = exchange.sessions
        self.tables.load(exchange.tables)
        members: dict[GroupName, dict[SessionId, str]] = {}
        last_views: dict[GroupName, dict[SessionId, ViewId]] = {}
        standings: dict[GroupName, GroupStanding] = {}
        for session in sorted(told):
            for standing in told[session].groups:
                name = standing.group
                members.setdefault(name, {})[session] = told[session].name
                last_views.setdefault(name, {})[session] = standing.view
                standings[name] = standing
        changed = []
        joint: dict[GroupName, Group] = {}
        for name in sorted(members):
            if len(set(last_views[name].values())) == 1:
                _, last, era, index = standings[name]
                joint[name] = Group(last, members[name], 0, era, index)
                continue
            joint[name] = Group(view, members[name], view.position)
            changed.append((name, joint[name], last_views[name]))
        self.groups = joint
        self._reindex()
        return changed
