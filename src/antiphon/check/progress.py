"""Something good happens in the end (P1, P2)."""

from collections.abc import Iterable

from antiphon.check.findings import Findings, and_more
from antiphon.check.history import Daemon, Session, ViewStay, config_name, view_name
from antiphon.check.reading import Place, Reading
from antiphon.core.ids import ConfigId, GroupName, Member
from antiphon.core.service import Service

Stable = dict[ConfigId, list[Daemon]]
"""Configurations that last, with their members."""


def judge_progress(reading: Reading, findings: Findings) -> None:
    """P1, P2: owed at the end of a run that came to rest."""
    if reading.ended and reading.records:
        _one_configuration(reading, findings)
        stable = stable_configurations(reading)
        _one_view(reading, stable, findings)
        _nothing_pending(reading, stable, findings)
        _nothing_pending_in_views(reading, stable, findings)
        _requests_fulfilled(reading, stable, findings)


def _one_configuration(reading: Reading, findings: Findings) -> None:
    """P1: in the end those that can reach each other are in one configuration of just them,
    and none of them installed another in the second half of the quiet time."""
    if reading.quiet is None:
        return
    end = reading.time(reading.end)
    rest = reading.quiet + (end - reading.quiet) // 2
    reached: tuple[Member, ...] = ()
    ends: dict[ConfigId | None, Member] = {}
    for record in reading.reaches:
        if reached != record.members:  # mostly all are to reach each other
            reached = tuple(sorted(record.members))
            ends = _ends(reading, reached)
        here = reading.life(record)
        if here is None or not here.up:
            continue
        mine = here.stay
        if mine.members != reached and tuple(sorted(mine.members)) != reached:
            told = f"{here} ends in {config_name(mine.config)} of {_listed(mine.members)}"
            findings.add("P1", here, reading.end, f"{told}, but reaches {_listed(reached)}")
        for theirs, member in ends.items():
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


def _ends(reading: Reading, members: tuple[Member, ...]) -> dict[ConfigId | None, Member]:
    """Where they are in the end, each place with one of those who are there."""
    found: dict[ConfigId | None, Member] = {}
    for member in members:
        daemon = reading.daemons.get(member)
        found.setdefault(None if daemon is None else daemon.stay.config, member)
    return found


def stable_configurations(reading: Reading) -> Stable:
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


def _one_view(reading: Reading, stable: Stable, findings: Findings) -> None:
    """P1 at the group level: in the end all sessions of a stable configuration that are in a
    group are in one view of just them. Asked where P1 is, when all is quiet."""
    if reading.quiet is None:
        return
    inside: dict[tuple[ConfigId, GroupName], list[ViewStay]] = {}
    for session in reading.sessions.values():
        config = session.daemon.stay.config
        if session.up and config in stable:
            for group, stay in session.current.items():
                inside.setdefault((config, group), []).append(stay)
    for (_, group), stays in inside.items():
        present = {stay.session.id for stay in stays}
        for stay in stays:
            name = f"{stay.session} ends in {view_name(stay.view)} of {group!r}"
            if stay.view != stays[0].view:
                other = f"{stays[0].session} in {view_name(stays[0].view)}"
                findings.add("P1", stay.session, reading.end, f"{name}, but {other}")
            elif set(stay.members) != present:
                wrong = sorted(present ^ set(stay.members))
                told = f"{name} of {_listed(stay.members)}, which is wrong about {_listed(wrong)}"
                findings.add("P1", stay.session, reading.end, told)


def _nothing_pending(reading: Reading, stable: Stable, findings: Findings) -> None:
    """P2: at the end of a run that came to rest every reliable or stronger message of a
    session that lives was stamped, and what was stamped in a stable configuration reached
    all its members."""
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
            missing = stamped.get(config, 0) & ~daemon.delivered & ~daemon.spared
            if missing:
                piece = reading.chosen(missing)[0]
                told = (
                    f"{daemon} stays in {config_name(config)} and does not deliver {piece}, "
                    f"sent there at {reading.time(piece.sent)}{and_more(missing)}"
                )
                findings.add("P2", daemon, reading.end, told)


def _nothing_pending_in_views(reading: Reading, stable: Stable, findings: Findings) -> None:
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


def _requests_fulfilled(reading: Reading, stable: Stable, findings: Findings) -> None:
    """P2 for group changes, which are messages too: in the end who last asked to join is in
    the group, and who last asked to leave is not, unless something was refused since."""
    for session in reading.sessions.values():
        if not session.up or session.daemon.stay.config not in stable:
            continue
        for group, (wants_in, position) in session.wishes.items():
            if wants_in is not (group in session.current) and session.refused < position:
                wish = "join" if wants_in else "leave"
                told = f"{session} asked to {wish} {group!r} at {reading.time(position)}"
                findings.add("P2", session, reading.end, f"{told}, and nothing came of it")


def _listed(members: Iterable[tuple[int, ...]]) -> str:
    return "{" + " ".join("/".join(map(str, member)) for member in members) + "}"
