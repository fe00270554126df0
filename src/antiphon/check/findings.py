"""Violations: which promise, by whom, when, and the smallest story that shows it."""

from typing import NamedTuple

from antiphon.check.history import Process, view_name
from antiphon.check.pieces import Piece
from antiphon.check.reading import Reading
from antiphon.core.ids import GroupName


class Violation(NamedTuple):
    promise: str
    """Id in docs/guarantees.md."""

    process: str
    time: int
    text: str


class Findings:
    """Collects what the judges find in one trace."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._found: dict[Violation, None] = {}

    def time(self, position: int) -> int:
        return self._reading.time(position)

    def add(self, promise: str, process: Process | str, position: int, text: str) -> None:
        violation = Violation(promise, str(process), self.time(position), text)
        self._found[violation] = None

    def add_for(
        self,
        promise: str,
        process: Process,
        position: int,
        text: str,
        piece: Piece,
        group: GroupName,
    ) -> None:
        """A promise to a group broken for a message; D8 as well if its sender is no member.

        D8: a sender that is no member gets the same guarantees, so each guarantee that it
        does not get breaks D8 too.
        """
        self.add(promise, process, position, text)
        view = piece.views.get(group)
        if self._reading.is_member(piece.origin, group, view):
            return
        stranger = f"{promise} is broken for {piece} from no member of {group!r}"
        self.add("D8", process, position, f"{stranger} in {view_name(view)}: {text}")

    def violations(self) -> list[Violation]:
        return sorted(self._found, key=lambda found: (found.time, found))


def and_more(mask: int) -> str:
    """How many other messages the same is true of."""
    others = mask.bit_count() - 1
    return f" (and {others} more)" if others else ""
