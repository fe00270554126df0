"""Holes in the one order (S5): who goes on without a message that others deliver before.

The slices tell who lacks what, and how far everybody came. A message that somebody lacks, and that
stands in the key before the last one that it delivers, may be a hole. It is one if a chain of
deliveries leads from it to that last one; mostly the chain is one daemon that has delivered both.
"""

from collections import deque
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from antiphon.pipeline.verify.batches import TAG_BITS, Arrays, Sink, Tag
from antiphon.pipeline.verify.by_process import REGULAR
from antiphon.pipeline.verify.events import NUMBER_BITS
from antiphon.pipeline.verify.faults import Fault
from antiphon.pipeline.verify.holding import COMRADE, IN_VIEW
from antiphon.pipeline.verify.lookup import Lookup
from antiphon.pipeline.verify.names import Flags
from antiphon.pipeline.verify.total_order import is_ordered, sequences

Stay = tuple[int, int, bool]
"""A stay, where its messages were sent, whether it is one in a view."""

Order = tuple[int, int, int]
"""A place in the order: `k1`, `k2`, `key`."""


class Question(NamedTuple):
    """Whether a chain leads from a message that was not delivered to the last one that was."""

    message: int
    last: int
    stay: int
    in_view: bool
    config: int


def candidates(rows: Arrays, untrusted: set[int]) -> list[Question]:
    """Who lacks a message that stands before the last one of its stay. In configurations where
    the key is not to be trusted every message that is lacking is asked for."""
    kind = rows["tag"] & ((1 << TAG_BITS) - 1)
    regular: dict[Stay, Order] = {}
    latest: dict[Stay, Order] = {}
    for tag, stay, place in _lines(rows, kind == Tag.STAY):
        known = regular if tag & REGULAR else latest
        known[stay] = max(known.get(stay, place), place)
    found = []
    for tag, stay, place in _lines(rows, kind == Tag.HOLE):
        # After a message of the regular part all are owed, else those whose sender came along.
        goal = (latest if tag & COMRADE else regular).get(stay)
        if goal is not None and (stay[1] in untrusted or place < goal):
            found.append(Question(place[2], goal[2], stay[0], stay[2], stay[1]))
    return found


def _lines(rows: Arrays, chosen: Flags) -> Iterable[tuple[int, Stay, Order]]:
    names = ("tag", "stay", "config", "k1", "k2", "key")
    columns = [rows[name][chosen].tolist() for name in names]
    for tag, stay, config, k1, k2, key in zip(*columns, strict=True):
        yield tag, (stay, config, bool(tag & IN_VIEW)), (k1, k2, key)


def judge_holes(rows: Arrays, questions: list[Question], look: Lookup, sink: Sink) -> None:
    """Of the deliveries of one configuration at daemons."""
    ordered = is_ordered(rows["tag"])
    places: dict[int, dict[int, int]] = {}
    after: dict[int, set[int]] = {}
    for who, sequence in sequences({name: each[ordered] for name, each in rows.items()}):
        for place, one in enumerate(sequence):
            places.setdefault(one, {})[who] = place
        for one, other in pairwise(sequence):
            after.setdefault(one, set()).add(other)
    for asked in questions:
        first, second = places.get(asked.message, {}), places.get(asked.last, {})
        both = any(place < second.get(who, -1) for who, place in first.items())
        if both or leads(asked.message, asked.last, after):
            _tell(asked, look, sink)


def leads(start: int, goal: int, after: dict[int, set[int]]) -> bool:
    """Whether a chain goes from one message to another."""
    seen, waiting = {start}, deque([start])
    while waiting:
        for other in after.get(waiting.popleft(), ()):
            if other == goal:
                return True
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return False


def _tell(one: Question, look: Lookup, sink: Sink) -> None:
    """At daemons and at sessions; for strangers' messages D8 as well."""
    if not one.in_view:
        who, place = int(look.daemon_stay_process[one.stay]), int(look.stay_config[one.stay])
        sink.find(Fault.DAEMON_HOLE, process=who, key=one.message, place=place)
        return
    who, place = int(look.session_stay_process[one.stay]), int(look.session_stay_view[one.stay])
    sink.find(Fault.SESSION_HOLE, process=who, key=one.message, place=place)
    if not look.are_members(np.array([place]), np.array([one.message >> NUMBER_BITS]))[0]:
        sink.find(Fault.STRANGER, process=who, key=one.message, place=place)
