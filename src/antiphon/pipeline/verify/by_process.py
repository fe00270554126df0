"""The pass over processes: the events of a process in their order, one process after another.

It judges S3, and gathers what S4 and S5 are decided by. For S5 it looks for a *witness*: if the
agreed and safe messages of every process rise strictly in one key, whatever the key means, then
all processes deliver them in the order of that key. Where a process goes down in it, that step is
told, and looked at more closely. For S4 it looks whether the key is a clock of causes too, or at
least the configuration is.

Only what is needed of the past of the process in hand is kept, so that rows stream through.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from antiphon.core.service import Service
from antiphon.pipeline.verify.batches import ONWARD, TAG_BITS, Arrays, Sink, Tag, arrays_of, runs
from antiphon.pipeline.verify.by_message import (
    IS_EXTRA,
    IS_HAND,
    IS_SEND,
    IS_TRANSITIONAL,
    ROW_SERVICE,
    SERVICE,
)
from antiphon.pipeline.verify.events import NUMBER_BITS
from antiphon.pipeline.verify.faults import Fault
from antiphon.pipeline.verify.histories import TIME_BITS
from antiphon.pipeline.verify.lookup import Flags, Longs

NUMBER = (1 << NUMBER_BITS) - 1
SEGMENT = 42
"""Above a message's number, where runs of one origin are told apart."""

UNKNOWN_SERVICE = 15

REGULAR = 1 << TAG_BITS
"""Of a row about a stay: it is about the regular part."""

IN_VIEW = 2 << TAG_BITS
"""Of a row about a stay: it is one in a view."""

STEPS_MAX = 100
"""Steps down of a process in one batch that are told apart; of more, only what they span."""

MIXED = 1
"""Of a doubt: messages of configurations are mixed, at sender or receiver."""

NO_CLOCK = 2
"""Of a doubt: the key does not rise from causes to effects."""

HAS_CAUSAL = 4
"""Of a doubt: there are causal messages, which do not follow the key."""


def pass_over_processes(batches: Iterable[Any]) -> Iterator[Any]:
    course = Course(0)
    for batch in batches:
        rows = arrays_of(batch, ONWARD)
        sink = Sink()
        is_event = (rows["tag"] & ((1 << TAG_BITS) - 1)) == Tag.EVENT
        _pass_on(rows, ~is_event, sink)
        course = follow(rows, is_event, course, sink)
        yield sink.batch()


def _pass_on(rows: Arrays, chosen: Flags, sink: Sink) -> None:
    """Findings and the like are ready."""
    if chosen.any():
        kept = {name: column[chosen] for name, column in rows.items()}
        sink.add(kept.pop("tag"), **kept)


def follow(rows: Arrays, chosen: Flags, course: "Course", sink: Sink) -> "Course":
    """Events in the order of processes and places; what is known of the last process."""
    events = {name: column[chosen] for name, column in rows.items()}
    process = events["lane"] >> TIME_BITS
    for start, count in zip(*runs(process), strict=True):
        who = int(process[start])
        if who != course.process:
            course = Course(who)
        course.go_on({name: each[start : start + count] for name, each in events.items()}, sink)
    return course


class Course:
    """A process, and what counts of its past."""

    def __init__(self, process: int) -> None:
        self.process = process
        self._newest: dict[int, int] = {}
        """Of each origin: the highest number of a fifo or stronger message that was received."""
        self._last: tuple[int, int, int] | None = None
        """Place in the order, and key, of the last agreed or safe message."""
        self._received_config = -1
        self._known_config = -1
        self._received_k1 = -1
        self._sent: tuple[int, int] = (-1, -1)

    def go_on(self, rows: Arrays, sink: Sink) -> None:
        tag = rows["tag"]
        service = (tag >> SERVICE) & 15
        service[service == UNKNOWN_SERVICE] = -1
        is_send = (tag & IS_SEND) != 0
        receives = ~is_send & ((tag & IS_EXTRA) == 0)
        ordered = ~is_send & (((tag >> ROW_SERVICE) & 15) >= int(Service.AGREED))
        self._in_session_order(rows, receives & (service >= int(Service.RELIABLE)), service, sink)
        self._rises(rows, ordered & receives, sink)
        self._note_stays(rows, ordered, sink)
        self._doubt(rows, service, is_send, receives, sink)

    def _in_session_order(self, rows: Arrays, chosen: Flags, service: Longs, sink: Sink) -> None:
        """S3: a fifo or stronger message comes after every reliable or stronger one that its
        session sent before it."""
        at = np.flatnonzero(chosen)
        if not len(at):
            return
        at = at[np.argsort(rows["key"][at] >> NUMBER_BITS, kind="stable")]
        key = rows["key"][at]
        origin, number = key >> NUMBER_BITS, key & NUMBER
        starts, counts = runs(origin)
        newest = np.where(service[at] >= int(Service.FIFO), number, 0)
        segment = np.repeat(np.arange(len(starts)), counts) << SEGMENT
        known = np.array([self._newest.get(one, 0) for one in origin[starts].tolist()])
        prior = np.empty(len(at), np.int64)
        so_far = np.maximum.accumulate(segment | newest) - segment
        so_far = np.maximum(so_far, np.repeat(known, counts))
        prior[1:] = so_far[:-1]
        prior[starts] = known
        for one, value in zip(origin[starts].tolist(), so_far[starts + counts - 1], strict=True):
            self._newest[one] = int(value)
        late = prior > number
        if late.any():
            sink.find(
                Fault.BEFORE_EARLIER,
                process=self.process,
                key=origin[late] << NUMBER_BITS | prior[late],
                t=rows["lane"][at[late]] & ((1 << TIME_BITS) - 1),
                second=key[late],
            )

    def _rises(self, rows: Arrays, chosen: Flags, sink: Sink) -> None:
        """S5: the witness, and where it fails."""
        k1, k2, key = rows["k1"][chosen], rows["k2"][chosen], rows["key"][chosen]
        if not len(key):
            return
        if self._last is not None:
            first = self._last
            k1, k2 = np.append(first[0], k1), np.append(first[1], k2)
            key = np.append(first[2], key)
        down = (k1[1:] < k1[:-1]) | ((k1[1:] == k1[:-1]) & (k2[1:] <= k2[:-1]))
        at = np.flatnonzero(down)
        high, low = k1[at], k1[at + 1]
        if len(at) > STEPS_MAX:
            high, low = high.max(), low.min()
        if len(at):
            sink.add(Tag.STEP, lane=self.process, k1=high, stay=low)
        self._last = (int(k1[-1]), int(k2[-1]), int(key[-1]))

    def _note_stays(self, rows: Arrays, ordered: Flags, sink: Sink) -> None:
        """How far in the order a process came in each stay."""
        regular = (rows["tag"] & IS_TRANSITIONAL) == 0
        inside = ordered & (rows["stay"] >= 0)
        for chosen, flag in ((inside, 0), (inside & regular, REGULAR)):
            at = np.flatnonzero(chosen)[::-1]
            both = rows["stay"][at] << 20 | np.maximum(rows["config"][at], 0)
            at = at[np.unique(both, return_index=True)[1]]
            if len(at):
                in_view = np.where(rows["tag"][at] & IS_HAND, IN_VIEW, 0)
                sink.add(
                    Tag.STAY | flag | in_view,
                    lane=self.process,
                    key=rows["key"][at],
                    k1=rows["k1"][at],
                    k2=rows["k2"][at],
                    stay=rows["stay"][at],
                    config=rows["config"][at],
                )

    def _doubt(
        self, rows: Arrays, service: Longs, is_send: Flags, receives: Flags, sink: Sink
    ) -> None:
        """S4: whether causes and effects follow the key, or at least the configurations."""
        config, k1, key = rows["config"], rows["k1"], rows["key"]
        doubts = HAS_CAUSAL if (service == int(Service.CAUSAL)).any() else 0
        known = _before(config, self._known_config)
        stamped = is_send & (config >= 0)
        if (stamped & (config < known)).any():
            doubts |= MIXED
        causal = receives & (service >= int(Service.CAUSAL))
        mine = np.append(self._received_config, config[causal])
        if (mine[1:] < mine[:-1]).any():
            doubts |= MIXED
        heard = _before(np.where(is_send, -1, k1), self._received_k1)
        if (stamped & (k1 <= heard)).any():
            doubts |= NO_CLOCK
        sent = np.append(self._sent[0], k1[stamped])
        numbers = np.append(self._sent[1], key[stamped])
        late = (sent[1:] < sent[:-1]) | ((sent[1:] == sent[:-1]) & (numbers[1:] <= numbers[:-1]))
        if late.any():
            doubts |= NO_CLOCK
        self._sent = (int(sent[-1]), int(numbers[-1]))
        self._received_config = int(mine[-1])
        self._known_config = max(self._known_config, int(config.max()))
        self._received_k1 = max(self._received_k1, int(np.where(is_send, -1, k1).max()))
        if doubts:
            sink.add(Tag.DOUBT, lane=self.process, k1=doubts)


def _before(values: Longs, first: int) -> Longs:
    """The highest value before each place."""
    return np.maximum.accumulate(np.append(first, values))[:-1]
