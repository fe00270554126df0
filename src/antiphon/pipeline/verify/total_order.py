"""Where the witness of one order fails: whether there is a dispute (S5), exactly.

If some process goes down in the key, from m to n, the others may still agree with it: the key is
only our guess at the order. A dispute is a circle of messages, each delivered before the next by
somebody. It goes up in the key as far as it goes down, and down only in steps that were told; so
every message of a circle lies between the two ends of such steps, in one *window* of steps that
overlap. Only messages of windows are looked at again, and judged like in check/.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from pyspark.sql import DataFrame

from antiphon.check.disputes import Dispute, find_dispute
from antiphon.core.service import Service
from antiphon.core.trace import DAEMON
from antiphon.pipeline.verify.batches import (
    ONWARD,
    ONWARD_SCHEMA,
    TAG_BITS,
    Arrays,
    Sink,
    Tag,
    arrays_of,
    runs,
)
from antiphon.pipeline.verify.by_message import IS_EXTRA, IS_OPEN, IS_SEND, ROW_SERVICE
from antiphon.pipeline.verify.faults import Fault
from antiphon.pipeline.verify.histories import TIME_BITS
from antiphon.pipeline.verify.lookup import Flags, Longs, Lookup
from antiphon.records.arrow import load

Window = tuple[int, int]
Step = tuple[int, int]
"""Down in the key: from, to."""


def windows(steps: Iterable[Step]) -> list[Window]:
    """What the steps cover: ranges of the key that do not touch."""
    found: list[Window] = []
    for low, high in sorted((min(step), max(step)) for step in steps):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return found


def disputes(onward: DataFrame, steps: Iterable[Step], look: Callable[[], Lookup]) -> DataFrame:
    """Findings among the messages in windows of these steps, each history by itself."""
    near = onward.mapInArrow(_inside(windows(steps), look), f"{ONWARD_SCHEMA}, hist long")
    return near.groupBy("hist").applyInArrow(_judge(look), ONWARD_SCHEMA)


def _inside(
    ranges: list[Window], look: Callable[[], Lookup]
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Deliveries whose place in the order is in one of the ranges."""
    lows = np.array([low for low, _ in ranges], np.int64)
    highs = np.array([high for _, high in ranges], np.int64)

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        pa = load()
        for batch in batches:
            rows = arrays_of(batch, ONWARD)
            place = np.searchsorted(lows, rows["k1"], side="right") - 1
            chosen = is_ordered(rows["tag"]) & (place >= 0) & (rows["k1"] <= highs[place])
            kept = [rows[name][chosen] for name in ONWARD]
            kept.append(look().history[kept[0] >> TIME_BITS])
            arrays = [pa.array(column) for column in kept]
            yield pa.RecordBatch.from_arrays(arrays, names=[*ONWARD, "hist"])

    return work


def is_ordered(tag: Longs) -> Flags:
    """Events that count for the one order."""
    events = ((tag & ((1 << TAG_BITS) - 1)) == Tag.EVENT) & ((tag & (IS_SEND | IS_EXTRA)) == 0)
    found: Flags = events & (((tag >> ROW_SERVICE) & 15) >= int(Service.AGREED))
    return found


def _judge(look: Callable[[], Lookup]) -> Callable[[Any], Any]:
    def work(table: Any) -> Any:
        sink = Sink()
        judge_disputes(arrays_of(table.combine_chunks().to_batches()[0], ONWARD), look(), sink)
        return load().Table.from_batches([sink.batch()])

    return work


def judge_disputes(rows: Arrays, look: Lookup, sink: Sink) -> None:
    """S5: daemons among themselves, sessions among themselves, and else all together."""
    parties = sequences(rows)
    daemons = [one for one in parties if look.processes[one[0]][1][2] == DAEMON]
    sessions = [one for one in parties if look.processes[one[0]][1][2] != DAEMON]
    found = [dispute for part in (daemons, sessions) if (dispute := find_dispute(part))]
    if not found:
        whole = find_dispute(parties)
        found = [whole] if whole else []
    for dispute in found:
        _report(rows, dispute, look, sink)


def sequences(rows: Arrays) -> list[tuple[int, list[int]]]:
    """Of each process the agreed and safe messages in its order."""
    at = np.lexsort((rows["key"], rows["tie"], rows["lane"]))
    process = rows["lane"][at] >> TIME_BITS
    key = rows["key"][at]
    return [
        (int(process[start]), list(dict.fromkeys(key[start : start + count].tolist())))
        for start, count in zip(*runs(process), strict=True)
    ]


def _report(rows: Arrays, dispute: Dispute[int], look: Lookup, sink: Sink) -> None:
    process, message, second = dispute[-1]
    here = (rows["key"] == message) & ((rows["lane"] >> TIME_BITS) == process)
    t = int(rows["lane"][here].min()) & ((1 << TIME_BITS) - 1)
    found = {"process": process, "key": message, "t": t}
    sink.find(Fault.DISPUTE, other=dispute[0][0], second=second, **found)
    messages = [one for _, one, _ in dispute]
    is_open = (rows["tag"][np.isin(rows["key"], messages)] & IS_OPEN).any()
    if is_open and look.processes[process][1][2] != DAEMON:
        sink.find(Fault.STRANGER, **found)
