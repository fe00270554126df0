"""Nothing invented, nothing twice, nothing of one's own lost (D1, D3, S1)."""

from antiphon.check.findings import Findings, and_more
from antiphon.check.history import Daemon, Process, Session, config_name, view_name
from antiphon.check.pieces import NEVER, Piece
from antiphon.check.reading import Reading, run_text, union
from antiphon.core.ids import SessionId
from antiphon.core.service import Service


def judge_integrity(reading: Reading, findings: Findings) -> None:
    for daemon in reading.daemons.values():
        _at_most_once(daemon, "delivers", findings)
        _only_what_was_stamped(daemon, findings)
    for session in reading.sessions.values():
        _at_most_once(session, "is handed", findings)
        _only_what_was_submitted(session, findings)
    _stamped_once(reading, findings)
    _unreliable_at_once(reading, findings)
    _own_deliveries(reading, findings)
    _own_hands(reading, findings)


def _promise(run_is_unreliable: bool) -> str:
    """At most once and whole is D1, and for unreliable messages S1, which says it again."""
    return "S1" if run_is_unreliable else "D1"


def _at_most_once(process: Process, does: str, findings: Findings) -> None:
    """D1, S1: a process delivers a message at most once."""
    seen = 0
    for position, _, run in process.events:
        if seen & run.mask:
            again = [piece for piece in run.pieces if piece.bit & seen][0]
            first = _first_time(process, again)
            told = f"{process} {does} {again} a second time, after {findings.time(first)}"
            findings.add(_promise(again.unreliable), process, position, told)
        seen |= run.mask


def _first_time(process: Process, piece: Piece) -> int:
    return next(position for position, _, run in process.events if run.mask & piece.bit)


def _only_what_was_stamped(daemon: Daemon, findings: Findings) -> None:
    """D1 at the configuration level: a delivery needs an earlier stamping, of that service."""
    for position, record, run in daemon.deliveries:
        for piece in run.pieces:
            if piece.sent > position:
                later = "" if piece.sent == NEVER else f" before {findings.time(piece.sent)}"
                told = f"{daemon} delivers {piece}, which nobody sent{later}"
                findings.add("D1", daemon, position, told)
            elif piece.service != record.service:
                told = f"{daemon} delivers {piece} as {Service(record.service).name.lower()}"
                findings.add("D1", daemon, position, told)


def _only_what_was_submitted(session: Session, findings: Findings) -> None:
    """D1 at the group level: a hand needs an earlier submit of the same messages to the
    same groups, with the same service and content.

    Both rows are cut into the same runs, so one checksum stands against the other.
    """
    for position, record, run in session.hands:
        piece = run.pieces[0]
        submit = piece.submit
        if piece.sent > position:
            told = f"{session} is handed {run_text(run)}, which no daemon stamped before"
            findings.add("D1", session, position, told)
        if submit is None or piece.submitted > position:
            told = f"{session} is handed {run_text(run)}, which nobody submitted before"
            findings.add("D1", session, position, told)
            continue
        if submit.first != record.first or submit.count != record.count:
            told = f"{session} is handed {run_text(run)} cut otherwise than it was submitted"
            findings.add("D1", session, position, told)
        elif submit.value != record.value:
            told = f"{session} is handed {piece} with another content than was submitted"
            findings.add(_promise(piece.unreliable), session, position, told)
        if submit.service != record.service:
            told = f"{session} is handed {piece} as {Service(record.service).name.lower()}"
            findings.add("D1", session, position, told)
        for group in record.groups:
            if group not in submit.groups:
                told = f"{session} is handed {piece} for {group!r}, where it was not sent"
                findings.add("D1", session, position, told)


def _stamped_once(reading: Reading, findings: Findings) -> None:
    """D1: what is stamped was submitted, unless by the daemon itself, and has one place; what
    is submitted has a number of its own."""
    seen = 0
    for position, record, run in reading.submits:
        if run.mask & seen:
            told = f"{_name(record.origin)} submits two messages as {run_text(run)}"
            findings.add("D1", _name(record.origin), position, told)
        seen |= run.mask
    for position, record, run in reading.sends:
        name = f"daemon {record.node}/{record.incarnation}"
        for piece in run.pieces:
            send = piece.send
            assert send is not None, "this record is one"
            if record.origin.number and piece.submitted > position:
                told = f"{name} stamps {piece}, which nobody submitted before"
                findings.add("D1", name, position, told)
            if send.config != record.config or send.sequence != record.sequence:
                told = (
                    f"{name} stamps {piece} as {record.sequence} of {config_name(record.config)}; "
                    f"it was {send.sequence} of {config_name(send.config)} before"
                )
                findings.add("D1", name, position, told)


def _name(origin: SessionId) -> str:
    return f"session {origin.daemon}/{origin.incarnation}/{origin.number}"


def _unreliable_at_once(reading: Reading, findings: Findings) -> None:
    """S1: an unreliable bundle waits for nothing: it is delivered in the step in which it
    became whole, that is at the same time, unless the daemon ends in that moment.

    A bundle that comes whole again later is no new one.
    """
    times: dict[tuple[Daemon, int], int] = {}
    for daemon in reading.daemons.values():
        for _, record, run in daemon.deliveries:
            if record.service == Service.UNRELIABLE:
                for piece in run.pieces:
                    times.setdefault((daemon, piece.index), record.time)
    for (position, record, run), daemon in reading.completes:
        if not daemon.up and reading.time(daemon.stopped) == record.time:
            continue
        for piece in run.pieces:
            delivered = times.get((daemon, piece.index), NEVER)
            if delivered > record.time:
                when = "never" if delivered == NEVER else f"only at {delivered}"
                told = f"{daemon} has {piece} whole at {record.time} and delivers it {when}"
                findings.add("S1", daemon, position, told)


def _own_deliveries(reading: Reading, findings: Findings) -> None:
    """D3 at the configuration level: a daemon delivers what it stamped before it goes on to
    the next configuration, and at the latest by the end of the run."""
    reliable = reading.at_least(Service.RELIABLE)
    for daemon in reading.daemons.values():
        for stay in daemon.stays:
            missing = union(stay.sends) & reliable & ~daemon.delivered
            if missing and stay.owes(reading.ended):
                piece = reading.chosen(missing)[0]
                when = stay.next.position if stay.next is not None else reading.end
                told = (
                    f"{daemon} stamped {piece} in {config_name(stay.config)} at "
                    f"{reading.time(piece.sent)} and does not deliver it{and_more(missing)}"
                )
                findings.add("D3", daemon, when, told)


def _own_hands(reading: Reading, findings: Findings) -> None:
    """D3 at the group level: a session that was in the group when its message was stamped
    gets it, unless it asked for self-discard, closed or left.

    It is owed when the session goes on from the view in which the message was stamped, or at
    the end of the run.
    """
    reliable = reading.at_least(Service.RELIABLE)
    for session in reading.sessions.values():
        wanted = reliable & ~session.handed & ~session.discards
        for stay in session.stays:
            for piece in reading.chosen(union(stay.sends) & wanted):
                if stay.group not in piece.views:
                    continue
                view = piece.views[stay.group]
                there = None if view is None else session.within.get((stay.group, view))
                moved = there is not None and there.next is not None
                remains = session.current.get(stay.group)
                lasts = remains is not None and remains.membership is stay.membership
                if moved or (lasts and remains is not None and remains.owes(reading.ended)):
                    told = (
                        f"{session} in {view_name(stay.view)} of {stay.group!r} sent {piece} "
                        f"at {reading.time(piece.sent)} and is not handed it"
                    )
                    findings.add_for("D3", session, reading.end, told, piece, stay.group)
