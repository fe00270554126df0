"""Stretches of the one order, so that a task can judge a stretch with all that befell it.

A *slice* is a range of the key by which messages should be ordered: configuration, then stamp.
Rows of deliveries do not carry the key, only the message; but a session's messages are numbered in
the order in which they are stamped. So for each origin and slice one number says where it begins.
If that is not true of an origin, its messages are still each in one slice, all rows of a message
in the same, and whatever is out of order is seen as such.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from pyspark.sql import DataFrame

from antiphon.pipeline.verify.events import NUMBER_BITS
from antiphon.pipeline.verify.histories import Segments
from antiphon.pipeline.verify.lookup import Lookup
from antiphon.pipeline.verify.mail import STAMP_BITS
from antiphon.pipeline.verify.names import Longs, distinct, mixed
from antiphon.records.arrow import load

ROWS_PER_SLICE = 400_000
SAMPLE = 64
"""Every so many stampings one is looked at to find the bounds."""

NEVER = 1 << 62
SPREAD_BITS = 10
"""Unreliable messages have no order: so many of an origin go together, anywhere."""

Stamps = tuple[Longs, Longs, Longs]
"""Origin, number in a key, place in the order."""


class Slices:
    """Which slice a message is in: a matter of its key alone."""

    def __init__(self, count: int, begins: Longs, which: Longs) -> None:
        self.count = count
        self._begins, self._which = begins, which

    def of(self, key: Longs) -> Longs:
        if self.count == 1:
            return np.zeros(len(key), np.int64)
        found = self._which[np.searchsorted(self._begins, key, side="right") - 1]
        loose = (key & 1) == 1
        found[loose] = (key[loose] >> (SPREAD_BITS + 1)) % self.count
        return found


def find_slices(
    stamps: DataFrame, rows: int, segments: Segments, look: Callable[[], Lookup]
) -> Slices:
    """From rows of the first look about stampings."""
    count = -(-rows // ROWS_PER_SLICE)
    nothing = np.empty(0, np.int64)
    if count > 1:
        sampled = stamps.mapInArrow(_sample(segments, look), "place long").toArrow()
        places = np.sort(sampled.column("place").to_numpy())
        cuts = (
            distinct(places[np.arange(1, count) * len(places) // count]) if len(places) else nothing
        )
        begins = stamps.mapInArrow(
            _begins(cuts, segments, look), "origin long, part long, number long"
        )
        found = begins.groupBy("origin", "part").min("number").toArrow()
        origin, part, number = (found.column(at).to_numpy() for at in range(3))
        return Slices(len(cuts) + 1, *slice_table(origin, part, number, len(look().processes)))
    return Slices(1, nothing, nothing)


def slice_table(origin: Longs, part: Longs, number: Longs, origins: int) -> tuple[Longs, Longs]:
    """For each origin, where its messages of each slice begin; every origin begins at 0."""
    count = int(part.max(initial=0)) + 1
    lowest = np.full((origins, count), NEVER)
    lowest[origin, part] = number
    lowest = np.minimum.accumulate(lowest[:, ::-1], axis=1)[:, ::-1]
    lowest[:, 0] = 0
    who, which = np.nonzero(lowest < NEVER)
    begins = (who << NUMBER_BITS) + lowest[who, which]
    # Of slices that begin at one number the last has it: search from the right finds that one.
    return begins, which


def _stamps(batch: Any, segments: Segments, look: Lookup) -> Iterator[Stamps]:
    """Stampings with the numbers that the facts give."""
    for line in batch.to_pylist():
        history = segments.history_of[line["run"]]
        told = np.frombuffer(line["blob"], np.int64).reshape(5, -1)
        origin, first, config, stamp, service = told
        known = look.find_config(mixed(history, config))
        kept = (known >= 0) & (service > 0)
        who = look.find_process(mixed(history, origin[kept]))
        yield who, first[kept] * 2, (known[kept] << STAMP_BITS) + stamp[kept]


def _sample(
    segments: Segments, look: Callable[[], Lookup]
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    def work(batches: Iterable[Any]) -> Iterator[Any]:
        pa = load()
        for batch in batches:
            for _, _, place in _stamps(batch, segments, look()):
                yield pa.RecordBatch.from_arrays(
                    [pa.array(np.sort(place)[::SAMPLE])], names=["place"]
                )

    return work


def _begins(
    cuts: Longs, segments: Segments, look: Callable[[], Lookup]
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    def work(batches: Iterable[Any]) -> Iterator[Any]:
        pa = load()
        for batch in batches:
            for origin, number, place in _stamps(batch, segments, look()):
                part = np.searchsorted(cuts, place, side="right")
                order = np.lexsort((number, part, origin))
                both = origin[order] * (len(cuts) + 1) + part[order]
                first = order[np.unique(both, return_index=True)[1]]
                arrays = [pa.array(each[first]) for each in (origin, part, number)]
                yield pa.RecordBatch.from_arrays(arrays, names=["origin", "part", "number"])

    return work
