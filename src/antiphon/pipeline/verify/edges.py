"""Slices connected: whether each process is done with a slice before it comes to the next.

Inside a slice everything is seen. Between two of them only the first and last places count: if
the last of the earlier is before the first of the later, so is everything else. A row for each
process, configuration and slice comes to the driver, which grows with the number of slices, not
with that of messages.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from antiphon.pipeline.verify.batches import Arrays, Sink, Tag
from antiphon.pipeline.verify.by_process import (
    CAUSAL,
    EDGE,
    FIFO,
    HEARD,
    LAST,
    MIXED,
    NO_CLOCK,
    NUMBERED,
    ORDERED,
    SENT,
)
from antiphon.pipeline.verify.events import NUMBER_BITS
from antiphon.pipeline.verify.faults import Fault
from antiphon.pipeline.verify.histories import TIME_BITS

Place = tuple[int, int, int]
"""Time, the rest of the place, and the message."""

ALWAYS: Place = (-1, -1, -1)
NEVER: Place = (1 << 62, 0, 0)


class Span(NamedTuple):
    """What a slice has of one kind: from one place to another, from low to high in the order."""

    first: Place = NEVER
    last: Place = ALWAYS
    low: int = 0
    high: int = 0


NOTHING = Span()
Stretch = dict[int, Span]
"""Spans by kind, of a process and configuration in a slice."""


def connect(rows: Arrays, sink: Sink) -> None:
    """Steps, doubts and findings that are seen only between slices."""
    kinds = rows["tag"] >> EDGE
    order = np.lexsort((rows["stay"], rows["config"], rows["lane"] >> TIME_BITS))
    common = order[kinds[order] <= CAUSAL]
    for process, course in _courses({name: column[common] for name, column in rows.items()}):
        _connect_process(process, course, sink)
    numbered = order[kinds[order] >= NUMBERED]
    _connect_origins({name: column[numbered] for name, column in rows.items()}, sink)


def _places(rows: Arrays) -> list[Place]:
    t = (rows["lane"] & ((1 << TIME_BITS) - 1)).tolist()
    return list(zip(t, rows["tie"].tolist(), rows["key"].tolist(), strict=True))


def _courses(rows: Arrays) -> Iterator[tuple[int, list[tuple[int, Stretch]]]]:
    """Of each process: its configurations and slices in order, and what it has there."""
    held = -1
    course: list[tuple[int, Stretch]] = []
    last_key: tuple[int, int] | None = None
    columns = (rows["lane"] >> TIME_BITS, rows["config"], rows["stay"], rows["tag"], rows["k1"])
    lists = [column.tolist() for column in columns]
    for who, config, number, tag, k1, place in zip(*lists, _places(rows), strict=True):
        if who != held:
            if course:
                yield held, course
            held, course, last_key = who, [], None
        if (config, number) != last_key:
            course.append((config, {}))
            last_key = (config, number)
        stretch = course[-1][1]
        kind = tag >> EDGE
        span = stretch.get(kind, NOTHING)
        if tag & LAST:
            stretch[kind] = span._replace(last=place, high=k1)
        else:
            stretch[kind] = span._replace(first=place, low=k1)
    if course:
        yield held, course


def _connect_process(process: int, course: list[tuple[int, Stretch]], sink: Sink) -> None:
    latest = {kind: ALWAYS for kind in (ORDERED, SENT, CAUSAL)}
    earlier: list[Span] = []
    doubts = 0
    sent_before: Place = ALWAYS
    """The last place of anything that was sent in a configuration before this one."""
    caused_before: Place = ALWAYS
    here = None
    for config, stretch in course:
        ordered, sent = stretch.get(ORDERED, NOTHING), stretch.get(SENT, NOTHING)
        heard, causal = stretch.get(HEARD, NOTHING), stretch.get(CAUSAL, NOTHING)
        if config != here:
            here, sent_before, caused_before = config, latest[SENT], latest[CAUSAL]
        if ordered.first <= latest[ORDERED]:
            for span in earlier:
                if ordered.first <= span.last:
                    sink.add(Tag.STEP, lane=process, k1=ordered.high, stay=span.low)
        if min(heard.first, sent.first) <= latest[SENT]:
            doubts |= NO_CLOCK
        if min(heard.first, sent.first) <= sent_before or causal.first <= caused_before:
            doubts |= MIXED
        if ordered is not NOTHING:
            earlier.append(ordered)
        for kind, span in ((ORDERED, ordered), (SENT, sent), (CAUSAL, causal)):
            latest[kind] = max(latest[kind], span.last)
    if doubts:
        sink.add(Tag.DOUBT, lane=process, k1=doubts)


def _connect_origins(rows: Arrays, sink: Sink) -> None:
    """S3 between slices: a fifo message came before an earlier one of its session."""
    process, origin = rows["lane"] >> TIME_BITS, rows["key"] >> NUMBER_BITS
    order = np.lexsort((-rows["tag"], rows["stay"], origin, process))  # FIFO before NUMBERED
    lists = [column[order].tolist() for column in (process, origin, rows["tag"])]
    places = _places({name: column[order] for name, column in rows.items()})
    held, latest = (-1, -1), ALWAYS
    for who, source, tag, place in zip(*lists, places, strict=True):
        if (who, source) != held:
            held, latest = (who, source), ALWAYS
        if tag >> EDGE == FIFO:
            if place < latest:
                found = {"process": who, "key": place[2], "t": latest[0], "second": latest[2]}
                sink.find(Fault.BEFORE_EARLIER, **found)
        else:
            latest = max(latest, place)
