"""The records of a session, written by the client itself.

The rows are those that the daemon writes for the session (protocol/sessions, protocol/groups),
so that what senders submitted can be judged against what receivers were handed without asking
any daemon. A refused join or leave takes no number, so rows behind one that is under way wait.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple, Protocol
from zlib import crc32

from antiphon.client.events import View
from antiphon.client.inbox import Joined
from antiphon.client.numbering import DEFINE, JOIN, Change
from antiphon.client.outbox import Request
from antiphon.core import effects
from antiphon.core.ids import GroupName, SessionId, ViewId
from antiphon.core.service import Service
from antiphon.core.trace import Kind, Record
from antiphon.wire.body import Body, Table, read_body


class Sink(Protocol):
    """Takes rows: records.writer.SegmentWriter, or anything like it."""

    def add(self, record: Record) -> object: ...
    def close(self) -> object: ...


class Waiting(NamedTuple):
    """A row that is not written yet, and the change that it reports, if it is one."""

    row: Record
    change: Change | None


class ClientRecords:
    def __init__(
        self, sink: Sink, clock: Callable[[], int], me: SessionId, private: GroupName
    ) -> None:
        self._sink = sink
        self._clock = clock
        self._me = me
        self._private = private
        self._waiting: deque[Waiting] = deque()
        self._under_way: set[Change] = set()
        self._spill: Callable[[int], object] | None = getattr(sink, "maybe_rotate", None)
        sink.add(self._row(Kind.OPEN))

    def close(self, reason: str, number: int) -> None:
        """`number` is what the daemon gives to the end of a session that said goodbye."""
        self._under_way.clear()
        self._write_settled()
        row = self._row(Kind.CLOSE)
        row.reason = reason
        self._sink.add(row)
        if reason == "client":
            self._sink.add(self._change(number))

    def spill(self) -> None:
        """Before what the rows tell of leaves the process; not every sink wants to know."""
        if self._spill is not None:
            self._spill(self._clock())

    # Requests.

    def ask(self, change: Change, number: int) -> None:
        self._under_way.add(change)
        if change.what != DEFINE:
            row = self._row(Kind.JOIN if change.what == JOIN else Kind.LEAVE)
            row.groups = (change.group,)
            self._waiting.append(Waiting(row, change))
        self._waiting.append(Waiting(self._change(number), change))

    def submit(self, request: Request, first: int, table: Table) -> None:
        """`table` is what the session has defined."""
        body = read_body(request.body, request.count, table)
        rows = self._messages(Kind.SUBMIT, self._me, first, request.service, body)
        for row in rows:
            row.detail = "discard" if request.self_discard else ""
            self._waiting.append(Waiting(row, None))
        self._write_settled()

    def settle(self, change: Change | None, what: str) -> None:
        """It has been ordered, if it is under way: the request comes before its effect."""
        if change is not None and change.what == what:
            self._under_way.discard(change)
            self._write_settled()

    def refuse(self, change: Change) -> None:
        """It never was: later rows have one number less."""
        self._under_way.discard(change)
        kept: deque[Waiting] = deque()
        below = 0
        for waiting in self._waiting:
            row = waiting.row
            if waiting.change == change:
                below = 1
                continue
            if row.kind is Kind.SUBMIT and row.service != Service.UNRELIABLE:
                row.first -= below
            kept.append(waiting)
        self._waiting = kept
        self._write_settled()

    def _write_settled(self) -> None:
        waiting = self._waiting
        while waiting and waiting[0].change not in self._under_way:
            self._sink.add(waiting.popleft().row)

    # News.

    def hand(self, told: effects.Message, body: Body, joined: Joined) -> None:
        mine = [
            tuple(name for name in names if name in joined or name == self._private)
            for names in body.table
        ]
        rows = self._messages(Kind.HAND, told.origin, told.first, told.service, body, told.chosen)
        for row in rows:
            row.groups = mine[body.destinations[row.first - told.first]]
            row.views = tuple(_view_id(joined.get(name)) for name in row.groups)
            self._sink.add(row)

    def view(self, view: View, old: View | None) -> None:
        row = self._row(Kind.VIEW)
        row.groups = (view.group,)
        row.views = (view.id, _view_id(old))
        row.sessions = tuple(member.id for member in view.members)
        row.together = view.together
        row.reason = view.cause
        self._sink.add(row)

    def signal(self, group: GroupName, view: ViewId) -> None:
        self._about_view(Kind.SIGNAL, group, view)

    def left(self, group: GroupName, last: View) -> None:
        self._about_view(Kind.LEFT, group, last.id)

    # Rows.

    def _about_view(self, kind: Kind, group: GroupName, view: ViewId) -> None:
        row = self._row(kind)
        row.groups, row.views = (group,), (view,)
        self._sink.add(row)

    def _change(self, number: int) -> Record:
        """A join, leave or end: a message to the daemons, and to no group."""
        row = self._row(Kind.SUBMIT)
        row.origin, row.first, row.count = self._me, number, 1
        row.service = Service.AGREED
        row.detail = "change"
        return row

    def _messages(
        self,
        kind: Kind,
        origin: SessionId,
        first: int,
        service: Service,
        body: Body,
        chosen: Sequence[int] = (),
    ) -> Iterator[Record]:
        """A row per run of neighbours with one destination."""
        for start, count in _runs(body, chosen):
            row = self._row(kind)
            row.origin, row.first, row.count, row.service = origin, first + start, count, service
            row.groups = body.table[body.destinations[start]]
            payloads = body.together(start, count)
            row.value, row.size = crc32(payloads), len(payloads)
            yield row

    def _row(self, kind: Kind) -> Record:
        me = self._me
        return Record(kind, self._clock(), me.daemon, me.incarnation, me.number)


def _runs(body: Body, chosen: Sequence[int]) -> Iterator[tuple[int, int]]:
    """(index of the first message, count): if only some are chosen, the neighbours among them."""
    picked = set(chosen)
    for start, count, _ in body.runs():
        if not picked:
            yield start, count
            continue
        for is_mine, group in groupby(range(start, start + count), picked.__contains__):
            if is_mine:
                indices = list(group)
                yield indices[0], len(indices)


def _view_id(view: View | None) -> ViewId | None:
    return None if view is None else view.id
