"""A trace, read once for all judges.

The rows of a trace stand in the order in which things happened, everywhere. Reading sorts
them to the processes that they are about and numbers the messages; it judges nothing.
"""

from collections.abc import Callable, Sequence
from itertools import zip_longest

from antiphon.check.history import (
    ConfigStay,
    Daemon,
    Process,
    Session,
    ViewStay,
    config_name,
    view_name,
)
from antiphon.check.pieces import Cutter, Event, Piece, Run, indexes
from antiphon.core.ids import PRIVATE_MARK, ConfigId, GroupName, Member, SessionId, ViewId
from antiphon.core.service import Service
from antiphon.core.trace import Kind, Record

Place = tuple[GroupName, ViewId]
"""A view. Views of two groups may share an id when one change made both."""

LOG_WRITE = "log_write"
"""A daemon could not write to a log, and says so."""

PROFILE = "strong"
"""Groups of other profiles have promises of their own."""


class Reading:
    """Everything the judges ask for, by process, by view and by message."""

    def __init__(self, records: Sequence[Record], ended: bool) -> None:
        self.records = records
        self.ended = ended
        """The run was brought to rest before it ended, so nothing is owed any more."""

        # Keyed by Member and SessionId, written as plain tuples for speed.
        self.daemons: dict[tuple[int, int], Daemon] = {}
        self.sessions: dict[tuple[int, int, int], Session] = {}
        self.installs: dict[ConfigId, list[ConfigStay]] = {}
        self.views: dict[Place, list[ViewStay]] = {}
        self.submits: list[Event] = []
        self.sends: list[Event] = []
        self.completes: list[tuple[Event, Daemon]] = []
        self.flow: list[tuple[Process, Event]] = []
        """All that carries knowledge on: submits, stampings, deliveries and hands, in order."""

        self.astray: list[tuple[Event, Session, GroupName, ViewId | None]] = []
        """Hands in a view that the session was not in."""

        self.loose_ends: list[tuple[Process, int, str]] = []
        """View changes that do not begin where the process was."""

        self.reaches: list[Record] = []
        self.quiet: int | None = None
        self.loads: list[tuple[int, Record]] = []
        self.closes: list[tuple[int, Session]] = []
        self._lives: dict[int, Daemon] = {}
        self._cutter = Cutter()
        self._read()
        self.pieces = self._cutter.cut()
        self._describe_pieces()
        self._sum_up()

    # What judges ask.

    def time(self, position: int) -> int:
        return self.records[min(position, len(self.records) - 1)].time

    @property
    def end(self) -> int:
        """The position of the last record."""
        return len(self.records) - 1

    def processes(self) -> list[Process]:
        return [*self.daemons.values(), *self.sessions.values()]

    def life(self, record: Record) -> Daemon | None:
        """The life of the node that a driver's record is about; without a number, the last."""
        if record.incarnation:
            return self.daemons.get((record.node, record.incarnation))
        return self._lives.get(record.node)

    def at_least(self, service: Service) -> int:
        """All messages of this service or a stronger one."""
        return self._strengths[service]

    def chosen(self, mask: int) -> list[Piece]:
        return [self.pieces[index] for index in indexes(mask)]

    def members(self, group: GroupName, view: ViewId | None) -> tuple[SessionId, ...]:
        stays = self.views.get((group, view)) if view is not None else None
        return stays[0].members if stays else ()

    def is_member(self, session: SessionId, group: GroupName, view: ViewId | None) -> bool:
        return session in self.members(group, view)

    def sent_by(self, members: tuple[Member, ...]) -> int:
        mask = 0
        for member in members:
            mask |= self._sent_by.get(member, 0)
        return mask

    # The one pass.

    def _read(self) -> None:
        handlers = self._handlers()
        for position, record in enumerate(self.records):
            handler = handlers.get(record.kind)
            if handler is not None and record.profile == PROFILE:
                handler(position, record)

    def _handlers(self) -> dict[Kind, Callable[[int, Record], None]]:
        return {
            Kind.START: self._start,
            Kind.STOP: self._stop,
            Kind.QUIET: self._note_quiet,
            Kind.REACH: lambda _, record: self.reaches.append(record),
            Kind.TRANSITIONAL: self._transitional,
            Kind.INSTALL: self._install,
            Kind.SEND: self._send,
            Kind.COMPLETE: self._complete,
            Kind.DELIVER: self._deliver,
            Kind.OPEN: lambda _, record: self._touch(record),
            Kind.CLOSE: self._close,
            Kind.JOIN: self._join,
            Kind.LEAVE: self._leave,
            Kind.SUBMIT: self._submit,
            Kind.HAND: self._hand,
            Kind.REPEAT: self._repeat,
            Kind.KEEP: self._keep,
            Kind.DROP: self._drop,
            Kind.VIEW: self._view,
            Kind.SIGNAL: self._signal,
            Kind.LEFT: self._left,
            Kind.REFUSE: self._refuse,
            Kind.BUFFERS: lambda position, record: self.loads.append((position, record)),
            Kind.BACKLOG: self._backlog,
        }

    def _daemon(self, record: Record) -> Daemon:
        daemon = self.daemons.get((record.node, record.incarnation))
        return daemon if daemon is not None else self._new_daemon(record)

    def _new_daemon(self, record: Record) -> Daemon:
        member = Member(record.node, record.incarnation)
        daemon = self.daemons[member] = self._lives[record.node] = Daemon(member)
        return daemon

    def _session(self, record: Record) -> Session:
        session = self.sessions.get((record.node, record.incarnation, record.session))
        return session if session is not None else self._new_session(record)

    def _new_session(self, record: Record) -> Session:
        identity = SessionId(record.node, record.incarnation, record.session)
        session = self.sessions[identity] = Session(identity, self._daemon(record))
        return session

    def _touch(self, record: Record) -> None:
        self._session(record)

    # Life and driver.

    def _start(self, position: int, record: Record) -> None:
        """A new life ends the old one, whether or not its end was told."""
        old = self._lives.get(record.node)
        if old is not None and old.up and old.member.incarnation != record.incarnation:
            old.stopped = position
        if record.incarnation:
            self._daemon(record).started = position

    def _stop(self, position: int, record: Record) -> None:
        daemon = self.life(record)
        if daemon is not None:
            daemon.stopped = min(daemon.stopped, position)

    def _note_quiet(self, _: int, record: Record) -> None:
        self.quiet = record.time

    # The configuration level.

    def _transitional(self, position: int, record: Record) -> None:
        stay = self._daemon(record).stay
        stay.transitional.append((position, record))
        stay.comrades = record.members
        if record.config != stay.config:
            here, there = config_name(stay.config), config_name(record.config)
            told = f"{stay.daemon} in {here} is told that {there} became transitional"
            self.loose_ends.append((stay.daemon, position, told))

    def _install(self, position: int, record: Record) -> None:
        daemon = self._daemon(record)
        daemon.install(position, record)
        self.installs.setdefault(record.config, []).append(daemon.stay)

    def _send(self, position: int, record: Record) -> None:
        event = (position, record, self._cutter.run(record))
        daemon = self._daemon(record)
        daemon.stay.sends.append(event)
        self.sends.append(event)
        if record.origin.number == 0:
            self.flow.append((daemon, event))
            return
        sender = self.sessions.get(record.origin)
        if sender is not None:
            for group in record.groups:
                stay = sender.current.get(group)
                if stay is not None:
                    stay.sends.append(event)

    def _complete(self, position: int, record: Record) -> None:
        event = (position, record, self._cutter.run(record))
        self.completes.append((event, self._daemon(record)))

    def _deliver(self, position: int, record: Record) -> None:
        event = (position, record, self._cutter.run(record))
        daemon = self._daemon(record)
        daemon.deliveries.append(event)
        daemon.stays[-1].events.append(event)
        self.flow.append((daemon, event))

    # The group level.

    def _close(self, position: int, record: Record) -> None:
        session = self._session(record)
        session.closed = min(session.closed, position)
        session.close = record
        self.closes.append((position, session))

    def _join(self, position: int, record: Record) -> None:
        session = self._session(record)
        for group in record.groups:
            session.joins.setdefault(group, position)
            session.wishes[group] = (True, position)

    def _leave(self, position: int, record: Record) -> None:
        session = self._session(record)
        for group in record.groups:
            session.leaves.setdefault(group, position)
            session.wishes[group] = (False, position)
            session.leave(group)

    def _submit(self, position: int, record: Record) -> None:
        event = (position, record, self._cutter.run(record))
        self.submits.append(event)
        self.flow.append((self._session(record), event))

    def _hand(self, position: int, record: Record) -> None:
        event = (position, record, self._cutter.run(record))
        session = self._session(record)
        session.hands.append(event)
        self.flow.append((session, event))
        for group, view in zip_longest(record.groups, record.views):
            stay = session.current.get(group)
            if stay is not None and stay.view == view:
                stay.events.append(event)
            elif not group.startswith(PRIVATE_MARK):
                self.astray.append((event, session, group, view))
                if stay is not None:
                    stay.strays.append(event)

    def _repeat(self, _: int, record: Record) -> None:
        self._daemon(record).repeats.append(self._cutter.run(record))

    def _keep(self, position: int, record: Record) -> None:
        self._daemon(record).kept.append((position, record, self._cutter.run(record)))

    def _drop(self, _: int, record: Record) -> None:
        if record.reason == LOG_WRITE:
            self._daemon(record).disk_failed = True

    def _view(self, position: int, record: Record) -> None:
        session = self._session(record)
        group = record.groups[0]
        before = session.current.get(group)
        stay = session.install(group, position, record)
        self.views.setdefault((group, stay.view), []).append(stay)
        real = None if before is None else before.view
        if stay.old != real:
            new, named = view_name(stay.view), view_name(stay.old)
            told = f"{session} installs {new} of {group!r} after {named}"
            self.loose_ends.append((session, position, f"{told}, but was in {view_name(real)}"))

    def _signal(self, position: int, record: Record) -> None:
        session = self._session(record)
        for group, view in zip(record.groups, record.views, strict=False):
            stay = session.current.get(group)
            if stay is None or stay.view != view:
                here = view_name(None if stay is None else stay.view)
                told = f"{session} in {here} of {group!r} is told that {view_name(view)} ends"
                self.loose_ends.append((session, position, told))
            elif position < stay.signalled:
                stay.signalled = position
                stay.signal_stay = session.daemon.stay

    def _left(self, _: int, record: Record) -> None:
        session = self._session(record)
        for group in record.groups:
            session.left(group)

    def _refuse(self, position: int, record: Record) -> None:
        self._session(record).refused = position

    def _backlog(self, position: int, record: Record) -> None:
        session = self._session(record)
        session.backlog = max(session.backlog, record.value)
        self.loads.append((position, record))

    # After the pass.

    def _describe_pieces(self) -> None:
        for position, record, run in self.submits:
            for piece in run.pieces:
                piece.note_submit(position, record)
        for position, record, run in self.sends:
            for piece in run.pieces:
                piece.note_send(position, record)
        self._strengths = [0] * len(Service)
        self._sent_by: dict[Member, int] = {}
        for piece in self.pieces:
            for service in range(piece.service + 1):
                self._strengths[service] |= piece.bit
            self._sent_by[piece.sender] = self._sent_by.get(piece.sender, 0) | piece.bit
            sender = self.sessions.get(piece.origin)
            if sender is not None and piece.discarded:
                sender.discards |= piece.bit
            if piece.send is not None and piece.send.members:
                wanted = set(piece.send.members)
                for daemon in self.daemons.values():
                    if daemon.member not in wanted:
                        daemon.spared |= piece.bit

    def _sum_up(self) -> None:
        for daemon in self.daemons.values():
            for stay in daemon.stays:
                stay.mask = union(stay.events)
                daemon.delivered |= stay.mask
        for session in self.sessions.values():
            session.handed = union(session.hands)
            for run in session.daemon.repeats:
                session.discards |= run.mask
            for view_stay in session.stays:
                view_stay.mask = union(view_stay.events)


def union(events: list[Event]) -> int:
    mask = 0
    for _, _, run in events:
        mask |= run.mask
    return mask


def run_text(run: Run) -> str:
    return str(run.pieces[0]) if len(run.pieces) == 1 else ", ".join(map(str, run.pieces))
