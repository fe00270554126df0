"""From a session that was lost to the one after it: what the gap between them is.

The new session joins the groups again. Until all these joins are ordered or refused, its
events are held back; then the application gets one Gap, and after it what was held.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from antiphon.client.events import Gap, GroupGap, MessageId, View
from antiphon.client.numbering import LEAVE
from antiphon.client.waiting import Waiting
from antiphon.core.ids import GroupName, SessionId, ViewId

if TYPE_CHECKING:
    from antiphon.client.session import ClientSession


class Before(NamedTuple):
    """One group, as the application last saw it."""

    view: ViewId | None
    message: MessageId | None
    joined: bool


class Crossing:
    def __init__(
        self, reason: str, before: SessionId, groups: dict[GroupName, Before], unconfirmed: int
    ) -> None:
        self.reason = reason
        self.before = before
        self.groups = groups
        self.unconfirmed = unconfirmed
        self.waiting = set(groups)
        self.held = Waiting()
        self.refused: list[GroupName] = []
        self._first: dict[GroupName, ViewId | None] = {}

    def decide(self, group: GroupName, view: View | None, refused: bool) -> bool:
        """A join was ordered, in `view`, or refused. True if it was the last one awaited."""
        if group not in self.waiting:
            return False
        self.waiting.discard(group)
        self._first[group] = None if view is None else view.id
        if refused and self.groups[group].joined:
            self.refused.append(group)
        return not self.waiting

    def gap(self, after: SessionId) -> Gap:
        groups = tuple(
            GroupGap(name, before.view, before.message, self._first.get(name), before.joined)
            for name, before in self.groups.items()
        )
        return Gap(self.reason, self.before, after, groups, self.unconfirmed)


def after_gap(old: ClientSession) -> Crossing:
    """What the application has of `old`. If that one was still crossing itself, its gap grows,
    and what it held back is missed."""
    earlier = old.crossing
    groups = {} if earlier is None else dict(earlier.groups)
    for name, view in old.joined.items():
        if name not in groups:
            id = None if view is None else view.id
            groups[name] = Before(id, old.last.of(name), joined=True)
    for name, change in old.changes.items():
        if change.what == LEAVE:
            groups.pop(name, None)
        else:
            groups.setdefault(name, Before(None, None, joined=False))
    unconfirmed = old.numbering.unconfirmed
    if earlier is None:
        return Crossing(old.ended, old.id, groups, unconfirmed)
    return Crossing(earlier.reason, earlier.before, groups, earlier.unconfirmed + unconfirmed)
