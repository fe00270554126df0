"""`bench stream`: groups in and out of Structured Streaming, how many rows and how fast.

Throughput is that of the source alone, from a log that is there. Latency is of single messages,
from the call of `multicast` through source and sink to the member of another group.
"""

import os
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from antiphon.client import blocking
from antiphon.client.events import Message
from antiphon.client.log import BlockingLog
from antiphon.tools.bench.reception import BenchFailed
from antiphon.tools.bench.target import family_cpu_seconds
from antiphon.tools.bench.traffic import Figures, Say, percentile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEPT = """
[store]
directory = "store"

[[retain]]
group = "bench.*"
max_bytes = "64GiB"
"""
FULL, QUESTIONS, ANSWERS = "bench.full", "bench.questions", "answers"
PATIENCE_S = 120.0
GLANCE_S = 0.1


class StreamPlan(msgspec.Struct, frozen=True):
    rows: int
    size: int
    """Bytes of a message in the log."""

    repeat: int
    """Times that the log is read."""

    trips: int
    rate: float
    """Of trips in a second, at most: there is one at a time."""

    warmup: int = 5
    """Trips that are not counted, and one reading of the log if there are any: workers of
    Spark's start with the first."""


def run_stream(
    spark: "SparkSession", addresses: Sequence[str], plan: StreamPlan, say: Say
) -> Figures:
    """With daemons that have been told KEPT."""
    load = os.getloadavg()[0]
    say("filling the log")
    _fill(addresses[0], plan)
    say("reading the log")
    if plan.warmup:
        _read(spark, addresses, plan.rows)
    reads = [_read(spark, addresses, plan.rows) for _ in range(plan.repeat)]
    speed = median(one.rows_per_second for one in reads)
    taken = sorted(_trips(spark, addresses, plan, say))
    return {
        "rows_per_second": round(speed),
        "megabytes_per_second": round(speed * plan.size / 1e6, 1),
        "cpu_us_per_row": round(median(one.cpu_us_per_row for one in reads), 2),
        "latency_p50_ms": _milliseconds(taken, 0.50),
        "latency_p95_ms": _milliseconds(taken, 0.95),
        "latency_most_ms": _milliseconds(taken, 1.0),
        **msgspec.structs.asdict(plan),
        "daemons": len(addresses),
        "load_average": round(load, 2),
    }


def _milliseconds(ordered: list[int], part: float) -> float:
    found = percentile(ordered, part)
    assert found is not None, "there are trips"
    return round(found / 1e6, 1)


def _fill(address: str, plan: StreamPlan) -> None:
    """As many messages as that; returns when the daemon has them all in its log."""
    with blocking.connect(address) as session:
        payloads = (b"%0*d" % (plan.size, number) for number in range(plan.rows))
        session.feed(FULL, partial(next, payloads, None))
        log = session.log(FULL)
        until = time.monotonic() + PATIENCE_S
        while (found := _rows_in(log)) < plan.rows:
            if time.monotonic() > until:
                raise BenchFailed(f"of {plan.rows} messages {found} came to the log")
            time.sleep(GLANCE_S)


def _rows_in(log: BlockingLog) -> int:
    """Of all branches: daemons of a busy machine may have lost each other meanwhile."""
    rows, at = 0, log.earliest()
    while (reach := log.after(at)).ranges:
        rows += sum(one.last - one.first + 1 for one in reach.ranges)
        at = reach.end
    return rows


class Read(NamedTuple):
    rows_per_second: float
    """Of one query over the whole log, its planning counted, its start not."""

    cpu_us_per_row: float
    """Of daemons, Spark and its workers, as far as they were there before."""


def _read(spark: "SparkSession", addresses: Sequence[str], rows: int) -> Read:
    from antiphon.pipeline.stream import register

    register(spark)
    told = {"connect": ",".join(addresses), "group": FULL}
    stream = spark.readStream.format("antiphon").options(**told).load()
    before = family_cpu_seconds(os.getpid())
    query = stream.writeStream.format("noop").trigger(availableNow=True).start()
    query.awaitTermination()
    after = family_cpu_seconds(os.getpid())
    cpu = sum(after[one] - before[one] for one in before.keys() & after.keys())
    batches = [one for one in query.recentProgress if one["numInputRows"]]
    found = sum(one["numInputRows"] for one in batches)
    if found != rows:
        raise BenchFailed(f"the log has {rows} rows, and {found} came through the source")
    took_ms: int = sum(one["durationMs"]["triggerExecution"] for one in batches)
    return Read(rows / (took_ms / 1000), cpu * 1e6 / rows)


def _trips(
    spark: "SparkSession", addresses: Sequence[str], plan: StreamPlan, say: Say
) -> list[int]:
    """Nanoseconds of each."""
    from antiphon.pipeline.stream.copy import Copy, start

    with TemporaryDirectory(prefix="antiphon-bench-") as made:
        source = {"connect": ",".join(addresses), "group": QUESTIONS}
        query = start(spark, Copy(source, to_group=ANSWERS, checkpoint=Path(made)))
        taken = []
        try:
            with blocking.connect(addresses[0]) as session:
                session.join(ANSWERS)
                for number in range(plan.warmup + plan.trips):
                    say(f"message {number + 1} of {plan.warmup + plan.trips}")
                    taken.append(_trip(session, b"%d" % number))
                    time.sleep(max(0.0, 1 / plan.rate - taken[-1] / 1e9))
        finally:
            query.stop()
    return taken[plan.warmup :]


def _trip(session: blocking.Session, question: bytes) -> int:
    began = time.monotonic_ns()
    session.multicast(QUESTIONS, question)
    while not isinstance(event := session.receive(timeout=PATIENCE_S), Message):
        if event is None:
            raise BenchFailed(f"message {question.decode()} did not come back")
    if event.payload != question:
        raise BenchFailed(f"{event.payload!r} came back for {question!r}")
    return time.monotonic_ns() - began
