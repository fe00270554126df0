"""Nobody gets a message before its causes (S4), exactly: with vectors of what was known.

A session knows what it submitted and was handed, and all that the senders of those knew. What is
known of an origin is always a beginning of what it submitted, for whoever submits knows its own
earlier messages; so a number for each origin says all. A message carries the vector of its sender.
A process that has got messages whose vectors go up to the i-th of an origin must not get the i-th
afterwards.

Events of one *scope* are judged together: those of messages sent in one configuration, if no
sender and no receiver mixes configurations (then no cause of such a message that could come late
lies in another one); else the whole history.
"""

import numpy as np
import numpy.typing as npt

from antiphon.core.service import Service
from antiphon.pipeline.verify.batches import Arrays, Sink, runs
from antiphon.pipeline.verify.by_message import IS_EXTRA, IS_SEND, SERVICE
from antiphon.pipeline.verify.events import NUMBER_BITS
from antiphon.pipeline.verify.faults import Fault
from antiphon.pipeline.verify.histories import TIME_BITS
from antiphon.pipeline.verify.names import Longs

Vectors = npt.NDArray[np.int32]

CHUNK = 4096
"""Rows of a process that are compared at once; each is as wide as there are origins."""


def judge_causes(rows: Arrays, sink: Sink) -> None:
    """Of events of one scope, in any order."""
    t = rows["lane"] & ((1 << TIME_BITS) - 1)
    order = np.lexsort((rows["key"], rows["tie"], t))
    Scope({name: column[order] for name, column in rows.items()}).judge(sink)


class Scope:
    """Events that are judged together, in the order of their places."""

    def __init__(self, rows: Arrays) -> None:
        tag = rows["tag"]
        service = (tag >> SERVICE) & 15
        self.process = rows["lane"] >> TIME_BITS
        self.t = rows["lane"] & ((1 << TIME_BITS) - 1)
        self.is_send = (tag & IS_SEND) != 0
        is_extra = (tag & IS_EXTRA) != 0
        self.receives = ~self.is_send & ~is_extra
        self.counts = self.receives & (service >= int(Service.CAUSAL)) & (service < 15)
        self.key, self.message = np.unique(rows["key"], return_inverse=True)
        _, self.origin = np.unique(self.key >> NUMBER_BITS, return_inverse=True)
        self.origins = int(self.origin.max()) + 1 if len(self.origin) else 0
        self.place = self._places()

    def _places(self) -> Longs:
        """Of each message: the how manieth it is of its origin, by submits."""
        sends = self.message[self.is_send]
        _, first = np.unique(sends, return_index=True)
        submitted = np.full(len(self.key), np.iinfo(np.int64).max)
        submitted[sends[first]] = first
        order = np.lexsort((self.key, submitted, self.origin))
        starts, counts = runs(self.origin[order])
        places = np.empty(len(self.key), np.int64)
        places[order] = np.arange(len(order)) - np.repeat(starts, counts) + 1
        return places

    def judge(self, sink: Sink) -> None:
        vectors = self._vectors()
        order = np.argsort(self.process, kind="stable")
        order = order[self.counts[order]]
        for start, count in zip(*runs(self.process[order]), strict=True):
            self._compare(order[start : start + count], vectors, sink)

    def _vectors(self) -> Vectors:
        """What is known with each message, itself included."""
        vectors = np.zeros((len(self.key), self.origins), np.int32)
        by_process = np.argsort(self.process, kind="stable")
        starts, counts = runs(self.process[by_process])
        received: dict[int, Longs] = {}
        for start, count in zip(starts, counts, strict=True):
            rows = by_process[start : start + count]
            received[int(self.process[rows[0]])] = rows[self.receives[rows]]
        known = {who: np.zeros(self.origins, np.int32) for who in received}
        done = dict.fromkeys(received, 0)
        for row in np.flatnonzero(self.is_send).tolist():
            who, message = int(self.process[row]), int(self.message[row])
            mine, rows = known[who], received[who]
            until = int(np.searchsorted(rows, row))
            if until > done[who]:
                news = vectors[self.message[rows[done[who] : until]]]
                np.maximum(mine, news.max(axis=0), out=mine)
                done[who] = until
            if not vectors[message].any():  # a second submit of one number changes nothing
                origin = self.origin[message]
                mine[origin] = max(mine[origin], self.place[message])
                vectors[message] = mine
        return vectors

    def _compare(self, rows: Longs, vectors: Vectors, sink: Sink) -> None:
        """One process: a message must not be in the past of one that it got before."""
        reached = np.zeros(self.origins, np.int32)
        for start in range(0, len(rows), CHUNK):
            message = self.message[rows[start : start + CHUNK]]
            so_far = np.maximum.accumulate(np.vstack((reached, vectors[message])), axis=0)
            reached = so_far[-1]
            origin, place = self.origin[message], self.place[message]
            late = so_far[np.arange(len(message)), origin] >= place
            for at in np.flatnonzero(late).tolist():
                self._report(rows, start + at, vectors, sink)

    def _report(self, rows: Longs, at: int, vectors: Vectors, sink: Sink) -> None:
        late = int(self.message[rows[at]])
        earlier = self.message[rows[:at]]
        column = vectors[earlier, self.origin[late]]
        hasty = int(earlier[int(np.argmax(column >= self.place[late]))])
        sink.find(
            Fault.BEFORE_CAUSE,
            process=int(self.process[rows[at]]),
            key=self.key[hasty],
            t=self.t[rows[at]],
            second=self.key[late],
        )
