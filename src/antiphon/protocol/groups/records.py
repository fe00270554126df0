"""What the group level writes down for the judges."""

from collections.abc import Callable
from zlib import crc32

from antiphon.core.bundle import Bundle
from antiphon.core.effects import Emit, Installed
from antiphon.core.errors import DecodeError
from antiphon.core.ids import ConfigId, Configuration, GroupName, Member, SessionId, ViewId
from antiphon.core.machine import Instant
from antiphon.core.trace import Cause, Kind, Record
from antiphon.wire.body import Body, Table, read_body

Lookup = Callable[[GroupName], ViewId | None]
TableOf = Callable[[SessionId], Table]


class GroupRecords:
    def __init__(self, me: Member, view_of: Lookup, table_of: TableOf) -> None:
        self._me = me
        self._view_of = view_of
        self._table_of = table_of

    def plain(self, kind: Kind, now: Instant) -> Record:
        return Record(kind, now, self._me.daemon, self._me.incarnation)

    def messages(
        self, kind: Kind, now: Instant, bundle: Bundle, body: Body, groups: list[tuple[str, ...]]
    ) -> list[Record]:
        """A row per run of messages with one destination; `groups` names, by destination,
        the groups to tell."""
        rows = []
        for start, count, where in body.runs():
            if not groups[where]:
                continue
            row = self.plain(kind, now)
            row.origin = bundle.origin
            row.first = bundle.number + start
            row.count = count
            row.service = bundle.service
            row.groups = groups[where]
            payloads = body.together(start, count)
            row.size = len(payloads)
            if count < bundle.count:
                row.value = crc32(payloads)
            else:
                if bundle.checksum < 0:
                    bundle.checksum = crc32(payloads)
                row.value = bundle.checksum
            rows.append(row)
        return rows

    def submit(self, now: Instant, bundle: Bundle) -> list[Emit]:
        if bundle.control:
            row = self._change(Kind.SUBMIT, now, bundle)
            row.session = bundle.session
            return [Emit(row)]
        body = self._open(bundle)
        rows = self.messages(Kind.SUBMIT, now, bundle, body, list(body.table))
        for row in rows:
            row.session = bundle.session
            row.detail = "discard" if bundle.self_discard else ""
        return [Emit(row) for row in rows]

    def _open(self, bundle: Bundle) -> Body:
        return read_body(bundle.body, bundle.count, self._table_of(bundle.origin))

    def _change(self, kind: Kind, now: Instant, bundle: Bundle) -> Record:
        """A group change: a message to the daemons, and to no group."""
        row = self.plain(kind, now)
        row.origin, row.first, row.count = bundle.origin, bundle.number, bundle.count
        row.service = bundle.service
        row.detail = "change"
        return row

    def send(self, now: Instant, config: Configuration, bundle: Bundle) -> list[Emit]:
        """With the daemons that it is for, if it is not for all."""
        wanted: tuple[Member, ...] = ()
        if bundle.reach and len(bundle.reach) < len(config.segments):
            reached = [config.segments[one.segment] for one in bundle.reach]
            wanted = tuple(sorted(member for members in reached for member in members))
        if bundle.control:
            rows = [self._change(Kind.SEND, now, bundle)]
        else:
            body = self._open(bundle)
            rows = self.messages(Kind.SEND, now, bundle, body, list(body.table))
        for row in rows:
            row.config = config.id
            row.sequence = bundle.sequence
            row.stamp = bundle.stamp
            row.views = tuple(self._view_of(name) for name in row.groups)
            row.members = wanted
        return [Emit(row) for row in rows]

    def repeats(self, now: Instant, bundle: Bundle, body: Body, count: int) -> list[Emit]:
        """The first of a keyed bundle, which nobody is handed."""
        if not count:
            return []
        row = self.plain(Kind.REPEAT, now)
        row.origin, row.first, row.count = bundle.origin, bundle.number, count
        row.service, row.groups = bundle.service, body.table[0]
        return [Emit(row)]

    def hand(
        self,
        now: Instant,
        session: int,
        bundle: Bundle,
        body: Body,
        mine: list[tuple[str, ...]],
        skipped: int = 0,
    ) -> list[Emit]:
        rows = self.messages(Kind.HAND, now, bundle, body, mine)[skipped:]
        for row in rows:
            row.session = session
            row.views = tuple(self._view_of(name) for name in row.groups)
        return [Emit(row) for row in rows]

    def deliver(self, now: Instant, config: ConfigId, bundle: Bundle, transitional: bool) -> Emit:
        row = self.plain(Kind.DELIVER, now)
        row.config = config
        row.sequence, row.stamp = bundle.sequence, bundle.stamp
        row.origin, row.first, row.count = bundle.origin, bundle.number, bundle.count
        row.service = bundle.service
        row.transitional = transitional
        return Emit(row)

    def transitional(self, now: Instant, config: ConfigId, members: tuple[Member, ...]) -> Emit:
        row = self.plain(Kind.TRANSITIONAL, now)
        row.config = config
        row.members = members
        return Emit(row)

    def install(self, now: Instant, installed: Installed) -> Emit:
        row = self.plain(Kind.INSTALL, now)
        row.config = installed.configuration.id
        row.base = installed.base
        row.members = installed.configuration.members
        row.detail = installed.evidence
        return Emit(row)

    def view(
        self,
        now: Instant,
        session: int,
        group: GroupName,
        views: tuple[ViewId, ViewId | None],
        members: tuple[SessionId, ...],
        together: tuple[SessionId, ...],
        cause: Cause,
    ) -> Emit:
        row = self.plain(Kind.VIEW, now)
        row.session = session
        row.groups = (group,)
        row.views = views
        row.sessions = members
        row.together = together
        row.reason = cause
        return Emit(row)

    def about_view(
        self, kind: Kind, now: Instant, session: int, group: GroupName, view: ViewId
    ) -> Emit:
        row = self.plain(kind, now)
        row.session = session
        row.groups = (group,)
        row.views = (view,)
        return Emit(row)

    def drop(self, now: Instant, peer: int, error: DecodeError) -> Emit:
        row = self.plain(Kind.DROP, now)
        row.peer = peer
        row.reason = error.reason
        row.value = 1
        return Emit(row)
