"""Events that wait for the application, in portions as they came.

Whoever iterates gets the iterator of a portion and pays nothing more for each event; the others
take one at a time from the same iterator. So it does not matter who stops in the midst of one.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from operator import length_hint

from antiphon.client.events import Event
from antiphon.client.inbox import Unmade

Portion = Sequence[Event] | Unmade


class Waiting:
    def __init__(self) -> None:
        self._portion: Sequence[Event] = ()
        self._rest: Iterator[Event] = iter(())
        """Of the portion that has been begun."""

        self._later: deque[tuple[Portion, int]] = deque()
        """Portions, none of them empty, and the bytes that they keep."""

        self._later_count = 0
        self.later_bytes = 0
        """Kept, but for the portion that has been begun."""

    def __len__(self) -> int:
        return length_hint(self._rest) + self._later_count

    def __bool__(self) -> bool:
        return self._later_count > 0 or length_hint(self._rest) > 0

    def __iter__(self) -> Iterator[Event]:
        """To look at them; they stay."""
        yield from self._portion[len(self._portion) - length_hint(self._rest) :]
        for portion, _ in self._later:
            yield from _made(portion)

    def add(self, portion: Portion, kept_bytes: int = 0) -> None:
        count = len(portion)
        if count:
            self._later.append((portion, kept_bytes))
            self._later_count += count
            self.later_bytes += kept_bytes

    def add_all(self, other: "Waiting") -> None:
        """Of which nobody has taken anything."""
        for portion, kept_bytes in other._later:
            self.add(portion, kept_bytes)

    def portion(self) -> Iterator[Event]:
        """What is left of the one that has been begun, or else the next one: there must be one.
        Whoever takes events from it has taken them."""
        if not length_hint(self._rest):
            portion, kept_bytes = self._later.popleft()
            self._portion = _made(portion)
            self._rest = iter(self._portion)
            self._later_count -= len(self._portion)
            self.later_bytes -= kept_bytes
        return self._rest

    def take(self) -> Event:
        """The next one: there must be one."""
        for event in self._rest:
            return event
        return next(self.portion())

    def first(self) -> Event:
        """There must be one; it stays."""
        left = length_hint(self.portion())
        return self._portion[len(self._portion) - left]

    def clear(self) -> None:
        for _ in self._rest:
            pass  # whoever has this iterator gets nothing more from it
        self._portion = ()
        self._later.clear()
        self._later_count = self.later_bytes = 0


def _made(portion: Portion) -> Sequence[Event]:
    return portion.made() if isinstance(portion, Unmade) else portion
