"""Sets of integers kept as sorted, disjoint, closed runs."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator


class RangeSet:
    """Positive integers in few runs: what a member holds, what it misses.

    Two parallel lists, firsts and lasts. Invariant: firsts[i] <= lasts[i] and
    lasts[i] + 1 < firsts[i + 1].
    """

    __slots__ = ("_firsts", "_lasts")

    def __init__(self, runs: Iterable[tuple[int, int]] = ()) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        for first, last in runs:
            self.add_run(first, last)

    def __contains__(self, value: int) -> bool:
        at = bisect_right(self._firsts, value) - 1
        return at >= 0 and value <= self._lasts[at]

    def __iter__(self) -> Iterator[int]:
        for first, last in self.runs():
            yield from range(first, last + 1)

    def __len__(self) -> int:
        return sum(self._lasts) - sum(self._firsts) + len(self._firsts)

    def __bool__(self) -> bool:
        return bool(self._firsts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RangeSet):
            return NotImplemented
        return self._firsts == other._firsts and self._lasts == other._lasts

    def __repr__(self) -> str:
        return f"RangeSet({list(self.runs())})"

    def runs(self) -> Iterator[tuple[int, int]]:
        return zip(self._firsts, self._lasts, strict=True)

    def first(self) -> int:
        return self._firsts[0]

    def last(self) -> int:
        return self._lasts[-1]

    def add(self, value: int) -> None:
        lasts = self._lasts
        if lasts and value == lasts[-1] + 1:  # nearly always: the next one
            lasts[-1] = value
        else:
            self.add_run(value, value)

    def add_run(self, first: int, last: int) -> None:
        """Join [first, last] with every run it touches."""
        if first > last:
            return
        firsts, lasts = self._firsts, self._lasts
        low = bisect_right(lasts, first - 2)  # first run that ends at first - 1 or later
        high = bisect_right(firsts, last + 1)  # past the last run that starts by last + 1
        if low < high:
            first = min(first, firsts[low])
            last = max(last, lasts[high - 1])
        firsts[low:high] = [first]
        lasts[low:high] = [last]

    def remove_run(self, first: int, last: int) -> None:
        firsts, lasts = self._firsts, self._lasts
        low = bisect_right(lasts, first - 1)
        high = bisect_right(firsts, last)
        if first > last or low >= high:
            return
        kept = []
        if firsts[low] < first:
            kept.append((firsts[low], first - 1))
        if lasts[high - 1] > last:
            kept.append((last + 1, lasts[high - 1]))
        firsts[low:high] = [run[0] for run in kept]
        lasts[low:high] = [run[1] for run in kept]

    def update(self, other: "RangeSet") -> None:
        for first, last in other.runs():
            self.add_run(first, last)

    def gaps(self, first: int, last: int) -> "RangeSet":
        """What of [first, last] is not in this set."""
        missing = RangeSet([(first, last)])
        for run_first, run_last in self.runs():
            missing.remove_run(run_first, run_last)
        return missing

    def copy(self) -> "RangeSet":
        twin = RangeSet()
        twin._firsts = self._firsts.copy()
        twin._lasts = self._lasts.copy()
        return twin
