"""Rows of many writers in one order: which history a row belongs to, and its place there.

Runs of the simulator are histories of their own. What daemons and clients recorded, each under
a run of its own, and what was noted about their world, is one history together.

A place is two numbers, `t` and `tie`: by the clock, and where clocks agree by writer and by the
writer's own order. The clock is that of records/gather: monotonic where all share a boot, else
the wall's; a clock that was set back between two segments does not turn rows round.
"""

from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from antiphon.core.errors import UsageError

EVERYTHING = "all"
"""Name of the one history of daemons and clients."""

WRITER_BITS, SEGMENT_BITS, ROW_BITS, STORY_BITS = 16, 18, 23, 6
STORY_MIDDLE = 1 << (STORY_BITS - 1)
"""Where a row stands that no client's story moves."""

TIME_BITS = 43
PROCESS_BITS = 20
"""A place at a process is one number: the process above the time."""

KNOWN = "segment_key long, hist int, by_wall boolean, number long, floor long, origin_us long"


class History(NamedTuple):
    """What is judged together."""

    name: str
    origin_us: int
    """Its first time; places count from here."""

    end_us: int
    rows: int
    has_clients: bool


class Segments(NamedTuple):
    histories: list[History]
    known: DataFrame
    """Where rows of each segment begin."""


def read_segments(spark: SparkSession, rows: DataFrame) -> Segments:
    """A line for each segment comes to the driver, and nothing else."""
    keys = ["run", "writer", "source", "boot", "segment"]
    found = rows.groupBy(*keys).agg(
        F.xxhash64(*(F.first(name) for name in ("run", "writer", "segment"))).alias("key"),
        F.max("time").alias("time"),
        F.min("time").alias("first_time"),
        F.max("wall_us").alias("wall"),
        F.min("wall_us").alias("first_wall"),
        F.max("row").alias("row"),
        F.count("*").alias("rows"),
    )
    lines = found.collect()
    is_real = any(line.source in ("daemon", "client") for line in lines)
    by_history: dict[str, list[Any]] = {}
    for line in lines:
        by_history.setdefault(EVERYTHING if is_real else line.run, []).append(line)
    histories = []
    known: list[tuple[int, int, bool, int, int, int]] = []
    for number, (name, mine) in enumerate(sorted(by_history.items())):
        history, places = _history(number, name, mine)
        histories.append(history)
        known += places
    return Segments(histories, spark.createDataFrame(known, KNOWN))


def _history(
    number: int, name: str, lines: list[Any]
) -> tuple[History, list[tuple[int, int, bool, int, int, int]]]:
    by_wall = len({line.boot for line in lines if line.source != "sim"}) > 1
    first, last = ("first_wall", "wall") if by_wall else ("first_time", "time")
    origin = min(line[first] for line in lines)
    end = max(line[last] for line in lines)
    writers: dict[tuple[bool, str, str], list[Any]] = {}
    for line in lines:
        writers.setdefault((line.source != "client", line.writer, line.run), []).append(line)
    places = []
    for writer, key in enumerate(sorted(writers)):
        floor = origin
        for line in sorted(writers[key], key=lambda line: int(line.segment)):
            places.append((line.key, number, by_wall, writer, floor, origin))
            # A client writes a request when it knows its number, later than it made it.
            floor = max(floor, line[last]) if line.source != "client" else origin
    _check("writers", len(writers), WRITER_BITS)
    _check("segments of a writer", max(line.segment for line in lines), SEGMENT_BITS)
    _check("rows of a segment", max(line.row for line in lines), ROW_BITS)
    _check("microseconds", end - origin, TIME_BITS)
    has_clients = any(line.source == "client" for line in lines)
    return History(name, origin, end, sum(line.rows for line in lines), has_clients), places


def _check(name: str, value: int, bits: int) -> None:
    if value >= 1 << bits:
        what = f"a history has {value:,} {name}; at most {(1 << bits) - 1:,} can be verified"
        raise UsageError("history_too_large", what, "choose less of it with --run")


def placed(rows: DataFrame, segments: Segments) -> DataFrame:
    """The rows with `hist`, `t` and `tie`."""
    # The key is a hash so that the join is by one number.
    keyed = rows.withColumn("segment_key", F.xxhash64("run", "writer", "segment"))
    joined = keyed.join(F.broadcast(segments.known), "segment_key")
    clock = F.when(F.col("by_wall"), F.col("wall_us")).otherwise(F.col("time"))
    writer = F.shiftleft(F.col("number"), SEGMENT_BITS + ROW_BITS + STORY_BITS)
    segment = F.shiftleft(F.col("segment"), ROW_BITS + STORY_BITS)
    row = F.shiftleft(F.col("row"), STORY_BITS)
    found = joined.withColumns(
        {
            "t": F.greatest(clock, F.col("floor")) - F.col("origin_us"),
            "tie": writer + segment + row + F.lit(STORY_MIDDLE),
        }
    )
    return found.drop("segment_key", "by_wall", "number", "floor", "origin_us")
