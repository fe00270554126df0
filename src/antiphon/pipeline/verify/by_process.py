"""Events of a slice in the order of their processes.

It judges S3, and gathers what S4 and S5 are decided by. For S5 it looks for a *witness*: if the
agreed and safe messages of every process rise strictly in one key, whatever the key means, then
all processes deliver them in the order of that key. Where a process goes down in it, that step is
told, and looked at more closely. For S4 it looks whether the key is a clock of causes too, or at
least the configuration is.

What a slice cannot see is whether a process comes to it before it has left an earlier one. So it
tells its *edges*, the first and last places of each process here; edges.py connects them.
"""

import numpy as np

from antiphon.core.service import Service
from antiphon.pipeline.verify.batches import TAG_BITS, Arrays, Sink, Tag, runs
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
from antiphon.pipeline.verify.histories import PROCESS_BITS, TIME_BITS
from antiphon.pipeline.verify.names import Flags, Longs, distinct

NUMBER = (1 << NUMBER_BITS) - 1
SEGMENT = 42
"""Above a message's number, where runs of one origin are told apart."""

UNKNOWN_SERVICE = 15
RELIABLE = int(Service.RELIABLE)

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


CONFIG_BITS = 22

LAST = 1 << TAG_BITS
"""Of an edge: it is the last place, else the first."""

EDGE = TAG_BITS + 1
ORDERED, SENT, HEARD, CAUSAL, NUMBERED, FIFO = range(6)
"""Of what an edge is: agreed and safe messages; what the process sends; all that it gets; causal
and stronger; reliable and stronger of one origin, of which it is the last; fifo and stronger of
one origin, of which it is the first."""


class Course:
    """Events sorted by process and place."""

    def __init__(self, rows: Arrays) -> None:
        self._rows = rows
        tag = rows["tag"]
        self.process = rows["lane"] >> TIME_BITS
        self.service = (tag >> SERVICE) & 15
        self.service[self.service == UNKNOWN_SERVICE] = -1
        self.is_send = (tag & IS_SEND) != 0
        self.receives = ~self.is_send & ((tag & IS_EXTRA) == 0)
        self.ordered = ~self.is_send & (((tag >> ROW_SERVICE) & 15) >= int(Service.AGREED))

    def judge(self, sink: Sink) -> None:
        self._in_session_order(sink)
        self._rises(sink)
        self._note_stays(sink)
        self._doubt(sink)

    def _by_origin(self, chosen: Flags) -> tuple[Longs, Longs, Longs]:
        """Rows by process, origin and place; where each origin begins, and how many it has."""
        at = np.flatnonzero(chosen)
        both = self.process[at] << PROCESS_BITS | self._rows["key"][at] >> NUMBER_BITS
        at = at[np.argsort(both, kind="stable")]
        return at, *runs(self.process[at] << PROCESS_BITS | self._rows["key"][at] >> NUMBER_BITS)

    def _in_session_order(self, sink: Sink) -> None:
        """S3: a fifo or stronger message comes after every reliable or stronger one that its
        session sent before it."""
        rows = self._rows
        at, starts, counts = self._by_origin(self.receives & (self.service >= RELIABLE))
        if not len(at):
            return
        key = rows["key"][at]
        number = key & NUMBER
        newest = np.where(self.service[at] >= int(Service.FIFO), number, 0)
        segment = np.repeat(np.arange(len(starts)), counts) << SEGMENT
        prior = np.empty(len(at), np.int64)
        prior[1:] = (np.maximum.accumulate(segment | newest) - segment)[:-1]
        prior[starts] = 0
        late = prior > number
        if late.any():
            sink.find(
                Fault.BEFORE_EARLIER,
                process=self.process[at[late]],
                key=key[late] & ~NUMBER | prior[late],
                t=rows["lane"][at[late]] & ((1 << TIME_BITS) - 1),
                second=key[late],
            )

    def _rises(self, sink: Sink) -> None:
        """S5: the witness, and where it fails."""
        chosen = np.flatnonzero(self.ordered & self.receives)
        k1, k2 = self._rows["k1"][chosen], self._rows["k2"][chosen]
        process = self.process[chosen]
        down = (k1[1:] < k1[:-1]) | ((k1[1:] == k1[:-1]) & (k2[1:] <= k2[:-1]))
        at = np.flatnonzero(down & (process[1:] == process[:-1]))
        starts, counts = runs(process[at])
        for start, count in zip(starts.tolist(), counts.tolist(), strict=True):
            mine = at[start : start + count]
            high, low = k1[mine], k1[mine + 1]
            if count > STEPS_MAX:
                high, low = high.max(), low.min()
            sink.add(Tag.STEP, lane=int(process[mine[0]]), k1=high, stay=low)

    def _note_stays(self, sink: Sink) -> None:
        """How far in the order a process came in each stay."""
        rows = self._rows
        regular = (rows["tag"] & IS_TRANSITIONAL) == 0
        inside = self.ordered & (rows["stay"] >= 0)
        is_hand = (rows["tag"] & IS_HAND) != 0
        both = (rows["stay"] << 1 | is_hand) << CONFIG_BITS | np.maximum(rows["config"], 0)
        for chosen, flag in ((inside, 0), (inside & regular, REGULAR)):
            at = np.flatnonzero(chosen)[::-1]
            at = at[np.unique(both[at], return_index=True)[1]]
            if len(at):
                sink.add(
                    Tag.STAY | flag | np.where(is_hand[at], IN_VIEW, 0),
                    lane=self.process[at],
                    key=rows["key"][at],
                    k1=rows["k1"][at],
                    k2=rows["k2"][at],
                    stay=rows["stay"][at],
                    config=rows["config"][at],
                )

    def _doubt(self, sink: Sink) -> None:
        """S4: whether causes and effects follow the key, or at least the configurations."""
        rows, process = self._rows, self.process
        config, key = rows["config"], rows["key"]
        _, k1 = np.unique(rows["k1"], return_inverse=True)
        k1 = k1 + 1
        self._tell(self.service == int(Service.CAUSAL), HAS_CAUSAL, sink)
        stamped = self.is_send & (config >= 0)
        self._tell(stamped & (config < self._before(config + 1) - 1), MIXED, sink)
        causal = np.flatnonzero(self.receives & (self.service >= int(Service.CAUSAL)))
        here, who = config[causal], process[causal]
        back = np.flatnonzero((here[1:] < here[:-1]) & (who[1:] == who[:-1]))
        self._tell(_flags(len(process), causal[back]), MIXED, sink)
        heard = self._before(np.where(self.is_send, 0, k1))
        self._tell(stamped & (k1 <= heard), NO_CLOCK, sink)
        sent = np.flatnonzero(stamped)
        place, number, who = k1[sent], key[sent], process[sent]
        late = (place[1:] < place[:-1]) | ((place[1:] == place[:-1]) & (number[1:] <= number[:-1]))
        back = np.flatnonzero(late & (who[1:] == who[:-1]))
        self._tell(_flags(len(process), sent[back]), NO_CLOCK, sink)

    def _before(self, values: Longs) -> Longs:
        """The highest value before each row at its process, from 0 on; they are small."""
        starts, counts = runs(self.process)
        segment = np.repeat(np.arange(len(starts)), counts) << SEGMENT
        found = np.zeros(len(values), np.int64)
        found[1:] = (np.maximum.accumulate(segment | values) - segment)[:-1]
        found[starts] = 0
        return found

    def _tell(self, chosen: Flags, doubt: int, sink: Sink) -> None:
        if chosen.any():
            sink.add(Tag.DOUBT, lane=distinct(self.process[chosen]), k1=doubt)

    # For other slices.

    def tell_edges(self, number: int, loose: Flags, sink: Sink) -> None:
        """`loose`: events of histories that have messages which do not follow the key."""
        rows = self._rows
        both = self.process << CONFIG_BITS | (rows["config"] + 1)
        order = np.arange(len(both))
        if (both[1:] < both[:-1]).any():
            order = np.argsort(both, kind="stable")
        stamped = self.is_send & (rows["config"] >= 0)
        causal = self.receives & (self.service >= int(Service.CAUSAL))
        for kind, chosen in (
            (ORDERED, self.ordered & self.receives),
            (SENT, stamped),
            (HEARD, ~self.is_send),
            (CAUSAL, causal),
        ):
            at = order[chosen[order]]
            starts, counts = runs(both[at])
            self._edges(kind << EDGE, at, starts, at[starts], np.minimum, number, sink)
            last = at[starts + counts - 1]
            self._edges(kind << EDGE | LAST, at, starts, last, np.maximum, number, sink)
        if loose.any():
            reliable = loose & self.receives & (self.service >= RELIABLE)
            at, starts, counts = self._by_origin(reliable)
            last = at[starts + counts - 1]
            self._edges(NUMBERED << EDGE | LAST, at, starts, last, np.maximum, number, sink)
            at, starts, _ = self._by_origin(reliable & (self.service >= int(Service.FIFO)))
            self._edges(FIFO << EDGE, at, starts, at[starts], np.minimum, number, sink)

    def _edges(
        self,
        kind: int,
        at: Longs,
        starts: Longs,
        edge: Longs,
        extreme: np.ufunc,
        number: int,
        sink: Sink,
    ) -> None:
        """With each edge the lowest or highest place in the order that it bounds."""
        if len(at):
            rows = self._rows
            sink.add(
                Tag.EDGE | kind,
                lane=rows["lane"][edge],
                tie=rows["tie"][edge],
                key=rows["key"][edge],
                k1=extreme.reduceat(rows["k1"][at], starts),
                stay=number,
                config=rows["config"][edge],
            )


def _flags(size: int, at: Longs) -> Flags:
    found = np.zeros(size, np.bool_)
    found[at] = True
    return found
