"""The pass over all rows about messages: events to slices, and each slice judged in one task.

Rows are read as arrays, and go to their slices as arrays: Spark moves a few large values, not
many small ones.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from antiphon.pipeline.verify.batches import (
    ONWARD,
    TAG_BITS,
    TOLD,
    TOLD_SCHEMA,
    Arrays,
    Sink,
    Tag,
    pack,
    runs,
    together,
)
from antiphon.pipeline.verify.by_message import IS_EXTRA, IS_HAND, IS_SEND, judge_messages
from antiphon.pipeline.verify.by_process import Course
from antiphon.pipeline.verify.events import COLUMNS, Block, events
from antiphon.pipeline.verify.files import Columns
from antiphon.pipeline.verify.first_look import read_pieces, unpacked
from antiphon.pipeline.verify.histories import TIME_BITS, Segments
from antiphon.pipeline.verify.lookup import Lookup
from antiphon.pipeline.verify.names import Flags, Longs
from antiphon.pipeline.verify.slices import Slices
from antiphon.pipeline.verify.stories import MESSAGES, is_replaced
from antiphon.pipeline.verify.total_order import Window, is_ordered, window_of
from antiphon.records.arrow import load

SLICED = "slice int, blob binary"

CAUSES, DISPUTES, HOLES = range(3)
"""For what events have to be seen once more."""


class Wish(NamedTuple):
    """Which events are told on, beside what is found."""

    causes: frozenset[int] = frozenset()
    """Histories."""

    windows: tuple[Window, ...] = ()
    holes: frozenset[int] = frozenset()
    """Configurations."""


class Pass(NamedTuple):
    """What it takes to go over all rows."""

    pieces: DataFrame
    stories: DataFrame | None
    segments: Segments
    clients: Longs
    slices: Slices
    look: Callable[[], Lookup]

    def over(self, wish: Wish) -> DataFrame:
        """What the slices tell."""
        sliced = self.pieces.mapInArrow(self._read(), SLICED)
        if self.stories is not None:
            told = self.stories.where(F.col("what") == MESSAGES)
            sliced = sliced.union(told.mapInArrow(self._read_stories(), SLICED))
        parts = sliced.repartition(self.slices.count, "slice").sortWithinPartitions("slice")
        return parts.mapInArrow(self._judge(wish), TOLD_SCHEMA)

    def _read(self) -> Callable[[Iterable[Any]], Iterator[Any]]:
        segments, clients, slices, look = self.segments, self.clients, self.slices, self.look

        def work(batches: Iterable[Any]) -> Iterator[Any]:
            for columns in read_pieces(batches):
                history = segments.history_of[columns.run]
                t, tie = segments.places(columns)
                but = is_replaced(columns, clients)
                yield from _cut(events(columns, history, t, tie, look(), but), slices)

        return work

    def _read_stories(self) -> Callable[[Iterable[Any]], Iterator[Any]]:
        slices, look = self.slices, self.look

        def work(batches: Iterable[Any]) -> Iterator[Any]:
            for batch in batches:
                for blob in batch.column("blob").to_pylist():
                    columns: Columns = unpacked("", blob)
                    t, tie = columns.longs("t"), columns.longs("tie")
                    but = np.zeros(columns.count, np.bool_)
                    yield from _cut(events(columns, 0, t, tie, look(), but), slices)

        return work

    def _judge(self, wish: Wish) -> Callable[[Iterable[Any]], Iterator[Any]]:
        look, count = self.look, self.slices.count

        def work(batches: Iterable[Any]) -> Iterator[Any]:
            for number, lines in together(batches):
                blocks = [
                    np.frombuffer(blob, np.int64).reshape(len(COLUMNS), -1) for (blob,) in lines
                ]
                block = np.concatenate(blocks, axis=1)
                yield judge_slice(number, block, look(), count > 1, wish)

        return work


def _cut(block: Block, slices: Slices) -> Iterator[Any]:
    """Events by slice."""
    pa = load()
    if not block.shape[1]:
        return
    number = slices.of(block[0])
    if slices.count > 1:
        order = np.argsort(
            number.astype(np.uint16 if slices.count < 1 << 16 else np.int64), kind="stable"
        )
        block, number = block[:, order], number[order]
    starts, counts = runs(number)
    blobs = [
        np.ascontiguousarray(block[:, start : start + size]).tobytes()
        for start, size in zip(starts.tolist(), counts.tolist(), strict=True)
    ]
    arrays = [pa.array(number[starts].astype(np.int32)), pa.array(blobs, pa.binary())]
    yield pa.RecordBatch.from_arrays(arrays, names=["slice", "blob"])


def judge_slice(number: int, block: Block, look: Lookup, has_others: bool, wish: Wish) -> Any:
    """All that is wrong in a slice, as a batch of what is told."""
    block = block[:, np.argsort(block[0], kind="stable")]
    told = judge_messages(dict(zip(COLUMNS, block, strict=True)), look).arrays()
    is_event = (told["tag"] & ((1 << TAG_BITS) - 1)) == Tag.EVENT
    sink = Sink()
    rest = {name: column[~is_event] for name, column in told.items()}
    sink.add(rest.pop("tag"), **rest)
    seen = {name: column[is_event] for name, column in told.items()}
    order = np.lexsort((seen["key"], seen["tie"], seen["lane"]))
    seen = {name: column[order] for name, column in seen.items()}
    history = look.history[seen["lane"] >> TIME_BITS]
    course = Course(seen)
    course.judge(sink)
    if has_others:
        course.tell_edges(number, _of(history, look.loose), sink)
    return _batch(sink.arrays(), _wished(seen, history, wish))


def _of(history: Longs, chosen: Iterable[int]) -> Flags:
    wanted = list(chosen)
    return np.isin(history, wanted) if wanted else np.zeros(len(history), np.bool_)


Packed = tuple[int, int, int, bytes]
"""For what, history, configuration or window, events."""


def _wished(seen: Arrays, history: Longs, wish: Wish) -> list[Packed]:
    found: list[Packed] = []
    chosen = _of(history, wish.causes)
    if chosen.any():
        found += _packed(CAUSES, seen, history, seen["config"], chosen)
    if wish.windows:
        window = window_of(seen["k1"], wish.windows)
        chosen = is_ordered(seen["tag"]) & (window >= 0)
        found += _packed(DISPUTES, seen, history, window, chosen)
    if wish.holes:
        is_delivery = (seen["tag"] & (IS_SEND | IS_HAND | IS_EXTRA)) == 0
        chosen = is_delivery & np.isin(seen["config"], list(wish.holes))
        found += _packed(HOLES, seen, history, seen["config"], chosen)
    return found


def _packed(what: int, seen: Arrays, history: Longs, place: Longs, chosen: Flags) -> list[Packed]:
    at = np.flatnonzero(chosen)
    at = at[np.lexsort((place[at], history[at]))]
    both = history[at] << 32 | (place[at] + 1)
    found = []
    for start, count in zip(*runs(both), strict=True):
        mine = at[start : start + count]
        blob = pack({name: seen[name][mine] for name in ONWARD})
        found.append((what, int(history[mine[0]]), int(place[mine[0]]), blob))
    return found


def _batch(rows: Arrays, wished: list[Packed]) -> Any:
    pa = load()
    arrays = [pa.array(rows[name]) for name in ONWARD]
    arrays.append(pa.nulls(len(rows["tag"]), pa.binary()))
    batch = pa.RecordBatch.from_arrays(arrays, names=list(TOLD))
    if not wished:
        return batch
    sink = Sink()
    for what, history, place, _ in wished:
        sink.add(Tag.EVENTS, lane=what, k1=history, config=place)
    more = sink.arrays()
    arrays = [pa.array(more[name]) for name in ONWARD]
    arrays.append(pa.array([one[3] for one in wished], pa.binary()))
    packed = pa.RecordBatch.from_arrays(arrays, names=list(TOLD))
    return pa.Table.from_batches([batch, packed]).combine_chunks().to_batches()[0]
