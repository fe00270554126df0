"""One order of agreed and safe messages, without holes (S5)."""

from antiphon.check.disputes import Dispute, find_dispute, ranks
from antiphon.check.findings import Findings
from antiphon.check.history import ConfigStay, Daemon, Process, Session, ViewStay, config_name
from antiphon.check.pieces import Event, Piece
from antiphon.check.reading import Place, Reading
from antiphon.core.ids import ConfigId
from antiphon.core.service import Service

Befores = dict[int, int]
"""For each message of a configuration, all that somebody is known to order before it."""


def judge_total_order(reading: Reading, findings: Findings) -> None:
    """S5. Where there is no one order, holes in it cannot be asked for."""
    sequences = [(process, _ordered(process.events)) for process in reading.processes()]
    rank = ranks([sequence for _, sequence in sequences])
    if rank is None:
        _report_disputes(reading, sequences, findings)
        return
    befores: dict[ConfigId, Befores] = {}
    for config, stays in reading.installs.items():
        before = _befores([_ordered(stay.events) for stay in stays], rank)
        befores[config] = before
        for stay in stays:
            _holes_at_daemon(reading, stay, before, findings)
    sent_in = _sent_in_views(reading)
    for session in reading.sessions.values():
        for view_stay in session.stays:
            sent = sent_in.get((view_stay.group, view_stay.view), 0)
            _holes_at_session(reading, view_stay, sent, befores, findings)


def _ordered(events: list[Event]) -> list[int]:
    """The numbers of the agreed and safe messages, each where it came first."""
    found = [
        piece.index
        for _, record, run in events
        if record.service >= Service.AGREED
        for piece in run.pieces
    ]
    return list(dict.fromkeys(found))


def _report_disputes(
    reading: Reading, sequences: list[tuple[Process, list[int]]], findings: Findings
) -> None:
    """S5: daemons among themselves, sessions among themselves, and else all together."""
    daemons = [each for each in sequences if isinstance(each[0], Daemon)]
    sessions = [each for each in sequences if isinstance(each[0], Session)]
    found = [dispute for part in (daemons, sessions) if (dispute := find_dispute(part))]
    if not found:
        whole = find_dispute(sequences)
        found = [whole] if whole else []
    for dispute in found:
        _report_dispute(reading, dispute, findings)


def _report_dispute(reading: Reading, dispute: Dispute[Process], findings: Findings) -> None:
    parts = [
        f"{process} delivers {reading.pieces[one]} before {reading.pieces[other]}"
        for process, one, other in dispute
    ]
    process, one, _ = dispute[-1]
    piece = reading.pieces[one]
    position = next(place for place, _, run in process.events if run.mask & piece.bit)
    told = "; ".join(parts)
    group = _open_group(reading, [reading.pieces[number] for _, number, _ in dispute])
    if group is None or not isinstance(process, Session):
        findings.add("S5", process, position, told)
    else:
        findings.add_for("S5", process, position, told, *group)


def _open_group(reading: Reading, pieces: list[Piece]) -> tuple[Piece, str] | None:
    """One of the messages with a group whose member its sender is not, for D8."""
    for piece in pieces:
        for group, view in piece.views.items():
            if view is not None and not reading.is_member(piece.origin, group, view):
                return piece, group
    return None


def _befores(sequences: list[list[int]], rank: dict[int, int]) -> Befores:
    """What somebody delivered before it, directly or by way of others' deliveries.

    Of two messages that no chain of deliveries relates nobody can say which is earlier, so
    neither is demanded before the other.
    """
    direct: dict[int, list[int]] = {}
    pairs: dict[tuple[int, int], None] = {}
    for sequence in sequences:
        pairs.update(dict.fromkeys(zip(sequence, sequence[1:], strict=False)))
        direct.update((number, []) for number in sequence if number not in direct)
    for one, other in pairs:
        if rank[one] < rank[other]:  # else it was delivered before, elsewhere, which is D1's matter
            direct[other].append(one)
    befores: Befores = {}
    for number in sorted(direct, key=rank.__getitem__):
        mask = 0
        for one in direct[number]:
            mask |= befores[one] | (1 << one)
        befores[number] = mask
    return befores


def _holes_at_daemon(
    reading: Reading, stay: ConfigStay, befores: Befores, findings: Findings
) -> None:
    """S5: before n a daemon delivers every earlier message that anybody delivered in that
    configuration: all of them if n comes in the regular part, those of senders in its
    transitional set if n comes in the transitional part.

    Whatever precedes an earlier delivery of this daemon precedes its last one too; so if the
    last one has no hole, none has.
    """
    delivered = stay.daemon.delivered | stay.daemon.spared
    last_regular, last = _last_of(stay.events)
    regular = befores.get(last_regular, 0) & ~delivered
    lacking = befores.get(last, 0) & ~delivered
    if regular or lacking:
        comrades = reading.sent_by(stay.comrades or ())
        holes = regular | lacking & comrades
        for position, record, run in stay.events:
            allowed = comrades if record.transitional else -1
            for piece in run.pieces:
                hole = befores.get(piece.index, 0) & holes & allowed
                if hole:
                    missed = reading.chosen(hole)[0]
                    told = (
                        f"{stay.daemon} delivers {piece} in {config_name(stay.config)} without "
                        f"{missed}, which others deliver before it{_part(record.transitional)}"
                    )
                    findings.add("S5", stay.daemon, position, told)
                    return


def _last_of(events: list[Event]) -> tuple[int, int]:
    """The last ordered message of the regular part, and the last of all; -1 for none."""
    last_regular = last = -1
    for _, record, run in events:
        if record.service >= Service.AGREED:
            last = run.pieces[-1].index
            if not record.transitional:
                last_regular = last
    return last_regular, last


def _part(transitional: bool) -> str:
    return " and whose sender came along" if transitional else ""


def _sent_in_views(reading: Reading) -> dict[Place, int]:
    found: dict[Place, int] = {}
    for piece in reading.pieces:
        if piece.service >= Service.AGREED:
            for group, view in piece.views.items():
                if view is not None:
                    found[group, view] = found.get((group, view), 0) | piece.bit
    return found


def _holes_at_session(
    reading: Reading,
    stay: ViewStay,
    sent: int,
    befores: dict[ConfigId, Befores],
    findings: Findings,
) -> None:
    """S5 at the group level: of the messages sent to the group in a view where the session
    is, before n it is handed every earlier one.

    Whether all of them are owed, or only those of senders that came along, is decided by
    the part of the configuration in which its daemon delivered n, not by the signal of the
    group: a sender outside the group may be lost while all members stay together, and then
    the group sees no change. Only messages of one configuration are compared.
    """
    session, daemon = stay.session, stay.session.daemon
    missing = sent & ~session.handed & ~session.discards
    if not missing:
        return
    for position, record, run in stay.events:
        if record.service < Service.AGREED:
            continue
        for piece in run.pieces:
            config = piece.config
            there = None if config is None else daemon.within.get(config)
            if config is None or there is None:
                continue
            hole = befores.get(config, {}).get(piece.index, 0) & missing
            if hole and _is_transitional(there, piece):
                hole &= reading.sent_by(there.comrades or ())
            if hole:
                missed = reading.chosen(hole)[0]
                told = (
                    f"{session} is handed {piece} to {stay.group!r} without {missed}, "
                    f"which others deliver before it"
                )
                findings.add_for("S5", session, position, told, missed, stay.group)
                return


def _is_transitional(stay: ConfigStay, piece: Piece) -> bool:
    return any(record.transitional for _, record, run in stay.events if run.mask & piece.bit)
