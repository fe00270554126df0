"""Who stays together sees the same (D2, D4, S2; D8 by way of `Findings.add_for`)."""

from antiphon.check.findings import Findings, and_more
from antiphon.check.history import ConfigStay, ViewStay, config_name, view_name
from antiphon.check.pieces import Piece
from antiphon.check.reading import Reading
from antiphon.core.ids import ConfigId, GroupName, ViewId
from antiphon.core.service import Service


def judge_synchrony(reading: Reading, findings: Findings) -> None:
    _same_configuration(reading, findings)
    _same_view(reading, findings)
    _together_in_configurations(reading, findings)
    _together_in_views(reading, findings)


def _same_configuration(reading: Reading, findings: Findings) -> None:
    """D2: a message is stamped and delivered in one configuration, and both daemons are in
    it at that time."""
    for daemon in reading.daemons.values():
        for stay in daemon.stays:
            name = config_name(stay.config)
            for position, record, run in stay.sends:
                if record.config != stay.config:
                    other = config_name(record.config)
                    told = f"{daemon} in {name} stamps {run.pieces[0]} in {other}"
                    findings.add("D2", daemon, position, told)
            for position, record, run in stay.events:
                if record.config != stay.config:
                    other = config_name(record.config)
                    told = f"{daemon} in {name} delivers {run.pieces[0]} in {other}"
                    findings.add("D2", daemon, position, told)
                for piece in run.pieces:
                    if piece.send is not None and piece.send.config != record.config:
                        told = (
                            f"{daemon} delivers {piece} in {config_name(record.config)}; it was "
                            f"sent in {config_name(piece.config)} at {reading.time(piece.sent)}"
                        )
                        findings.add("D2", daemon, position, told)


def _same_view(reading: Reading, findings: Findings) -> None:
    """D2 at the group level: for each of its groups a session gets a message in the view that
    was in force where the message was stamped, and is in that view itself.

    The regular and the transitional part of a view are one view here. A message that was
    stamped where nobody was known in the group is for nobody. Messages to one session
    (private groups) are in no view, and only they.
    """
    for (position, _, run), session, group, view in reading.astray:
        stay = session.within.get((group, view)) if view is not None else None
        told = (
            f"{session} is handed {run.pieces[0]} in {view_name(view)} of {group!r}, "
            f"{'where it is no more' if stay is not None else 'where it never was'}"
        )
        findings.add_for("D2", session, position, told, run.pieces[0], group)
    for session in reading.sessions.values():
        for position, record, run in session.hands:
            for piece in run.pieces:
                if piece.send is None:
                    continue  # D1
                for group, view in zip(record.groups, record.views, strict=False):
                    sent = piece.views.get(group)
                    if sent != view:
                        told = (
                            f"{session} is handed {piece} in {view_name(view)} of {group!r}; "
                            f"it was sent in {view_name(sent)} at {reading.time(piece.sent)}"
                        )
                        findings.add_for("D2", session, position, told, piece, group)


def _together_in_configurations(reading: Reading, findings: Findings) -> None:
    """D4, S2: daemons that go from v directly to w deliver the same reliable and stronger
    messages in v. A reliable one that is missing breaks S2 as well."""
    reliable = reading.at_least(Service.RELIABLE)
    companies: dict[tuple[ConfigId, ConfigId], list[ConfigStay]] = {}
    for daemon in reading.daemons.values():
        for stay in daemon.stays:
            if stay.next is not None:
                companies.setdefault((stay.config, stay.next.config), []).append(stay)
    for stays in companies.values():
        everything = 0
        for stay in stays:
            everything |= stay.mask & reliable
        for stay in stays:
            missing = everything & ~stay.mask & ~stay.daemon.spared
            for promise, piece in _examples(reading, missing):
                witness = next(other for other in stays if other.mask & piece.bit)
                _report_configuration(promise, stay, witness, piece, missing, findings)


def _report_configuration(
    promise: str,
    stay: ConfigStay,
    witness: ConfigStay,
    piece: Piece,
    missing: int,
    findings: Findings,
) -> None:
    assert stay.next is not None, "it belongs to those that went on"
    told = (
        f"{stay.daemon} and {witness.daemon} go from {config_name(stay.config)} to "
        f"{config_name(stay.next.config)}, but only {witness.daemon} delivers {piece}"
    )
    findings.add(promise, stay.daemon, stay.next.position, told + and_more(missing))


def _examples(reading: Reading, missing: int) -> list[tuple[str, Piece]]:
    """The first missing message for D4, and the first reliable one for S2."""
    if not missing:
        return []
    found = [("D4", reading.chosen(missing)[0])]
    plain = missing & ~reading.at_least(Service.FIFO)
    if plain:
        found.append(("S2", reading.chosen(plain)[0]))
    return found


def _together_in_views(reading: Reading, findings: Findings) -> None:
    """D4, S2 at the group level: sessions that go from view v directly to view w were handed
    the same reliable and stronger messages to the group in v.

    A message with self-discard is excused at its own sender only.
    """
    reliable = reading.at_least(Service.RELIABLE)
    companies: dict[tuple[GroupName, ViewId, ViewId], list[ViewStay]] = {}
    for session in reading.sessions.values():
        for stay in session.stays:
            if stay.next is not None:
                key = (stay.group, stay.view, stay.next.view)
                companies.setdefault(key, []).append(stay)
    for stays in companies.values():
        everything = 0
        for stay in stays:
            everything |= stay.mask & reliable
        for stay in stays:
            missing = everything & ~stay.mask & ~stay.session.discards
            for promise, piece in _examples(reading, missing):
                assert stay.next is not None, "it belongs to those that went on"
                witness = next(other.session for other in stays if other.mask & piece.bit)
                told = (
                    f"{stay.session} and {witness} go from {view_name(stay.view)} to "
                    f"{view_name(stay.next.view)} of {stay.group!r}, but only {witness} "
                    f"is handed {piece}{and_more(missing)}"
                )
                position = stay.next.position
                findings.add_for(promise, stay.session, position, told, piece, stay.group)
