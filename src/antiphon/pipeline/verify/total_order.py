"""Where the witness of one order fails: whether there is a dispute (S5), exactly.

If some process goes down in the key, from m to n, the others may still agree with it: the key is
only our guess at the order. A dispute is a circle of messages, each delivered before the next by
somebody. It goes up in the key as far as it goes down, and down only in steps that were told; so
every message of a circle lies between the two ends of such steps, in one *window* of steps that
overlap. Only messages of windows are looked at again, and judged like in check/.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from antiphon.check.disputes import Dispute, find_dispute
from antiphon.core.service import Service
from antiphon.core.trace import DAEMON
from antiphon.pipeline.verify.batches import TAG_BITS, Arrays, Sink, Tag, runs
from antiphon.pipeline.verify.by_message import IS_EXTRA, IS_OPEN, IS_SEND, ROW_SERVICE
from antiphon.pipeline.verify.faults import Fault
from antiphon.pipeline.verify.histories import TIME_BITS
from antiphon.pipeline.verify.lookup import Lookup
from antiphon.pipeline.verify.names import Flags, Longs

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


def window_of(k1: Longs, ranges: Sequence[Window]) -> Longs:
    """In which of the ranges each place in the order is; −1 for none."""
    lows, highs = np.array(ranges, np.int64).reshape(-1, 2).T
    place = np.searchsorted(lows, k1, side="right") - 1
    return np.where((place >= 0) & (k1 <= highs[place]), place, -1)


def is_ordered(tag: Longs) -> Flags:
    """Events that count for the one order."""
    events = ((tag & ((1 << TAG_BITS) - 1)) == Tag.EVENT) & ((tag & (IS_SEND | IS_EXTRA)) == 0)
    found: Flags = events & (((tag >> ROW_SERVICE) & 15) >= int(Service.AGREED))
    return found


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
