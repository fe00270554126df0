"""Which interests are most alike: numpy, for many at once.

Alike is what two have in common of all that either has (Jaccard). Whatever shares no group with
any of the others goes to the first.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

CELLS_MAX = 4_000_000
"""Of the table of counts that is made at once: rows times regions."""

Numbers = NDArray[np.int64]
Shares = NDArray[np.float64]
Pair = tuple[int, int]


class Index:
    """Which of the large regions want a group."""

    def __init__(self, interests: Sequence[Sequence[int]]) -> None:
        self.regions = len(interests)
        self.sizes = np.array([len(each) for each in interests], np.int64)
        groups = np.concatenate([np.array(each, np.int64) for each in interests])
        owners = np.repeat(np.arange(self.regions), self.sizes)
        order = np.argsort(groups, kind="stable")
        self.groups, self._starts = np.unique(groups[order], return_index=True)
        self._owners = owners[order]
        self._ends = np.append(self._starts[1:], len(order))

    def nearest(self, lengths: Numbers, groups: Numbers) -> Numbers:
        """Rows of `lengths` groups each, one after another; for each row a region."""
        found = [np.argmax(alike, axis=1) for _, alike in self._alike(lengths, groups)]
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def neighbours(self, interests: Sequence[Sequence[int]], most: int) -> Iterator[Pair]:
        """Pairs of the indexed regions themselves: each with those that are most like it."""
        groups = np.concatenate([np.array(each, np.int64) for each in interests])
        for first, alike in self._alike(self.sizes, groups):
            rows = np.arange(len(alike))
            alike[rows, first + rows] = 0
            count = min(most, self.regions - 1)
            near = np.argpartition(alike, -count, axis=1)[:, -count:] if count else alike[:, :0]
            for row, others in enumerate(near.tolist()):
                yield from ((first + row, at) for at in others if alike[row, at] > 0)

    def _alike(self, lengths: Numbers, groups: Numbers) -> Iterator[tuple[int, Shares]]:
        """For chunks of rows: where they begin, and how like they are to each region."""
        at_once = max(1, CELLS_MAX // self.regions)
        ends = np.append(0, np.cumsum(lengths))
        for first in range(0, len(lengths), at_once):
            last = min(first + at_once, len(lengths))
            yield first, self._jaccard(lengths[first:last], groups[ends[first] : ends[last]])

    def _jaccard(self, lengths: Numbers, groups: Numbers) -> Shares:
        rows = np.repeat(np.arange(len(lengths)), lengths)
        places = np.searchsorted(self.groups, groups)
        places[places == len(self.groups)] = 0
        known = self.groups[places] == groups
        rows, places = rows[known], places[known]
        counts = self._ends[places] - self._starts[places]
        # For each known group of each row all its owners, flat.
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        owners = self._owners[np.repeat(self._starts[places], counts) + within]
        cells = np.repeat(rows, counts) * self.regions + owners
        shared = np.bincount(cells, minlength=len(lengths) * self.regions)
        table = shared.reshape(len(lengths), self.regions).astype(np.float64)
        alike: Shares = table / (lengths[:, None] + self.sizes[None, :] - table)
        return alike
