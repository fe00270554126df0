"""Something good happens in the end, and nothing grows without bound (P1 to P4)."""

from antiphon.check.findings import Findings, and_more
from antiphon.check.history import Daemon, Session, ViewStay, config_name, view_name
from antiphon.check.reading import Place, Reading
from antiphon.core.ids import ConfigId, GroupName, Member
from antiphon.core.service import Service
from antiphon.core.trace import Cause, Kind

SLOW = "slow"
"""The reason with which a session that does not read is closed."""


def judge_progress(reading: Reading, findings: Findings) -> None:
    _bounds(reading, findings)
    _cut_off_with_cause(reading, findings)
    if reading.ended and reading.records:
        _one_configuration(reading, findings)
        _nothing_pending(reading, findings)
        _cut_off_is_seen(reading, findings)


def _one_configuration(reading: Reading, findings: Findings) -> None:
    """P1: in the end those that can reach each other are in one configuration of just them,
    and none of them installed another in the second half of the quiet time."""
    if reading.quiet is None:
        return
    end = reading.time(reading.end)
    rest = reading.quiet + (end - reading.quiet) // 2
    for record in reading.reaches:
        reached = tuple(sorted(record.members))
        here = reading.life(record)
        if here is None or not here.up:
            continue
        mine = here.stay
        if tuple(sorted(mine.members)) != reached:
            told = f"{here} ends in {config_name(mine.config)} of {_listed(mine.members)}"
            findings.add("P1", here, reading.end, f"{told}, but reaches {_listed(reached)}")
        for member in reached:
            other = reading.daemons.get(member)
            theirs = None if other is None else other.stay.config
            if theirs != mine.config:
                told = (
                    f"{here} ends in {config_name(mine.config)}, and daemon {member.daemon}/"
                    f"{member.incarnation}, which it reaches, in {config_name(theirs)}"
                )
                findings.add("P1", here, reading.end, told)
        if reading.time(mine.position) > rest:
            told = (
                f"{here} installs {config_name(mine.config)} at {reading.time(mine.position)}, "
                f"though all is quiet since {reading.quiet} and the run ends at {end}"
            )
            findings.add("P1", here, mine.position, told)


def _stable(reading: Reading) -> dict[ConfigId, list[Daemon]]:
    """P2 speaks of a stable view: all its members are up and in it at the end. Where it is
    said who must reach whom, it also is what P1 demands; else P1 is broken, not P2."""
    reached = {}
    for record in reading.reaches:
        life = reading.life(record)
        if life is not None:
            reached[life.member] = tuple(sorted(record.members))
    found = {}
    for config, stays in reading.installs.items():
        daemons = [reading.daemons.get(member) for member in stays[0].members]
        inside = [
            daemon
            for daemon in daemons
            if daemon is not None and daemon.up and daemon.stay.config == config
        ]
        wanted = tuple(sorted(stays[0].members))
        owed = not reached or all(reached.get(daemon.member) == wanted for daemon in inside)
        if owed and len(inside) == len(daemons):
            found[config] = inside
    return found


def _nothing_pending(reading: Reading, findings: Findings) -> None:
    """P2: at the end of a run that came to rest every reliable or stronger message of a
    session that lives was stamped, and what was stamped in a stable configuration reached
    all its members."""
    stable = _stable(reading)
    waiting: dict[Session, int] = {}
    stamped: dict[ConfigId, int] = {}
    for piece in reading.pieces:
        if piece.service < Service.RELIABLE:
            continue
        sender = reading.sessions.get(piece.origin)
        if piece.config is not None:
            stamped[piece.config] = stamped.get(piece.config, 0) | piece.bit
        elif sender is not None and sender.up and sender.daemon.stay.config in stable:
            waiting[sender] = waiting.get(sender, 0) | piece.bit
    for sender, mask in waiting.items():
        first = reading.chosen(mask)[0]
        told = f"{sender} submitted {first} at {reading.time(first.submitted)}"
        findings.add("P2", sender, reading.end, f"{told}, which is never sent{and_more(mask)}")
    for config, daemons in stable.items():
        for daemon in daemons:
            missing = stamped.get(config, 0) & ~daemon.delivered
            if missing:
                piece = reading.chosen(missing)[0]
                told = (
                    f"{daemon} stays in {config_name(config)} and does not deliver {piece}, "
                    f"sent there at {reading.time(piece.sent)}{and_more(missing)}"
                )
                findings.add("P2", daemon, reading.end, told)
    _nothing_pending_in_views(reading, stable, findings)


def _nothing_pending_in_views(
    reading: Reading, stable: dict[ConfigId, list[Daemon]], findings: Findings
) -> None:
    """P2 at the group level: what was stamped in a stable configuration for a view is handed
    to every session that is still in that view and does not want to leave it.

    An earlier configuration may have ended before a message of a sender outside the group
    came to anybody, while the view lived on; that is D4's matter.
    """
    sent: dict[Place, int] = {}
    for piece in reading.pieces:
        if piece.service >= Service.RELIABLE and piece.config in stable:
            for group, view in piece.views.items():
                if view is not None:
                    sent[group, view] = sent.get((group, view), 0) | piece.bit
    for (group, view), mask in sent.items():
        for stay in reading.views.get((group, view), ()):
            session = stay.session
            missing = mask & ~session.handed & ~session.discards
            if missing and session.current.get(group) is stay and stay.owes(True):
                piece = reading.chosen(missing)[0]
                told = (
                    f"{session} stays in {view_name(view)} of {group!r} and is not handed "
                    f"{piece}, sent there at {reading.time(piece.sent)}{and_more(missing)}"
                )
                findings.add_for("P2", session, reading.end, told, piece, group)


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
            for session in reading.sessions.values():
                if session is not slow:
                    _sees_disconnect(reading, slow, session, group, closed_at, findings)


def _sees_disconnect(
    reading: Reading,
    slow: Session,
    session: Session,
    group: GroupName,
    closed_at: int,
    findings: Findings,
) -> None:
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


def _listed(members: tuple[Member, ...]) -> str:
    return "{" + " ".join(f"{daemon}/{incarnation}" for daemon, incarnation in members) + "}"
