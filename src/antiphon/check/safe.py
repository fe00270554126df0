"""Safe messages: what one delivers, all that count deliver (S6)."""

from antiphon.check.findings import Findings, and_more
from antiphon.check.history import ConfigStay, Session, ViewStay, config_name, view_name
from antiphon.check.pieces import Event, Piece
from antiphon.check.reading import Place, Reading
from antiphon.core.ids import Member, SessionId
from antiphon.core.service import Service


def judge_safe(reading: Reading, findings: Findings) -> None:
    for stays in reading.installs.values():
        _safe_in_configuration(reading, stays, findings)
    for place, view_stays in reading.views.items():
        _safe_in_view(reading, place, view_stays, findings)


def _parts(events: list[Event], turn: int) -> tuple[int, int]:
    """The safe messages before and after a position."""
    regular = transitional = 0
    for position, record, run in events:
        if record.service == Service.SAFE:
            if position < turn:
                regular |= run.mask
            else:
                transitional |= run.mask
    return regular, transitional


def _safe_in_configuration(reading: Reading, stays: list[ConfigStay], findings: Findings) -> None:
    """S6: what one delivers in the regular part, every member delivers; in the transitional
    part, every member of its transitional set.

    A member is excused if it stopped, unless it had gone on to another configuration before.
    A member that never came into the configuration and is up at the end is not excused.
    """
    owed: dict[Member, int] = {}
    for stay in stays:
        regular = transitional = 0
        for _, record, run in stay.events:
            if record.service == Service.SAFE:
                if record.transitional:
                    transitional |= run.mask
                else:
                    regular |= run.mask
        for members, mask in ((stay.members, regular), (stay.comrades or (), transitional)):
            for member in members if mask else ():
                owed[member] = owed.get(member, 0) | mask
    for member, mask in owed.items():
        daemon = reading.daemons.get(member)
        if daemon is None or not mask & ~daemon.delivered & ~daemon.spared:
            continue
        here = daemon.within.get(stays[0].config)
        if (here.owes(reading.ended)) if here is not None else (reading.ended and daemon.up):
            missing = mask & ~daemon.delivered & ~daemon.spared
            piece = reading.chosen(missing)[0]
            told = f"{daemon} does not deliver {piece}, which {_witness(stays, piece)}"
            when = here.next.position if here is not None and here.next else reading.end
            findings.add("S6", daemon, when, told + and_more(missing))


def _witness(stays: list[ConfigStay], piece: Piece) -> str:
    for stay in stays:
        for _, record, run in stay.events:
            if run.mask & piece.bit:
                part = "transitional" if record.transitional else "regular"
                where = f"the {part} part of {config_name(stay.config)}"
                return f"{stay.daemon} delivers in {where} at {record.time}"
    raise AssertionError("somebody delivered it, or it would not be owed")


def _safe_in_view(
    reading: Reading, place: Place, stays: list[ViewStay], findings: Findings
) -> None:
    """S6 at the group level: what a session is handed before it was told that the view became
    transitional, every member of the view is handed; afterwards, every member at a daemon
    that comes along with its own.

    Excused is who closed, left or asked to leave, or whose daemon stopped, unless it had gone
    on to another view before; and a sender that discards its own message.
    """
    group, view = place
    owed: dict[SessionId, int] = {}
    for stay in stays:
        regular, transitional = _parts(stay.events, stay.signalled)
        if regular:
            for member in stay.members:
                owed[member] = owed.get(member, 0) | regular
        if transitional:
            along = stay.signal_stay.comrades if stay.signal_stay is not None else None
            for member in stay.members:
                if Member(member.daemon, member.incarnation) in (along or ()):
                    owed[member] = owed.get(member, 0) | transitional
    for member, mask in owed.items():
        session = reading.sessions.get(member)
        if session is None or not mask & ~session.handed & ~session.discards:
            continue
        if _owes(reading, session, place):
            missing = mask & ~session.handed & ~session.discards
            piece = reading.chosen(missing)[0]
            witness = next(stay.session for stay in stays if stay.mask & piece.bit)
            told = (
                f"{session} is not handed {piece}, which {witness} is handed in "
                f"{view_name(view)} of {group!r}{and_more(missing)}"
            )
            findings.add_for("S6", session, reading.end, told, piece, group)


def _owes(reading: Reading, session: Session, place: Place) -> bool:
    stay = session.within.get(place)
    if stay is not None:
        return stay.owes(reading.ended)
    return reading.ended and session.up and place[0] not in session.leaves
