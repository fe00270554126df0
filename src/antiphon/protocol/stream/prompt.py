"""What each other member of a calm ring holds, known without waiting for the token.

Whoever completes a safe bundle there says at once up to where it holds everything
(docs/protocols/ring.md, "Timers"). Whoever sends a bundle need not say it: it holds its own
ones, and before them what it was known to hold.
"""

from collections.abc import Iterable

from antiphon.core.ids import DaemonId

MEMBERS_MAX = 8
"""In larger rings safe bundles wait for the token: if all tell all, words grow by the square."""


class Prompt:
    def __init__(self, others: Iterable[DaemonId]) -> None:
        self._upto = dict.fromkeys(others, 0)
        """By member: a stamp. It holds everything up to there."""

        self.held = 0
        """All others hold everything up to this stamp."""

        self._said = 0

    def hear(self, member: DaemonId, stamp: int) -> None:
        """It holds everything up to there, it says."""
        if stamp > self._upto[member]:
            self._upto[member] = stamp
            self.held = min(self._upto.values())

    def hear_bundle(self, member: DaemonId, stamp: int, before: int, stable: int) -> None:
        """It sent a bundle with this stamp, the next after `before`; `stable` all hold."""
        if before <= max(self._upto[member], stable):
            self.hear(member, stamp)

    def has_news(self, line: int) -> bool:
        """Whether I should say that I hold everything up to there; then I have."""
        is_new = line > self._said
        self._said = max(self._said, line)
        return is_new
