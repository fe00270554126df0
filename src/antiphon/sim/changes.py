"""What a change of configuration costs its clients, read from the records.

A daemon's *change* lasts from the moment it leaves `operational` to the install. Sessions
go on submitting all the while and nothing is refused (TR-69 to TR-73). Measured per change
and daemon:

    closed     from the freeze to the install: nothing is stamped or delivered
    waited     the longest that a message submitted in the change waited for its stamp
    silence    the longest time without a delivery around the change, if there was work

and, over the run, how many messages were accepted in each phase, how many of them were
stamped and delivered by their own daemon, and how many never can be: their session or its
daemon ended first.
"""

from bisect import bisect_left

import msgspec

from antiphon.core.ids import SessionId
from antiphon.core.service import Service
from antiphon.core.trace import Kind, Record

OPERATIONAL = "operational"
COLLECT = "collect"

MessageKey = tuple[SessionId, bool, int]
Life = tuple[int, int]


class Change(msgspec.Struct, frozen=True):
    node: int
    began: int
    ended: int
    closed: int
    waited: int
    silence: int


class Phase(msgspec.Struct):
    """Messages accepted in one state of membership. Unreliable ones may be lost and are
    not counted."""

    accepted: int = 0
    delivered: int = 0
    excused: int = 0

    @property
    def owed(self) -> int:
        return self.accepted - self.delivered - self.excused


class Changes(msgspec.Struct):
    changes: list[Change]
    phases: dict[str, Phase]


class _Daemon:
    """One life of a daemon, as its records come by."""

    def __init__(self) -> None:
        self.state = OPERATIONAL
        self.left_at = 0
        self.frozen_at = 0
        self.deliveries: list[int] = []
        self.submitted: dict[MessageKey, tuple[int, str]] = {}
        self.waits: list[tuple[int, int]] = []
        self.spans: list[tuple[int, int, int]] = []
        self.delivered: set[MessageKey] = set()


def measure(records: list[Record]) -> Changes:
    """All changes of a run, and what became of the messages of each phase."""
    daemons: dict[Life, _Daemon] = {}
    ended: set[Life | tuple[int, int, int]] = set()
    for record in records:
        life: Life = (record.node, record.incarnation)
        daemon = daemons.get(life)
        if daemon is None:
            daemon = daemons[life] = _Daemon()
        if record.kind is Kind.STOP:
            ended.add(life)
        elif record.kind is Kind.CLOSE:
            ended.add((*life, record.session))
        else:
            _note(daemon, record)
    changes = [
        change for (node, _), daemon in sorted(daemons.items()) for change in _of(node, daemon)
    ]
    phases: dict[str, Phase] = {}
    for owner, daemon in sorted(daemons.items()):
        for key, (_, state) in daemon.submitted.items():
            phase = phases.setdefault(state, Phase())
            phase.accepted += 1
            if key in daemon.delivered:
                phase.delivered += 1
            elif owner in ended or (*owner, key[0].number) in ended:
                phase.excused += 1
    return Changes(changes, phases)


def _note(daemon: _Daemon, record: Record) -> None:
    kind = record.kind
    if kind is Kind.ENTER:
        _enter(daemon, record)
    elif kind is Kind.SUBMIT and record.service != Service.UNRELIABLE:
        for key in _keys(record):
            daemon.submitted[key] = (record.time, daemon.state)
    elif kind is Kind.SEND and record.service != Service.UNRELIABLE:
        for key in _keys(record):
            if key in daemon.submitted:
                daemon.waits.append((daemon.submitted[key][0], record.time))
    elif kind is Kind.DELIVER:
        daemon.deliveries.append(record.time)
        if (record.origin.daemon, record.origin.incarnation) == (record.node, record.incarnation):
            daemon.delivered.update(_keys(record))


def _enter(daemon: _Daemon, record: Record) -> None:
    if daemon.state == OPERATIONAL and record.reason != OPERATIONAL:
        daemon.left_at = record.time
    if record.reason == COLLECT and daemon.state != COLLECT:
        daemon.frozen_at = record.time
    if record.reason == OPERATIONAL and daemon.state != OPERATIONAL:
        daemon.spans.append((daemon.left_at, daemon.frozen_at, record.time))
    daemon.state = record.reason


def _keys(record: Record) -> list[MessageKey]:
    reliable = record.service != Service.UNRELIABLE
    return [(record.origin, reliable, record.first + at) for at in range(record.count)]


def _of(node: int, daemon: _Daemon) -> list[Change]:
    """Deliveries and waits that lie across each span of the change."""
    found = []
    for began, frozen, ended in daemon.spans:
        waits = [sent - asked for asked, sent in daemon.waits if began <= asked <= ended]
        before = bisect_left(daemon.deliveries, frozen) - 1
        after = bisect_left(daemon.deliveries, ended)
        silence = 0
        if waits and before >= 0 and after < len(daemon.deliveries):
            silence = daemon.deliveries[after] - max(daemon.deliveries[before], began)
        waited = max(waits, default=0)
        found.append(Change(node, began, ended, ended - frozen, waited, silence))
    return found
