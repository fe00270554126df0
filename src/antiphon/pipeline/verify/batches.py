"""What passes tell, as rows of numbers, many at a time.

| column | of an event | of a finding | of a possible hole |
| --- | --- | --- | --- |
| `lane` | process and time | 0 | 0 |
| `tie` | the rest of the place | time | 0 |
| `tag` | `Tag.EVENT` and flags | `Tag.FINDING` and the fault | `Tag.HOLE` and flags |
| `key` | the message | the message | the message |
| `k1`, `k2` | its place in the order | process, another | its place in the order |
| `stay` | where the process is | a stay, view or configuration | who lacks it |
| `config` | where it was sent | a second message | where it was sent |

In the same columns a slice tells how far each stay came (`Tag.STAY`), where a process goes down in
the order (`Tag.STEP`, from `k1` to `stay`), what speaks against simpler proofs of S4 (`Tag.DOUBT`,
bits in `k1`), its edges (`Tag.EDGE`, of the slice `stay`), and events for those who have to see
them once more (`Tag.EVENTS`, packed into the column `blob`; `lane` says for what).
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from antiphon.pipeline.verify.faults import Fault
from antiphon.pipeline.verify.names import Flags, Longs
from antiphon.records.arrow import load

ONWARD = ("lane", "tie", "tag", "key", "k1", "k2", "stay", "config")
ONWARD_SCHEMA = ", ".join(f"{name} long" for name in ONWARD)

TOLD = (*ONWARD, "blob")
TOLD_SCHEMA = f"{ONWARD_SCHEMA}, blob binary"

TAG_BITS = 4


class Tag:
    EVENT = 0
    FINDING = 1
    HOLE = 2
    STAY = 3
    STEP = 4
    DOUBT = 5
    UNKNOWN = 6
    EDGE = 7
    EVENTS = 8


Arrays = dict[str, Longs]


class Sink:
    """Collects rows of a pass, many at a time."""

    def __init__(self) -> None:
        self._parts: list[tuple[Any, ...]] = []

    def add(
        self,
        tag: Any,
        *,
        lane: Any = 0,
        tie: Any = 0,
        key: Any = 0,
        k1: Any = 0,
        k2: Any = 0,
        stay: Any = 0,
        config: Any = 0,
    ) -> None:
        self._parts.append((lane, tie, tag, key, k1, k2, stay, config))

    def find(
        self,
        fault: Fault,
        *,
        process: Any,
        key: Any,
        t: Any = 0,
        other: Any = 0,
        place: Any = -1,
        second: Any = 0,
    ) -> None:
        """Findings; arguments are arrays of one length, or single numbers."""
        tag = Tag.FINDING | int(fault) << TAG_BITS
        self.add(tag, tie=t, key=key, k1=process, k2=other, stay=place, config=second)

    def arrays(self) -> Arrays:
        """What was collected; collecting begins anew."""
        columns: list[list[Longs]] = [[] for _ in ONWARD]
        for part in self._parts:
            arrays = np.broadcast_arrays(*(np.atleast_1d(np.asarray(one)) for one in part))
            for column, array in zip(columns, arrays, strict=True):
                column.append(array.astype(np.int64, copy=False))
        self._parts = []
        empty = np.empty(0, np.int64)
        joined = [np.concatenate(column) if column else empty for column in columns]
        return dict(zip(ONWARD, joined, strict=True))

    def batch(self) -> Any:
        """The same for Arrow."""
        pa = load()
        arrays = [pa.array(column) for column in self.arrays().values()]
        return pa.RecordBatch.from_arrays(arrays, names=list(ONWARD))


def arrays_of(batch: Any, names: Sequence[str]) -> Arrays:
    return {
        name: batch.column(batch.schema.get_field_index(name)).to_numpy(zero_copy_only=False)
        for name in names
    }


def together(batches: Iterable[Any]) -> Iterator[tuple[int, list[tuple[Any, ...]]]]:
    """Of rows sorted by their first column: each value of it, and the rest of its rows."""
    lines = (
        line
        for batch in batches
        for line in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    )
    for value, found in groupby(lines, key=lambda line: line[0]):
        yield value, [line[1:] for line in found]


def pack(rows: Arrays) -> bytes:
    return np.stack([rows[name] for name in ONWARD]).tobytes()


def unpack(blobs: Sequence[bytes]) -> Arrays:
    parts = [np.frombuffer(blob, np.int64).reshape(len(ONWARD), -1) for blob in blobs]
    return dict(zip(ONWARD, np.concatenate(parts, axis=1), strict=True))


def runs(values: Longs) -> tuple[Longs, Longs]:
    """Of values of which equal ones follow each other: where each begins, and how often."""
    if not len(values):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    starts = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))
    return starts, np.diff(np.concatenate((starts, [len(values)])))


def before(t: Longs, tie: Longs, other_t: Longs, other_tie: Longs) -> Flags:
    """Whether one place is before another."""
    found: Flags = (t < other_t) | ((t == other_t) & (tie < other_tie))
    return found
