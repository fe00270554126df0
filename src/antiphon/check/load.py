"""Nothing grows without bound, and one slow client harms nobody else (P3, P4)."""

from antiphon.check.findings import Findings
from antiphon.check.history import Session, ViewStay, view_name
from antiphon.check.reading import Reading
from antiphon.core.ids import GroupName, ViewId
from antiphon.core.trace import Cause, Kind

SLOW = "slow"
"""The reason with which a session that does not read is closed."""


def judge_load(reading: Reading, findings: Findings) -> None:
    _bounds(reading, findings)
    _cut_off_with_cause(reading, findings)
    if reading.ended:
        _cut_off_is_seen(reading, findings)


def _bounds(reading: Reading, findings: Findings) -> None:
    """P3, P4: neither a session's queue nor a daemon's buffers exceed their limit."""
    for position, record in reading.loads:
        if record.value > record.limit:
            name = f"daemon {record.node}/{record.incarnation}"
            if record.kind is Kind.BUFFERS:
                told = f"{name} holds {record.value} packets, more than {record.limit}"
                findings.add("P4", name, position, told)
            else:
                name = f"session {record.node}/{record.incarnation}/{record.session}"
                told = f"{name} has {record.value} entries waiting, more than {record.limit}"
                findings.add("P3", name, position, told)


def _cut_off_with_cause(reading: Reading, findings: Findings) -> None:
    """P3: only a session whose queue was full is closed as slow."""
    for position, session in reading.closes:
        record = session.close
        if record is not None and record.reason == SLOW:
            backlog = max(session.backlog, record.value)
            if backlog < record.limit:
                told = f"{session} is closed as slow with at most {backlog} entries waiting"
                findings.add("P3", session, position, f"{told}, less than {record.limit}")


def _cut_off_is_seen(reading: Reading, findings: Findings) -> None:
    """P3: who was in a group with a session that was closed as slow sees it disconnect.

    Asked only where the daemon of the slow session stays up: its end is a network change.
    Who is parted from that daemon may see a network change instead.
    """
    for closed_at, slow in reading.closes:
        record = slow.close
        if record is None or record.reason != SLOW or not slow.daemon.up:
            continue
        for group, last in slow.current.items():
            if last.membership.leaving:
                continue
            stays = (stay for stay in slow.stays if stay.membership is last.membership)
            since = min(stay.view for stay in stays)
            for session in reading.sessions.values():
                if session is not slow:
                    _sees_disconnect(reading, slow, session, group, since, closed_at, findings)


def _sees_disconnect(
    reading: Reading,
    slow: Session,
    session: Session,
    group: GroupName,
    since: ViewId,
    closed_at: int,
    findings: Findings,
) -> None:
    """`since`: its first view of this membership; how an earlier one ended is no matter."""
    current = session.current.get(group)
    if current is not None and session.up and slow.id in current.members:
        if not current.membership.leaving:
            told = f"{session} ends in {view_name(current.view)} of {group!r} with {slow}"
            told += f", which was closed as slow at {reading.time(closed_at)}"
            findings.add("P3", session, reading.end, told)
    for stay in session.stays:
        before = stay.previous
        if before is None or stay.group != group or stay.position < closed_at:
            continue
        if before.view < since:
            continue
        gone = slow.id in before.members and slow.id not in stay.members
        if gone and stay.record.reason != Cause.DISCONNECT and _came_along(stay, slow):
            told = (
                f"{session} sees {slow}, closed as slow, leave {group!r} in "
                f"{view_name(stay.view)} by cause {stay.record.reason}"
            )
            findings.add("P3", session, stay.position, told)


def _came_along(stay: ViewStay, other: Session) -> bool:
    """The daemon of the other was not parted from that of this session at this view."""
    if stay.record.reason != Cause.NETWORK:
        return True
    home = stay.session.daemon
    for config_stay in reversed(home.stays):
        if config_stay.position < stay.position:
            before = config_stay.previous
            along = before.comrades if before is not None else None
            return other.daemon.member in (along or ())
    return False
