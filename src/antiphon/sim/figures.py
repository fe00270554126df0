"""Figures of one run, small enough to send away and made to be added up.

Latencies are counted in buckets, eight to each doubling: the sum over any number of runs still
tells every percentile, to a twelfth of its value.
"""

import math
from collections import Counter
from collections.abc import Iterable

import msgspec

from antiphon.core.service import Service
from antiphon.core.trace import Kind, Record

BUCKETS_PER_DOUBLING = 8


class Figures(msgspec.Struct, frozen=True):
    merge_us: int | None
    """From the last disturbance before the last configuration until all its members had installed
    it; None if nothing was disturbed."""

    latencies: dict[tuple[str, int], int]
    """How many messages, from the call to each receiver, by service and bucket."""


def figures(records: Iterable[Record]) -> Figures:
    """Records in the order of time, as the simulator has them."""
    disturbed: int | None = None
    merge_us: int | None = None
    submitted: dict[tuple[object, int], int] = {}
    latencies: Counter[tuple[str, int]] = Counter()
    for record in records:
        kind = record.kind
        if kind is Kind.FAULT or kind is Kind.QUIET:
            disturbed = record.time
        elif kind is Kind.INSTALL and disturbed is not None:
            merge_us = record.time - disturbed
        elif kind is Kind.SUBMIT:
            for number in range(record.first, record.first + record.count):
                submitted[record.origin, number] = record.time
        elif kind is Kind.HAND:
            service = Service(record.service).name.lower()
            for number in range(record.first, record.first + record.count):
                began = submitted.get((record.origin, number))
                if began is not None:
                    latencies[service, bucket(record.time - began)] += 1
    return Figures(merge_us, dict(latencies))


def bucket(microseconds: int) -> int:
    return int(BUCKETS_PER_DOUBLING * math.log2(max(1, microseconds)))


def middle_us(number: int) -> float:
    """Of a bucket."""
    return float(2 ** ((number + 0.5) / BUCKETS_PER_DOUBLING))
