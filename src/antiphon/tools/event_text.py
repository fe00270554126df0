"""Events of a session as lines for people, or as objects for programs."""

from typing import Any

import msgspec

from antiphon.client.events import Closed, Event, Gap, Left, Message, Refusal, Transition, View
from antiphon.core.codes import CODES

SHOWN_CHARACTERS = 2000
"""Of one payload."""


def payload_text(payload: bytes) -> str:
    """As text if it is some, else as Python would write it."""
    try:
        shown = payload.decode()
    except UnicodeDecodeError:
        shown = repr(payload)[2:-1]
    if not shown.isprintable():
        shown = repr(shown)[1:-1]
    if len(shown) <= SHOWN_CHARACTERS:
        return shown
    return f"{shown[:SHOWN_CHARACTERS]}... ({len(payload):,} bytes)"


def name_of(private_group: str) -> str:
    """The session's name in its private group's."""
    return private_group[1:].rpartition("#")[0] or private_group


class EventText:
    """Lines of text; remembers views, so that a new one tells who came and went."""

    def __init__(self) -> None:
        self._views: dict[str, View] = {}

    def lines(self, event: Event) -> list[str]:
        match event:
            case Message():
                mark = " (transitional)" if event.transitional else ""
                told = f"{'+'.join(event.groups)} {name_of(event.sender)}{mark}: "
                return [told + payload_text(event.payload)]
            case View():
                return self._view(event)
            case Transition(group=group):
                return [f"{group} transition: who comes along is not known yet"]
            case Left(group=group):
                self._views.pop(group, None)
                return [f"{group} left"]
            case Refusal(code=code, what=what, remedy=remedy):
                return [f"refused ({code}): {what}; {remedy}"]
            case Gap():
                return _gap(event)
            case Closed(reason=reason):
                return [f"closed ({reason}){_meaning(reason)}"]
        raise AssertionError(event)

    def _view(self, view: View) -> list[str]:
        before = self._views.get(view.group)
        self._views[view.group] = view
        old = dict(before.members) if before is not None else {}
        new = dict(view.members)
        changes = [f"+{name}" for id, name in view.members if id not in old]
        changes += [f"-{name}" for id, name in old.items() if id not in new]
        members = ", ".join(new.values())
        lines = [f"{view.group} view {{{members}}} {view.cause}: {' '.join(changes) or 'the same'}"]
        if view.evidence:
            lines.append(f"{view.group}   because {view.evidence}")
        return lines


def _gap(gap: Gap) -> list[str]:
    lines = [f"gap ({gap.reason}){_meaning(gap.reason)}; this is another session"]
    for group in gap.groups:
        missed = "messages may have been missed" if group.missed else "nothing was missed"
        lines.append(f"{group.group}   {missed}")
    if gap.unconfirmed:
        lines.append(f"  {gap.unconfirmed} of my messages may not have been delivered")
    return lines


def _meaning(code: str) -> str:
    return f": {CODES[code].summary}" if code in CODES else ""


def event_object(event: Event) -> dict[str, Any]:
    """For `--json`. A payload that is no text is told as base64, in `payload_base64`."""
    told: dict[str, Any] = {"event": type(event).__name__.lower(), **msgspec.structs.asdict(event)}
    match event:
        case Message(payload=payload):
            try:
                told["payload"] = payload.decode()
            except UnicodeDecodeError:
                told["payload_base64"] = told.pop("payload")
            told["service"] = event.service.name.lower()
            told["name"] = name_of(event.sender)
        case View(members=members):
            told["members"] = [
                {"session": id, "name": name, "private_group": member.private_group}
                for member in members
                for id, name in [member]
            ]
        case Gap(groups=groups):
            told["groups"] = [group._asdict() for group in groups]
    return told
