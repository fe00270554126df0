"""Why a view changed, and where in the stream of messages (D7)."""

from antiphon.check.findings import Findings
from antiphon.check.history import ViewStay, view_name
from antiphon.check.pieces import NEVER
from antiphon.check.reading import Reading, union
from antiphon.core.ids import GroupName, Member, SessionId, ViewId
from antiphon.core.service import Service
from antiphon.core.trace import Cause

Around = tuple[ViewStay, int, int]
"""A view at a session, and which messages lie before and after it there."""


def judge_causes(reading: Reading, findings: Findings) -> None:
    for stays in reading.views.values():
        _one_cause(stays, findings)
        for stay in stays:
            fault = _change_fault(reading, stay)
            if fault:
                told = (
                    f"{stay.session} installs {view_name(stay.view)} of {stay.group!r} after "
                    f"{view_name(stay.old)} with cause {stay.record.reason}, but {fault}"
                )
                findings.add("D7", stay.session, stay.position, told)
    _same_position(reading, findings)


def _one_cause(stays: list[ViewStay], findings: Findings) -> None:
    """D7: the same view has the same cause at every member."""
    first = stays[0]
    for stay in stays:
        if stay.record.reason != first.record.reason:
            told = (
                f"{stay.session} installs {view_name(stay.view)} of {stay.group!r} with cause "
                f"{stay.record.reason}, but {first.session} with {first.record.reason}"
            )
            findings.add("D7", stay.session, stay.position, told)


def _change_fault(reading: Reading, stay: ViewStay) -> str:
    """D7: what the cause says is what happened to the member list.

    A join brings one session that asked for it, a leave takes one that asked for it, a
    disconnect takes one that closed. A network change brings and takes sessions of other
    daemons only: my own daemon cannot be cut off from me. Against an old view this is seen
    only by who had one; who enters has asked to.
    """
    cause = stay.record.reason
    before = stay.previous
    if before is None:
        if cause == Cause.NETWORK or cause == Cause.JOIN:
            asked = stay.session.joins.get(stay.group, NEVER) < stay.position
            return "" if asked else "it never asked to join"
        return "it was in no view of that group"
    old, new = set(before.members), set(stay.members)
    came, went = sorted(new - old), sorted(old - new)
    if cause == Cause.NETWORK:
        own = [who for who in came + went if _daemon_of(who) == stay.session.daemon.member]
        return f"{_text(own[0])} of its own daemon came or went" if own else ""
    if cause == Cause.JOIN:
        return _single_fault(reading, stay, came, went, "came", "went")
    if cause in (Cause.LEAVE, Cause.DISCONNECT):
        return _single_fault(reading, stay, went, came, "went", "came")
    return "there is no such cause"


def _single_fault(
    reading: Reading,
    stay: ViewStay,
    moved: list[SessionId],
    others: list[SessionId],
    verb: str,
    other_verb: str,
) -> str:
    if others:
        return f"{_text(others[0])} {other_verb}"
    if len(moved) != 1:
        return f"{len(moved)} sessions {verb}"
    who = reading.sessions.get(moved[0])
    if who is None:
        return f"{_text(moved[0])} {verb}, which never opened"
    cause = stay.record.reason
    if cause == Cause.DISCONNECT:
        return "" if who.closed < stay.position else f"{who} {verb}, which had not closed"
    asked = who.joins if cause == Cause.JOIN else who.leaves
    if asked.get(stay.group, NEVER) < stay.position:
        return ""
    return f"{who} {verb}, which had not asked for it"


def _same_position(reading: Reading, findings: Findings) -> None:
    """D7: of two sessions that install view w and are handed the message m to that group,
    causal or stronger, both get m before w or both after it."""
    causal = reading.at_least(Service.CAUSAL)
    around: dict[tuple[GroupName, ViewId], list[Around]] = {}
    for session in reading.sessions.values():
        sums: dict[GroupName, int] = {}
        befores = []
        for stay in session.stays:
            earlier = sums.get(stay.group, 0)
            befores.append((stay, earlier))
            sums[stay.group] = earlier | ((stay.mask | union(stay.strays)) & causal)
        for stay, earlier in befores:
            later = sums[stay.group] & ~earlier
            around.setdefault((stay.group, stay.view), []).append((stay, earlier, later))
    for entries in around.values():
        _compare_positions(reading, entries, findings)


def _compare_positions(reading: Reading, entries: list[Around], findings: Findings) -> None:
    all_before, all_after = 0, 0
    for _, earlier, later in entries:
        all_before |= earlier
        all_after |= later
    for piece in reading.chosen(all_before & all_after)[:1]:
        one = next(stay for stay, earlier, _ in entries if earlier & piece.bit)
        other = next(stay for stay, _, later in entries if later & piece.bit)
        told = (
            f"{one.session} is handed {piece} before {view_name(one.view)} of {one.group!r}, "
            f"{other.session} after it"
        )
        findings.add("D7", other.session, other.position, told)


def _daemon_of(session: SessionId) -> Member:
    return Member(session.daemon, session.incarnation)


def _text(session: SessionId) -> str:
    return f"session {session.daemon}/{session.incarnation}/{session.number}"
