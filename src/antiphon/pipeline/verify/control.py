"""All that is not about messages: judged by the judges themselves, and made into facts.

Rows about configurations, views and sessions are few: they grow with changes, not with messages.
So those of a history are read in one task, by the reading of check/, and judged there as they
stand. What the passes over messages have to know comes back as facts.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from antiphon.check import judge
from antiphon.check.findings import Violation
from antiphon.check.history import ConfigStay, Session, ViewStay
from antiphon.check.pieces import NEVER
from antiphon.check.progress import stable_configurations
from antiphon.check.reading import Reading
from antiphon.core.ids import (
    ConfigId,
    DaemonId,
    GroupName,
    Incarnation,
    Member,
    SessionId,
    ViewId,
)
from antiphon.core.trace import DAEMON, Kind, Record
from antiphon.pipeline.verify.first_look import ROWS, packed
from antiphon.pipeline.verify.histories import Segments
from antiphon.pipeline.verify.names import Longs
from antiphon.pipeline.verify.stories import placed, plain, records_of
from antiphon.records.arrow import load
from antiphon.records.schema import COLUMNS

PLACED_ROWS = "hist int, blob binary"

Place = tuple[int, int]
ALWAYS: Place = (0, -1)
NOWHERE: Place = (1 << 42, 0)
"""Behind every row."""

ProcessId = tuple[int, int, int]
"""Daemon, life, session; DAEMON for the daemon itself."""


class DaemonStay(NamedTuple):
    daemon: int
    config: ConfigId
    begins: Place
    turns: Place
    """Where it was told a transitional set."""

    comrades: tuple[int, ...]
    owes: bool
    following: ConfigId | None


class SessionStay(NamedTuple):
    session: int
    group: GroupName
    view: ViewId
    begins: Place
    ends: Place
    signalled: Place
    along: tuple[int, ...]
    """Daemons that come along where the view became transitional."""

    owes: bool
    following: ViewId | None
    membership: int
    is_last: bool
    """It is there at the end of the history."""


class Facts(NamedTuple):
    """What a history's control rows say. Processes are numbers: places in `processes`."""

    history: int
    ended: bool
    processes: list[ProcessId]
    homes: list[int]
    up: list[bool]
    stopped: list[int]
    """Time of its end; −1."""

    left: list[frozenset[GroupName]]
    """The groups that a session ever asked to leave."""

    rests_in: list[ConfigId]
    """Where each daemon, or a session's daemon, is at the end."""

    daemon_stays: list[DaemonStay]
    session_stays: list[SessionStay]
    configs: dict[ConfigId, tuple[int, ...]]
    stable: dict[ConfigId, tuple[int, ...]]
    views: dict[tuple[GroupName, ViewId], tuple[int, ...]]
    violations: list[Violation]


class Named(NamedTuple):
    """Processes and origins that rows about messages name, by history: asked for only if the
    control rows do not tell of all of them."""

    processes: dict[int, list[ProcessId]]
    origins: dict[int, list[ProcessId]]


class ControlReading(Reading):
    """Keeps also where a session was out of a group."""

    def __init__(self, records: Sequence[Record], ended: bool) -> None:
        self.ends: dict[ViewStay, int] = {}
        self.strangers: list[ProcessId] = []
        super().__init__(records, ended)

    def _left(self, position: int, record: Record) -> None:
        session = self._session(record)
        for group in record.groups:
            stay = session.current.get(group)
            if stay is not None:
                self.ends[stay] = position
        super()._left(position, record)

    def meet(self, processes: Iterable[ProcessId], origins: Iterable[ProcessId]) -> None:
        """Processes that only rows about messages name. An origin need not be a process."""
        for daemon, life, session in processes:
            row = Record(Kind.OPEN, 0, DaemonId(daemon), Incarnation(life), session)
            self._daemon(row)
            if session != DAEMON:
                self._session(row)
        for daemon, life, session in origins:
            row = Record(Kind.OPEN, 0, DaemonId(daemon), Incarnation(life), session)
            self._daemon(row)
            if session and (daemon, life, session) not in self.sessions:
                self.strangers.append((daemon, life, session))


def read_control(
    rows: DataFrame,
    stories: DataFrame | None,
    segments: Segments,
    clients: Longs,
    ended: bool | None,
    named: Named,
) -> list[Facts]:
    """One task for each history; `ended` as for the judges, None: if a row says so."""
    few = rows.where(F.col("what") == ROWS).mapInArrow(_placing(segments, clients), PLACED_ROWS)
    if stories is not None:
        told = stories.where(F.col("what") == ROWS)
        # Clients tell of the one history of daemons and clients.
        few = few.union(told.select(F.lit(0).alias("hist"), "blob"))
    histories = segments.histories
    work = _reader([one.end_us for one in histories], ended, named)
    packed = few.groupBy("hist").applyInArrow(work, "hist int, facts binary").collect()
    found = {row.hist: pickle.loads(row.facts) for row in packed}
    for history, one in enumerate(histories):
        if history not in found:  # messages, and nothing else
            found[history] = facts_of(history, [], [], one.end_us, ended, named)
    return [found[history] for history in range(len(histories))]


def _placing(segments: Segments, clients: Longs) -> Callable[[Iterable[Any]], Iterator[Any]]:
    def work(batches: Iterable[Any]) -> Iterator[Any]:
        pa = load()
        for batch in batches:
            for line in batch.to_pylist():
                table = placed(line["run"], line["blob"], segments, clients)
                history = pa.array([segments.history_of[line["run"]]], pa.int32())
                arrays = [history, pa.array([packed(table)])]
                yield pa.RecordBatch.from_arrays(arrays, names=["hist", "blob"])

    return work


def _reader(ends: list[int], ended: bool | None, named: Named) -> Callable[[Any], Any]:
    def work(table: Any) -> Any:
        pa = load()
        history = table.column("hist")[0].as_py()
        blobs = table.column("blob").to_pylist()
        tables = [pa.ipc.open_stream(blob).read_all() for blob in blobs]
        names = [*COLUMNS, "t", "tie"]
        rows = pa.concat_tables([plain(table.select(names)) for table in tables])
        rows = rows.sort_by([("t", "ascending"), ("tie", "ascending")])
        places = list(
            zip(rows.column("t").to_pylist(), rows.column("tie").to_pylist(), strict=True)
        )
        facts = facts_of(history, records_of(rows), places, ends[history], ended, named)
        columns = [pa.array([history], pa.int32()), pa.array([pickle.dumps(facts)], pa.binary())]
        return pa.Table.from_arrays(columns, names=["hist", "facts"])

    return work


def facts_of(
    history: int,
    records: list[Record],
    places: list[Place],
    end_us: int,
    ended: bool | None,
    named: Named,
) -> Facts:
    if ended is None:
        ended = any(record.kind is Kind.QUIET for record in records)
    # The judges take the last row's time for the end, which may be a message's.
    rows = [*records, Record(Kind.FAULT, end_us, DaemonId(0))]
    violations = judge(rows, ended)
    reading = ControlReading(rows, ended)
    reading.meet(named.processes.get(history, ()), named.origins.get(history, ()))
    return _Collector(reading, [*places, NOWHERE]).facts(history, violations)


class _Collector:
    """Names become numbers."""

    def __init__(self, reading: ControlReading, places: list[Place]) -> None:
        self._reading = reading
        self._places = places
        self._processes: list[ProcessId] = [
            *((*member, DAEMON) for member in reading.daemons),
            *reading.sessions,
        ]
        # Daemons also send themselves; such an origin is no process, nor is one made up.
        self._origins: list[ProcessId] = [
            *((*member, 0) for member in reading.daemons),
            *reading.strangers,
        ]
        self._processes += self._origins
        self._numbers = {one: number for number, one in enumerate(self._processes)}
        self._memberships: dict[int, int] = {}

    def facts(self, history: int, violations: list[Violation]) -> Facts:
        reading = self._reading
        daemons, sessions = list(reading.daemons.values()), list(reading.sessions.values())
        senders = [reading.daemons[one[:2]] for one in self._origins]
        homes = [*(one.daemon for one in sessions), *senders]
        nothing = frozenset[GroupName]()
        stable = stable_configurations(reading)
        return Facts(
            history,
            reading.ended,
            self._processes,
            self._daemons(one.member for one in (*daemons, *homes)),
            [*(one.up for one in daemons), *(one.up for one in sessions)]
            + [one.up for one in senders],
            [self._place(one.stopped)[0] if not one.up else -1 for one in (*daemons, *homes)],
            [nothing for _ in daemons]
            + [frozenset(one.leaves) for one in sessions]
            + [nothing for _ in senders],
            [one.stay.config for one in (*daemons, *homes)],
            [self._daemon_stay(stay) for one in daemons for stay in one.stays],
            [self._session_stay(one, stay) for one in sessions for stay in one.stays],
            {config: self._known(stays[0]) for config, stays in reading.installs.items()},
            {
                config: tuple(self._daemons(one.member for one in inside))
                for config, inside in stable.items()
            },
            {place: self._sessions(stays[0].members) for place, stays in reading.views.items()},
            violations,
        )

    def _place(self, position: int) -> Place:
        return NOWHERE if position == NEVER else self._places[position]

    def _daemons(self, members: Iterable[Member]) -> list[int]:
        numbers = (self._numbers.get((*member, DAEMON)) for member in members)
        return [number for number in numbers if number is not None]

    def _sessions(self, members: Iterable[SessionId]) -> tuple[int, ...]:
        numbers = (self._numbers.get((*member,)) for member in members)
        return tuple(number for number in numbers if number is not None)

    def _known(self, stay: ConfigStay) -> tuple[int, ...]:
        return tuple(self._daemons(stay.members))

    def _daemon_stay(self, stay: ConfigStay) -> DaemonStay:
        daemon = self._daemons([stay.daemon.member])[0]
        begins = ALWAYS if stay.previous is None else self._place(stay.position)
        turns = self._place(stay.transitional[0][0]) if stay.transitional else NOWHERE
        following = None if stay.next is None else stay.next.config
        comrades = tuple(self._daemons(stay.comrades or ()))
        return DaemonStay(
            daemon, stay.config, begins, turns, comrades, stay.owes(self._reading.ended), following
        )

    def _session_stay(self, session: Session, stay: ViewStay) -> SessionStay:
        ends = self._reading.ends.get(stay, NEVER) if stay.next is None else stay.next.position
        along = stay.signal_stay.comrades if stay.signal_stay is not None else None
        membership = self._memberships.setdefault(id(stay.membership), len(self._memberships))
        return SessionStay(
            self._sessions([session.id])[0],
            stay.group,
            stay.view,
            self._place(stay.position),
            self._place(ends),
            self._place(stay.signalled),
            tuple(self._daemons(along or ())),
            stay.owes(self._reading.ended),
            None if stay.next is None else stay.next.view,
            membership,
            session.current.get(stay.group) is stay,
        )
