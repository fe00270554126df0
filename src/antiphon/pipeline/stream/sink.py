"""Rows to a group, each once: the key of a message is (query, partition) and (batch, index).

A batch counts as written when all daemons hold it: a safe message to the sender itself, sent behind
the rows, has come back. If a daemon ends before, everything is sent again to the next; the groups
drop what they have.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from uuid import uuid4

from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from antiphon.client import blocking
from antiphon.client.errors import SessionError
from antiphon.client.events import Message
from antiphon.core.errors import ConfigError
from antiphon.core.service import Service
from antiphon.pipeline.stream.daemons import ANSWER_S, RETRY_S, Daemons
from antiphon.pipeline.stream.options import StreamOptions
from antiphon.records.arrow import Batch, load

BATCH_PROPERTY = "streaming.sql.batchId"
QUERY_PROPERTY = "sql.streaming.queryId"
INDEX_BITS = 32


@dataclass
class Written(WriterCommitMessage):
    rows: int


class Sender:
    """What both sinks share."""

    def __init__(self, options: StreamOptions, columns: list[str]) -> None:
        if options.payload not in columns:
            what = f"there is no column {options.payload!r} among {', '.join(columns)}"
            raise ConfigError("payload", what, "name the column that is sent, of texts or bytes")
        if not options.groups and "group" not in columns:
            raise ConfigError(
                "group", "no group is named", "say group=NAME, or have a column group"
            )
        if len(options.groups) > 1:
            raise ConfigError("group", "several groups", "name one, or have a column group")
        self._options = options

    def send(self, batches: Iterator[Batch], producer: str, batch: int) -> Written:
        """All rows, once, in their order within each group."""
        rows = self._by_group(batches)
        daemons = Daemons(self._options.connect, self._options.token, self._options.timeout)
        until = time.monotonic() + self._options.timeout
        while True:
            try:
                if self._try(daemons.session(), rows, producer, batch << INDEX_BITS):
                    return Written(sum(map(len, rows.values())))
            except SessionError:
                if time.monotonic() >= until:
                    raise
                daemons.next()
                time.sleep(RETRY_S)
            finally:
                daemons.close()

    def _try(
        self, session: blocking.Session, rows: dict[str, list[bytes]], producer: str, key: int
    ) -> bool:
        """False if the configuration ended meanwhile, so that not all may have it."""
        for group, payloads in rows.items():
            session.feed(
                group,
                partial(next, iter(payloads), None),
                service=self._options.service,
                key=(producer, key),
            )
        mark = uuid4().bytes
        session.multicast(session.private_group, mark, service=Service.SAFE)
        until = time.monotonic() + max(ANSWER_S, self._options.timeout)
        while (left := until - time.monotonic()) > 0:
            event = session.receive(timeout=left)
            if isinstance(event, Message) and event.payload == mark:
                return not event.transitional
        raise SessionError("timed_out", "the daemon does not send", "see antiphon status")

    def _by_group(self, batches: Iterator[Batch]) -> dict[str, list[bytes]]:
        found: dict[str, list[bytes]] = {}
        for batch in batches:
            payloads = batch.column(self._options.payload)
            if payloads.null_count:
                raise ConfigError("payload", "a row without a payload", "filter such rows out")
            payloads = payloads.cast(load().binary()).to_pylist()
            if self._options.groups:
                found.setdefault(self._options.groups[0], []).extend(payloads)
                continue
            for group, payload in zip(batch.column("group").to_pylist(), payloads, strict=True):
                found.setdefault(group, []).append(payload)
        return found


class StreamSink(DataSourceStreamArrowWriter):
    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def write(self, iterator: Iterator[Batch]) -> Written:
        context = TaskContext.get()
        assert context is not None, "runs in a task"
        query = context.getLocalProperty(QUERY_PROPERTY)
        batch = context.getLocalProperty(BATCH_PROPERTY)
        if query is None or batch is None:
            what = f"this Spark does not tell {QUERY_PROPERTY} and {BATCH_PROPERTY}"
            raise ConfigError("pyspark", what, "use the version of constraints.txt")
        producer = f"{query}/{context.partitionId()}"
        return self._sender.send(iterator, producer, int(batch))


class BatchSink(DataSourceArrowWriter):
    def __init__(self, sender: Sender, job: str) -> None:
        self._sender = sender
        self._job = job

    def write(self, iterator: Iterator[Batch]) -> Written:
        context = TaskContext.get()
        assert context is not None, "runs in a task"
        return self._sender.send(iterator, f"{self._job}/{context.partitionId()}", 0)
