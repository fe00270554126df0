"""Entries of a log as Arrow columns, thousands of messages with a few copies."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from antiphon.client.log import LogRange, entries_in
from antiphon.core.ids import GroupName
from antiphon.core.service import Service
from antiphon.records.arrow import Array, Batch, load

COLUMNS = (
    *("group", "branch", "sequence", "sender", "number"),
    *("service", "kind", "producer", "key", "payload"),
)
SCHEMA = (
    "group string, branch string, sequence bigint, sender string, number bigint, service string, "
    "kind smallint, producer string, key bigint, payload binary"
)
ROWS = 10_000
"""Of a batch: Spark is fastest with about so many."""

PAYLOAD_BYTES = 64 * 1024 * 1024
"""And no more than so many bytes of payloads, if there are several messages."""

NAMES = {int(service): service.name.lower() for service in Service}


class Columns:
    """Gathers entries of one range, and gives batches of its rows."""

    def __init__(self, group: GroupName, wanted: LogRange) -> None:
        self._group = group
        self._branch = str(wanted.branch)
        self._wanted = wanted
        self._clear()

    def _clear(self) -> None:
        self._counts: list[int] = []
        self._sequences: list[int] = []
        self._numbers: list[int] = []
        self._senders: list[str] = []
        self._services: list[str] = []
        self._producers: list[str | None] = []
        self._keys: list[int] = []
        self._lengths: list[bytes] = []
        self._kinds: list[bytes] = []
        self._payloads: list[bytes] = []
        self._rows = self._bytes = 0

    def add(self, data: bytes) -> Iterator[Batch]:
        """Batches that are full now."""
        for entry in entries_in(self._group, data):
            self._counts.append(entry.count)
            self._sequences.append(entry.sequence)
            self._numbers.append(entry.number)
            self._senders.append(entry.sender)
            self._services.append(NAMES[entry.service])
            self._producers.append(entry.producer or None)
            self._keys.append(entry.key)
            self._lengths.append(data[entry.lengths_at : entry.kinds_at])
            self._kinds.append(data[entry.kinds_at : entry.payloads_at])
            self._payloads.append(data[entry.payloads_at : entry.end])
            self._rows += entry.count
            self._bytes += entry.end - entry.payloads_at
            if self._rows >= ROWS or self._bytes >= PAYLOAD_BYTES:
                yield self.batch()

    def batch(self) -> Batch:
        """What was gathered, without what the range does not have."""
        pa = load()
        counts = np.array(self._counts, np.int64)
        starts = np.concatenate(([0], np.cumsum(counts)))
        within = np.arange(starts[-1]) - np.repeat(starts[:-1], counts)
        sequences = np.repeat(np.array(self._sequences, np.int64), counts) + within
        lengths = np.frombuffer(b"".join(self._lengths), ">u4")
        ends = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))).astype(np.int32)
        payloads = pa.py_buffer(b"".join(self._payloads))
        rows = len(sequences)
        arrays: list[Any] = [
            pa.repeat(pa.scalar(self._group), rows),
            pa.repeat(pa.scalar(self._branch), rows),
            pa.array(sequences),
            _repeated(self._senders, counts),
            pa.array(np.repeat(np.array(self._numbers, np.int64), counts) + within),
            _repeated(self._services, counts),
            pa.array(np.frombuffer(b"".join(self._kinds), ">i2").astype(np.int16)),
            _repeated(self._producers, counts),
            self._key_column(counts, within),
            pa.Array.from_buffers(pa.binary(), rows, [None, pa.py_buffer(ends), payloads]),
        ]
        batch = pa.RecordBatch.from_arrays(arrays, list(COLUMNS))
        self._clear()
        skipped = max(0, self._wanted.first - int(sequences[0])) if rows else 0
        beyond = max(0, int(sequences[-1]) - self._wanted.last) if rows else 0
        return batch.slice(skipped, max(0, rows - skipped - beyond))

    def _key_column(self, counts: Any, within: Any) -> Array:
        pa = load()
        keys = np.repeat(np.array(self._keys, np.int64), counts) + within
        without = np.array([producer is None for producer in self._producers])
        return pa.array(keys, mask=np.repeat(without, counts))

    @property
    def waiting(self) -> bool:
        return bool(self._rows)


def _repeated(values: list[Any], counts: Any) -> Array:
    """Few distinct texts, each for many rows."""
    pa = load()
    distinct = {value: place for place, value in enumerate(dict.fromkeys(values))}
    places = np.repeat(np.array([distinct[value] for value in values], np.int32), counts)
    return pa.array(list(distinct), pa.string()).take(pa.array(places))
