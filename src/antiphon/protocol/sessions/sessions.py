"""Clients of one daemon: what they may ask, and what they are told.

States   none beyond the table of sessions
Timers   none
After    docs/protocols/groups.md. Bad requests are refused with a code and a remedy; a client
         that does not take its news is cut off before it costs anybody else (P3).
"""

from collections.abc import Iterable

from antiphon.core.bundle import CHANGE_BYTES
from antiphon.core.effects import (
    Ask,
    Closed,
    Connect,
    Courtesy,
    Define,
    Defined,
    Disconnect,
    Drained,
    Emit,
    Ended,
    Flow,
    Join,
    Leave,
    Message,
    Multicast,
    Notify,
    Opened,
    Refused,
    Taken,
    Tell,
    Word,
)
from antiphon.core.errors import DecodeError
from antiphon.core.ids import (
    PRIVATE_MARK,
    SESSION_NAME_BYTES_MAX,
    GroupName,
    Member,
    group_name_fault,
)
from antiphon.core.machine import NEVER, Instant, Wakeup
from antiphon.core.service import ORDERED, Service
from antiphon.core.trace import Kind, Level, Record
from antiphon.protocol.sessions.access import Access
from antiphon.protocol.sessions.settings import STRONG, SessionSettings
from antiphon.wire.body import GROUPS_PER_MESSAGE_MAX, Body, Table, read_body
from antiphon.wire.retained import PRODUCER_BYTES_MAX
from antiphon.wire.ring import BUNDLE_BYTES_MAX, MESSAGE_BYTES_MAX
from antiphon.wire.tables import PLACES_MAX, names_bytes

PROFILES_REMEMBERED = 32_768
BACKLOG_ROW_MIN = 64
"""A session's backlog is recorded when it doubles, from here on."""


class Session:
    __slots__ = (
        "name",
        "who",
        "joined",
        "queued",
        "paused",
        "backlog",
        "backlog_bytes",
        "backlog_told",
        "asked",
        "table",
        "table_bytes",
    )

    def __init__(self, name: str, who: str) -> None:
        self.name = name
        self.who = who
        self.joined: dict[GroupName, None] = {}
        self.queued = 0
        self.paused = False
        self.backlog = 0
        self.backlog_bytes = 0
        self.backlog_told = BACKLOG_ROW_MIN
        self.asked: Table = ()
        """What it has asked to be in its table, and has not been told of."""

        self.table: Table = ()
        """What its messages may refer to."""

        self.table_bytes = 0
        """Of both."""


class Sessions:
    def __init__(
        self, me: Member, settings: SessionSettings, profiles: tuple[str, ...], level: Level
    ) -> None:
        self._me = me
        self._settings = settings
        self._queued_least = settings.queue_bundle_bytes
        """Not reloaded: what was counted in is counted out."""

        self._profiles = profiles
        self._level = level
        self._sessions: dict[int, Session] = {}
        self._names: dict[str, int] = {}
        self._memberships = 0
        self._table_bytes = 0
        self._behind: dict[int, Instant] = {}
        """Sessions that have not caught up, and how long others wait for each."""

        self._access = Access(settings.rules)
        self._profile_by_name: dict[GroupName, str | None] = {}
        """Of groups that messages are sent to; None: the name is not valid."""

    def reload(self, settings: SessionSettings) -> None:
        """Other limits and rules from now on; what was granted stays."""
        self._settings = settings
        self._access = Access(settings.rules)
        self._profile_by_name.clear()

    def may_join(self, who: str, group: GroupName) -> bool:
        return self._access.may_join(who, group)

    def deadline(self) -> Instant:
        return NEVER

    def handle(self, now: Instant, event: Word | Wakeup) -> list[Word]:
        match event:
            case Tell(number, news):
                return self._tell(now, number, Notify(number, news))
            case Taken(number, size):
                return self._take(number, size)
            case Drained(number, count, size):
                session = self._sessions.get(number)
                if session is not None:
                    session.backlog = max(0, session.backlog - count)
                    session.backlog_bytes = max(0, session.backlog_bytes - size)
                    return self._mind(now, number, session)
                return []
            case Connect():
                return self._connect(now, event)
        assert isinstance(event, Multicast | Join | Leave | Define | Disconnect)
        session = self._sessions.get(event.session)
        if session is None:
            return []  # it was closed while this request was on its way
        match event:
            case Multicast():
                return self._multicast(now, session, event)
            case Join(number, group):
                return self._join(now, session, number, group)
            case Leave(number, group):
                return self._leave(now, session, number, group)
            case Define(number, destinations):
                return self._define(session, number, destinations)
            case Disconnect(number):
                return self._close(now, number, "client")

    # Requests.

    def _connect(self, now: Instant, connect: Connect) -> list[Word]:
        number = connect.session
        fault = self._connect_fault(connect)
        if fault is not None:
            return [Notify(number, fault), Notify(number, Closed(fault.code))]
        self._sessions[number] = Session(connect.name, connect.who)
        self._names[connect.name] = number
        opened = Opened(number, connect.name, connect.priority, connect.membership)
        effects: list[Word] = [self._emit(now, Kind.OPEN, number)]
        return effects + [Ask(profile, opened) for profile in self._profiles]

    def _connect_fault(self, connect: Connect) -> Refused | None:
        if len(self._sessions) >= self._settings.sessions_max:
            return Refused("too_many_sessions", "this daemon is full", "use another daemon")
        name = connect.name
        valid = name.isprintable() and 0 < len(name.encode()) <= SESSION_NAME_BYTES_MAX
        if not valid or PRIVATE_MARK in name:
            return Refused(
                "bad_name",
                f"{name!r} cannot be a session's name",
                f"use 1 to {SESSION_NAME_BYTES_MAX} printable bytes without {PRIVATE_MARK!r}",
            )
        if name in self._names:
            return Refused("name_in_use", f"{name!r} is connected here", "use another name")
        return None

    def _join(self, now: Instant, session: Session, number: int, group: GroupName) -> list[Word]:
        fault = group_name_fault(group)
        if fault:
            return self._refuse(now, number, "bad_group", fault, "use another group name", group)
        if not self._access.may_join(session.who, group):
            return self._refuse(
                now,
                number,
                "not_allowed",
                f"{session.who or 'this client'} may not join {group!r}",
                "ask the operator for an access rule",
                group,
            )
        if group in session.joined:
            return self._refuse(
                now,
                number,
                "already_joined",
                f"in {group!r} already",
                "join each group once",
                group,
            )
        if self._memberships >= self._settings.memberships_max:
            return self._refuse(
                now,
                number,
                "too_many_groups",
                "this daemon's limit is reached",
                "leave some",
                group,
            )
        if session.queued > self._settings.queue_bytes_max:
            return self._refuse_queue_full(now, number, group)
        session.joined[group] = None
        self._memberships += 1
        join = Ask(self._settings.profile_of(group), Join(number, group))
        row = self._emit(now, Kind.JOIN, number, groups=(group,))
        return [row, join, *self._queue(session, number, CHANGE_BYTES)]

    def _leave(self, now: Instant, session: Session, number: int, group: GroupName) -> list[Word]:
        if group not in session.joined:
            return self._refuse(
                now, number, "not_joined", f"not in {group!r}", "leave what was joined", group
            )
        del session.joined[group]
        self._memberships -= 1
        leave = Ask(self._settings.profile_of(group), Leave(number, group))
        row = self._emit(now, Kind.LEAVE, number, groups=(group,))
        return [row, leave, *self._queue(session, number, CHANGE_BYTES)]

    def _define(self, session: Session, number: int, destinations: Table) -> list[Word]:
        """A client that is told of no more places than it had goes on naming groups: nothing is
        refused that would be missing."""
        size = sum(map(names_bytes, destinations))
        names = {name for destination in destinations for name in destination}
        if (
            session.asked
            or not 0 < len(destinations) <= PLACES_MAX - len(session.table)
            or not all(0 < len(groups) <= GROUPS_PER_MESSAGE_MAX for groups in destinations)
            or self._table_bytes + size > self._settings.table_bytes_max
            or session.queued > self._settings.queue_bytes_max
            or any(self._profile_of_name(name) != STRONG for name in names)
            or self._forbidden(session, names)
        ):
            return [Notify(number, Defined(len(session.table)))]
        session.asked = destinations
        session.table_bytes += size
        self._table_bytes += size
        define = Ask(STRONG, Define(number, destinations))
        return [define, *self._queue(session, number, CHANGE_BYTES)]

    def _multicast(self, now: Instant, session: Session, multicast: Multicast) -> list[Word]:
        number = multicast.session
        if session.queued > self._settings.queue_bytes_max:
            return self._refuse_queue_full(now, number)
        try:
            body = read_body(multicast.body, multicast.count, session.table)
        except DecodeError as error:
            return self._refuse(now, number, error.reason, str(error), "use the client library")
        if body.sender != session.name:
            return self._refuse(
                now,
                number,
                "bad_sender",
                f"the messages say they are from {body.sender!r}",
                f"send as {session.name!r}",
            )
        if body.producer and not _may_be_keyed(multicast.service, body.producer):
            return self._refuse(
                now,
                number,
                "bad_key",
                f"keyed as {body.producer!r:.120}, with service {multicast.service.name.lower()}",
                f"use agreed or safe, and a producer of 1 to {PRODUCER_BYTES_MAX} printable bytes",
            )
        if body.refers and multicast.service not in ORDERED:
            return self._refuse(
                now,
                number,
                "bad_table",
                f"a table is referred to with service {multicast.service.name.lower()}",
                "use agreed or safe, or name the groups",
            )
        if body.longest > MESSAGE_BYTES_MAX or len(multicast.body) > BUNDLE_BYTES_MAX:
            return self._refuse(
                now,
                number,
                "too_long",
                f"a message or a bundle is longer than {MESSAGE_BYTES_MAX} bytes",
                "send less at a time",
            )
        profile = STRONG if body.refers else self._profile_of(body)
        if profile is None:
            return self._refuse(
                now,
                number,
                "bad_group",
                "a group name is not valid, or the groups have different profiles",
                "send to valid groups of one profile",
            )
        forbidden = "" if self._access.is_open else self._forbidden(session, body.names)
        if forbidden:
            return self._refuse(
                now,
                number,
                "not_allowed",
                f"{session.who or 'this client'} may not send to {forbidden!r}",
                "ask the operator for an access rule",
            )
        return [Ask(profile, multicast), *self._queue(session, number, len(multicast.body))]

    def _queue(self, session: Session, number: int, size: int) -> list[Word]:
        """So much more waits for the token; too much, and the session is asked to pause."""
        session.queued += max(size, self._queued_least)
        if session.paused or session.queued <= self._settings.queue_bytes_high:
            return []
        session.paused = True
        return [Notify(number, Flow(False))]

    def _refuse_queue_full(self, now: Instant, number: int, group: GroupName = "") -> list[Word]:
        what, remedy = "too much waits to be sent", "wait for the flow to open"
        return self._refuse(now, number, "queue_full", what, remedy, group)

    def _forbidden(self, session: Session, names: Iterable[GroupName]) -> GroupName:
        """A group that this client may not send to; empty if there is none."""
        may_send, who = self._access.may_send, session.who
        return next((name for name in names if not may_send(who, name)), "")

    def _profile_of(self, body: Body) -> str | None:
        """The one profile of all groups of a bundle; None if there is none."""
        known = self._profile_by_name
        profiles = {
            known[name] if name in known else self._profile_of_name(name)
            for names in body.table
            for name in names
        }
        return profiles.pop() if len(profiles) == 1 else None

    def _profile_of_name(self, name: GroupName) -> str | None:
        if name.startswith(PRIVATE_MARK):
            return STRONG
        if len(self._profile_by_name) >= PROFILES_REMEMBERED:
            self._profile_by_name.clear()
        profile = None if group_name_fault(name) else self._settings.profile_of(name)
        self._profile_by_name[name] = profile
        return profile

    # News.

    def _tell(self, now: Instant, number: int, notify: Notify) -> list[Word]:
        session = self._sessions.get(number)
        if session is None:
            return []
        session.backlog += 1
        if isinstance(notify.news, Message):
            session.backlog_bytes += len(notify.news.body)
        elif isinstance(notify.news, Defined):
            session.table, session.asked = session.table + session.asked, ()
        effects: list[Word] = [notify]
        if session.backlog >= session.backlog_told and self._level != Level.OFF:
            session.backlog_told = 2 * session.backlog
            effects.append(self._backlog_row(now, Kind.BACKLOG, number, session))
        effects += self._mind(now, number, session)
        if (
            session.backlog >= self._settings.backlog_max
            or session.backlog_bytes >= self._settings.backlog_bytes_max
        ):
            effects += self._close(now, number, "slow")
        return effects

    def _mind(self, now: Instant, number: int, session: Session) -> list[Word]:
        """Others wait for who falls behind, for a while, until it has caught up."""
        much, size = self._settings.courtesy_bytes, session.backlog_bytes
        if number in self._behind:
            if 2 * size >= much > 0:
                return []
            del self._behind[number]
        elif not 0 < much <= size:
            return []
        else:
            self._behind[number] = now + self._settings.courtesy_us
        return [self._courtesy()]

    def _courtesy(self) -> Courtesy:
        return Courtesy(max(self._behind.values(), default=0))

    def _take(self, number: int, size: int) -> list[Word]:
        session = self._sessions.get(number)
        if session is None:
            return []
        session.queued -= max(size, self._queued_least)
        if session.paused and session.queued < self._settings.queue_bytes_low:
            session.paused = False
            return [Notify(number, Flow(True))]
        return []

    def _close(self, now: Instant, number: int, reason: str) -> list[Word]:
        """The session leaves all its groups by one ordered message."""
        session = self._sessions.pop(number)
        del self._names[session.name]
        self._memberships -= len(session.joined)
        self._table_bytes -= session.table_bytes
        row = self._backlog_row(now, Kind.CLOSE, number, session)
        row.record.reason = reason
        effects: list[Word] = [Notify(number, Closed(reason)), row]
        if self._behind.pop(number, None) is not None:
            effects.append(self._courtesy())
        return effects + [Ask(profile, Ended(number)) for profile in self._profiles]

    def _refuse(
        self,
        now: Instant,
        number: int,
        code: str,
        what: str,
        remedy: str,
        group: GroupName = "",
    ) -> list[Word]:
        row = self._emit(now, Kind.REFUSE, number)
        row.record.reason = code
        return [Notify(number, Refused(code, what, remedy, group)), row]

    def _backlog_row(self, now: Instant, kind: Kind, number: int, session: Session) -> Emit:
        row = self._emit(now, kind, number)
        row.record.value = session.backlog
        row.record.limit = self._settings.backlog_max
        return row

    def _emit(
        self, now: Instant, kind: Kind, number: int, groups: tuple[GroupName, ...] = ()
    ) -> Emit:
        record = Record(kind, now, self._me.daemon, self._me.incarnation, number, groups=groups)
        return Emit(record)


def _may_be_keyed(service: Service, producer: str) -> bool:
    fits = producer.isprintable() and len(producer.encode()) <= PRODUCER_BYTES_MAX
    return service in ORDERED and fits
