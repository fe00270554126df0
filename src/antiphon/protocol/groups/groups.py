"""Groups of the strong profile: sessions join and leave in the agreed order.

                 Installed, with newcomers or unsettled before
      SETTLED -------------------------------------------------> EXCHANGE
         ^  |  Installed, nobody new                                |
         |  +--> SETTLED                the last GroupState         |
         +----------------------------------------------------------+

States   SETTLED   every daemon of the configuration has the same directory
         EXCHANGE  sessions are told, by one for all with the same directory; the last to be
                   delivered is the joint position, where groups that grow get one view.
                   Clients' bundles, joins and leaves wait meanwhile; so a message is sent in
                   the view that its daemon has delivered, and nobody delivers it in another
                   (D2, D7).
Timers   none
After    docs/protocols/groups.md
"""

from collections.abc import Sequence
from enum import StrEnum

from antiphon.core.bundle import Bundle
from antiphon.core.effects import (
    Ask,
    ChangeMade,
    Define,
    Defined,
    Delivered,
    Ended,
    Forget,
    GroupDaemons,
    Installed,
    Join,
    Joined,
    Leave,
    Left,
    Message,
    Multicast,
    Opened,
    Settled,
    Stamped,
    Submit,
    SubmitState,
    Tell,
    Transition,
    Transitional,
    View,
    Word,
)
from antiphon.core.errors import DecodeError
from antiphon.core.ids import (
    NO_CONFIG,
    Configuration,
    GroupName,
    Labelled,
    Member,
    SessionId,
    ViewId,
    private_group,
)
from antiphon.core.keeping import RetainSettings
from antiphon.core.machine import NEVER, Instant, Wakeup
from antiphon.core.service import ORDERED, Service
from antiphon.core.trace import Cause, Kind, Level
from antiphon.protocol.groups.directory import Directory
from antiphon.protocol.groups.exchange import Exchange, family_of
from antiphon.protocol.groups.keeping import Keeping
from antiphon.protocol.groups.records import GroupRecords
from antiphon.protocol.groups.routing import Reached, Routing, Way
from antiphon.protocol.groups.views import Group
from antiphon.wire.body import Body, Destination, address_of, read_body, refers
from antiphon.wire.changes import (
    DefineTable,
    EndSession,
    GroupState,
    JoinGroup,
    LeaveGroup,
    pack_group_change,
    read_group_change,
)
from antiphon.wire.retained import KeptState


class State(StrEnum):
    SETTLED = "settled"
    EXCHANGE = "exchange"


class LocalSession:
    """A client of this daemon, as far as groups are concerned."""

    __slots__ = ("id", "name", "priority", "membership", "sent", "sent_unreliable", "asked")

    def __init__(self, id: SessionId, opened: Opened) -> None:
        self.id = id
        self.name = opened.name
        self.priority = opened.priority
        self.membership = opened.membership
        self.sent = 0
        self.sent_unreliable = 0
        self.asked: dict[GroupName, None] = {}
        """Groups that it has asked to be in."""


class Groups:
    def __init__(
        self,
        me: Member,
        level: Level,
        retain: RetainSettings | None = None,
        stored: tuple[KeptState, ...] = (),
    ) -> None:
        self._me = me
        self._level = level
        self.keeping = Keeping(retain or RetainSettings(), stored)
        self._directory = Directory()
        self._records = GroupRecords(me, self._view_of, self._directory.tables.of)
        self._configuration = Configuration(NO_CONFIG, ())
        self._sessions: dict[int, LocalSession] = {}
        self._own: dict[SessionId, LocalSession] = {}
        """The same, by their ids."""

        self._private: dict[GroupName, int] = {}
        self._routing = Routing(self._reached)
        self.state = State.SETTLED
        self._family: tuple[Member, ...] = (me,)
        """In EXCHANGE: who has the same directory as I."""

        self._exchange = Exchange(self._configuration)

        self._last_change = 0
        """Position of the last group change delivered in this configuration."""

        self.evidence = ""
        """How the last configuration came about."""

        self._coming: frozenset[Member] | None = None
        """Between Transitional and Installed: who comes along."""

    def deadline(self) -> Instant:
        return NEVER

    def handle(self, now: Instant, event: Word | Wakeup) -> list[Word]:
        match event:
            case Delivered():
                return self._deliver(now, event)
            case Stamped(config, bundle):
                return list(self._records.send(now, config, bundle))
            case Ask(_, Multicast() as multicast):
                return self._multicast(now, multicast)
            case Ask(_, Join(session, group)):
                asking = self._sessions[session]
                asking.asked[group] = None
                join = JoinGroup(session, asking.name, group)
                return self._submit_change(now, asking, join, (group,))
            case Ask(_, Define(session, destinations)):
                change = DefineTable(session, destinations)
                return self._submit_change(now, self._sessions[session], change, ())
            case Ask(_, Leave(session, group)):
                asking = self._sessions[session]
                asking.asked.pop(group, None)
                return self._submit_change(now, asking, LeaveGroup(session, group), (group,))
            case Ask(_, Opened() as opened):
                return self._open(opened)
            case Ask(_, Ended(session)):
                return self._end(now, session)
            case Transitional(members):
                return self._become_transitional(now, members)
            case Installed():
                return self._install(now, event)
        raise AssertionError(f"{event!r} in {self.state}")

    # What local sessions ask.

    def _open(self, opened: Opened) -> list[Word]:
        id = SessionId(self._me.daemon, self._me.incarnation, opened.session)
        self._sessions[opened.session] = self._own[id] = LocalSession(id, opened)
        self._private[private_group(opened.name, self._me.daemon)] = opened.session
        self._routing.forget()
        return []

    def _end(self, now: Instant, number: int) -> list[Word]:
        session = self._sessions.pop(number)
        del self._own[session.id]
        del self._private[private_group(session.name, self._me.daemon)]
        self._routing.forget()
        return self._submit_change(now, session, EndSession(number), tuple(session.asked))

    def _multicast(self, now: Instant, multicast: Multicast) -> list[Word]:
        session = self._sessions[multicast.session]
        if multicast.service == Service.UNRELIABLE:
            first = session.sent_unreliable + 1
            session.sent_unreliable += multicast.count
        else:
            first = session.sent + 1
            session.sent += multicast.count
        names, everywhere = self._address(session.id, multicast)
        bundle = Bundle(
            self._me,
            multicast.session,
            first,
            multicast.count,
            multicast.service,
            multicast.body,
            self_discard=multicast.self_discard,
            names=names,
            everywhere=everywhere,
        )
        return self._submit(now, session, bundle)

    def _address(self, session: SessionId, sent: Multicast) -> tuple[tuple[GroupName, ...], bool]:
        """Groups that a bundle is to, and whether all daemons want it. Where there is one segment
        nobody asks to which: then a table's are told, and nothing is read."""
        if not refers(sent.body):
            names, head = address_of(sent.body)
            return names, self.keeping.wants(sent.service, head.producer, names)
        tables = self._directory.tables
        names = tables.names_of(session)
        if self._configuration.parts:
            names = read_body(sent.body, sent.count, tables.of(session)).names
        return names, self.keeping.wants(sent.service, "", names)

    def _submit_change(
        self,
        now: Instant,
        session: LocalSession,
        change: JoinGroup | LeaveGroup | EndSession | DefineTable,
        names: tuple[GroupName, ...],
    ) -> list[Word]:
        """One ordered message (SP-35), in line with what the session sent before."""
        session.sent += 1
        body = pack_group_change(change)
        number = session.id.number
        bundle = Bundle(self._me, number, session.sent, 1, Service.AGREED, body, control=True)
        bundle.names = names
        return self._submit(now, session, bundle)

    def _submit(self, now: Instant, session: LocalSession, bundle: Bundle) -> list[Word]:
        submit = Submit(bundle, session.priority)
        if self._level != Level.ALL:
            return [submit]
        return [*self._records.submit(now, bundle), submit]

    # What the order brings.

    def _deliver(self, now: Instant, event: Delivered) -> list[Word]:
        bundle = event.bundle
        effects: list[Word] = []
        if self._level == Level.ALL:
            config = self._configuration.id
            effects.append(self._records.deliver(now, config, bundle, event.transitional))
        if bundle.control:
            effects += self._deliver_change(now, bundle, event.lineage)
            return [*effects, ChangeMade(bundle)] if self._configuration.parts else effects
        return effects + self._deliver_messages(now, event)

    def _deliver_change(self, now: Instant, bundle: Bundle, lineage: int) -> list[Word]:
        self._last_change = bundle.position
        self._routing.forget()
        view = ViewId(self._configuration.id, bundle.position, lineage)
        try:
            change = read_group_change(bundle.body)
            if isinstance(change, GroupState):
                return self._take_state(now, change, view)
        except DecodeError as error:
            return [self._records.drop(now, bundle.sender.daemon, error)]
        sender = bundle.sender
        match change:
            case JoinGroup(number, name, group):
                session = SessionId(sender.daemon, sender.incarnation, number)
                return self._join(now, session, name, group, view)
            case LeaveGroup(number, group):
                session = SessionId(sender.daemon, sender.incarnation, number)
                return self._leave(now, session, group, view, Cause.LEAVE)
            case DefineTable(number, destinations):
                session = SessionId(sender.daemon, sender.incarnation, number)
                table = self._directory.tables.define(session, destinations)
                return [Tell(number, Defined(len(table)))] if session in self._own else []
            case EndSession(number):
                session = SessionId(sender.daemon, sender.incarnation, number)
                self._directory.tables.forget(session)
                effects: list[Word] = []
                for group in self._directory.groups_of(session):
                    effects += self._leave(now, session, group, view, Cause.DISCONNECT)
                return [*effects, Forget(number)] if sender == self._me else effects

    def _join(
        self, now: Instant, session: SessionId, name: str, group: GroupName, view: ViewId
    ) -> list[Word]:
        before = self._directory.groups.get(group)
        after = self._directory.join(session, name, group, view)
        if after is None:
            return []
        moved = (((session, name),),)
        effects: list[Word] = []
        for local in self._local(after):
            old: ViewId | None = None
            together: tuple[SessionId, ...] = (session,)
            if before is not None and local.id != session:
                old, together = before.view, before.sessions()
            effects += self._tell_view(now, local, group, after, old, together, Cause.JOIN, moved)
        effects += self._signal_if_torn(now, group, after)
        return effects + self._tell_daemons(group, after)

    def _tell_daemons(self, name: GroupName, group: Group) -> list[Word]:
        """With several segments, who sends must know which of them want it (SP-120)."""
        if not self._configuration.parts:
            return []
        return [GroupDaemons(name, group.daemons())]

    def _leave(
        self, now: Instant, session: SessionId, group: GroupName, view: ViewId, cause: Cause
    ) -> list[Word]:
        before = self._directory.groups.get(group)
        after = self._directory.leave(session, group, view)
        if before is None or after is None:
            return []
        effects: list[Word] = []
        if session in self._own:
            effects.append(Tell(session.number, Left(group)))
            effects.append(
                self._records.about_view(Kind.LEFT, now, session.number, group, before.view)
            )
        moved = (((session, before.members[session]),),)
        for local in self._local(after):
            stayed = after.sessions()
            effects += self._tell_view(now, local, group, after, before.view, stayed, cause, moved)
        effects += self._signal_if_torn(now, group, after)
        return effects + self._tell_daemons(group, after)

    def _take_state(self, now: Instant, state: GroupState, view: ViewId) -> list[Word]:
        """The last one makes the joint directory."""
        if self.state == State.SETTLED or not self._exchange.take(state):
            return []
        effects: list[Word] = []
        for name, group, last_views in self._directory.merge(self._exchange, view):
            local_ones = self._local(group)
            moved = _sets(group, last_views) if local_ones else ()
            for local in local_ones:
                old = last_views[local.id]
                together = tuple(one for one in group.sessions() if last_views[one] == old)
                effects += self._tell_view(
                    now, local, name, group, old, together, Cause.NETWORK, moved
                )
            effects += self._signal_if_torn(now, name, group)
        self.keeping.join(tuple(self._exchange.kept))
        self.state = State.SETTLED
        for name, group in self._directory.groups.items():
            effects += self._tell_daemons(name, group)
        effects.append(Settled(self._configuration.id))
        return effects

    def _tell_view(
        self,
        now: Instant,
        local: LocalSession,
        name: GroupName,
        group: Group,
        old: ViewId | None,
        together: tuple[SessionId, ...],
        cause: Cause,
        moved: tuple[tuple[Labelled, ...], ...],
    ) -> list[Word]:
        number = local.id.number
        members = group.sessions()
        effects: list[Word] = []
        if local.membership:
            evidence = self.evidence if cause == Cause.NETWORK else ""
            view = View(
                name,
                group.view,
                group.labelled(),
                together,
                cause,
                evidence,
                moved,
                group.era,
                group.index,
            )
            effects.append(Tell(number, view))
        elif old is None:
            effects.append(Tell(number, Joined(name)))
        if self._level != Level.OFF:
            views = (group.view, old)
            effects.append(self._records.view(now, number, name, views, members, together, cause))
        return effects

    # Messages.

    def _deliver_messages(self, now: Instant, event: Delivered) -> list[Word]:
        bundle, transitional = event.bundle, event.transitional
        origin = bundle.origin
        try:
            body = read_body(bundle.body, bundle.count, self._directory.tables.of(origin))
        except DecodeError as error:
            return [self._records.drop(now, bundle.sender.daemon, error)]
        effects: list[Word] = []
        skipped = 0
        if bundle.service in ORDERED:
            if body.producer:
                skipped = self.keeping.repeats(body, bundle.count)
                if self._level == Level.ALL:
                    effects += self._records.repeats(now, bundle, body, skipped)
            effects += self.keeping.keep(bundle, body, skipped, event.lineage)
            if skipped == bundle.count:
                return effects
        for way in self._routing.ways(origin, body):
            number = way.number
            if bundle.self_discard and self._sessions[number].id == origin:
                continue
            if bundle.service == Service.UNRELIABLE:
                way = Way(number, [self._in_same_view(bundle, groups) for groups in way.groups])
            chosen = way.chosen(body)[skipped:]
            if chosen:
                effects.append(Tell(number, _message(bundle, body, chosen, transitional)))
                if self._level == Level.ALL:
                    effects += self._records.hand(now, number, bundle, body, way.groups, skipped)
        return effects

    def _reached(self, destination: Destination) -> Reached:
        """By local sessions: which of these groups each is in."""
        numbers = {number for name in destination for number in self._numbers_in(name)}
        return {number: self._reaching(number, destination) for number in numbers}

    def _numbers_in(self, name: GroupName) -> list[int]:
        """Local sessions that a group name reaches."""
        private = self._private.get(name)
        if private is not None:
            return [private]
        group = self._directory.groups.get(name)
        return [] if group is None else [local.id.number for local in self._local(group)]

    def _reaching(self, number: int, destination: Destination) -> tuple[GroupName, ...]:
        """Which of these groups this session is in; its private one counts."""
        session = self._sessions[number].id
        found = []
        for name in destination:
            group = self._directory.groups.get(name)
            if group is not None and session in group.members:
                found.append(name)
            elif self._private.get(name) == number:
                found.append(name)
        return tuple(found)

    def _in_same_view(self, bundle: Bundle, groups: tuple[GroupName, ...]) -> tuple[GroupName, ...]:
        """An unreliable message waits for no view: where its sender was in another one than
        we are, it is lost. So it is if that holds for one of several groups: a session that
        gets it by another could not tell that it is in none of the view it has of this one."""
        after = bundle.after_change
        same = all(
            name in self._private
            or self._directory.groups[name].changed_at <= after <= self._last_change
            for name in groups
        )
        return groups if same else ()

    # Configurations.

    def _become_transitional(self, now: Instant, members: tuple[Member, ...]) -> list[Word]:
        self._coming = frozenset(members)
        config = self._configuration.id
        effects: list[Word] = [self._records.transitional(now, config, members)]
        for name in sorted(self._directory.groups):
            effects += self._signal_if_torn(now, name, self._directory.groups[name])
        return effects

    def _signal_if_torn(self, now: Instant, name: GroupName, group: Group) -> list[Word]:
        """What comes now in this view is only for those who come along."""
        if self._coming is None or not group.loses(self._coming):
            return []
        effects: list[Word] = []
        for local in self._local(group):
            number = local.id.number
            if local.membership:
                effects.append(Tell(number, Transition(name, group.view)))
            if self._level != Level.OFF:
                effects.append(self._records.about_view(Kind.SIGNAL, now, number, name, group.view))
        return effects

    def _install(self, now: Instant, installed: Installed) -> list[Word]:
        """First shrink, without any message: all who hold the old view and come along
        compute the same. Otherwise two halves that meet again before a joint view would
        look as if they had never parted."""
        self._configuration = installed.configuration
        self.keeping.install(installed.configuration.id)
        self.evidence = installed.evidence
        self._last_change = 0
        self._coming = None
        self._exchange = Exchange(installed.configuration)
        self._routing.forget()
        effects: list[Word] = [self._records.install(now, installed)]
        config = installed.configuration.id
        for name, group, old in self._directory.cut(config, installed.base, installed.together):
            for local in self._local(group):
                stayed, moved = group.sessions(), (group.labelled(),)
                effects += self._tell_view(
                    now, local, name, group, old, stayed, Cause.NETWORK, moved
                )
        nobody_new = installed.together == installed.configuration.members
        if nobody_new and self.state == State.SETTLED:
            for name, group in self._directory.groups.items():
                effects += self._tell_daemons(name, group)
            return [*effects, Settled(config)]
        settled = self.state == State.SETTLED
        self._family = family_of(self._family, installed.together, settled)
        self.state = State.EXCHANGE
        if self._family[0] == self._me:
            effects.append(self._tell_family())
        return effects

    def _tell_family(self) -> Word:
        states = self._directory.states_of(self._family, self._configuration.ranks)
        states[0].kept = self.keeping.states()
        return SubmitState(tuple(map(pack_group_change, states)))

    # Looking up.

    def group_names(self) -> list[GroupName]:
        return sorted(self._directory.groups)

    def group(self, name: GroupName) -> Group | None:
        return self._directory.groups.get(name)

    def _local(self, group: Group) -> list[LocalSession]:
        """Members of the group that are clients of this daemon."""
        common = group.members.keys() & self._own.keys()  # as many steps as the fewer has
        return [self._own[session] for session in sorted(common)]

    def _view_of(self, name: GroupName) -> ViewId | None:
        group = self._directory.groups.get(name)
        return group.view if group is not None else None


def _message(bundle: Bundle, body: Body, chosen: Sequence[int], transitional: bool) -> Message:
    return Message(
        bundle.origin,
        bundle.number,
        bundle.count,
        bundle.service,
        bundle.body,
        transitional,
        () if len(chosen) == bundle.count else tuple(chosen),
        bundle.self_discard,
        body.table if body.refers else (),
    )


def _sets(group: Group, last_views: dict[SessionId, ViewId]) -> tuple[tuple[Labelled, ...], ...]:
    """Who came together: one set per last view, in the order of those views."""
    sets: dict[ViewId, list[Labelled]] = {}
    for labelled in group.labelled():
        sets.setdefault(last_views[labelled[0]], []).append(labelled)
    return tuple(tuple(sets[view]) for view in sorted(sets))
