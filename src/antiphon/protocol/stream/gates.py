"""Groups that are about to change: nobody stamps messages to them meanwhile.

In a configuration of several segments a change is announced by an intent, which everybody
holds before the change itself is stamped (docs/protocols/wide-area.md).
"""

from collections import Counter

from antiphon.core.bundle import Bundle
from antiphon.core.ids import GroupName, Member
from antiphon.wire.changes import Intent

ChangeKey = tuple[Member, int, int]
"""Daemon, session and number of a change."""


class Gates:
    def __init__(self) -> None:
        self._announced: dict[ChangeKey, tuple[GroupName, ...]] = {}
        self._closed: Counter[GroupName] = Counter()

    def close(self, sender: Member, intent: Intent) -> None:
        """Somebody will change these groups."""
        key = (sender, intent.session, intent.number)
        if key not in self._announced:
            self._announced[key] = intent.groups
            self._closed.update(intent.groups)

    def open(self, change: Bundle) -> None:
        """The change is delivered."""
        groups = self._announced.pop((change.sender, change.session, change.number), ())
        for group in groups:
            self._closed[group] -= 1
            if not self._closed[group]:
                del self._closed[group]

    def hold(self, bundle: Bundle) -> bool:
        """Must this message wait?"""
        return bool(self._closed) and any(name in self._closed for name in bundle.names)
