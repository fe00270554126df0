"""The query that follows: each batch is an ingest of the files that are new.

The source only says which files to look at. What counts is the table of segments, as for every
ingest: a batch that is run again, or an ingest beside it, takes nothing twice.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from antiphon.core.errors import ConfigError
from antiphon.pipeline.failed_query import reason_of
from antiphon.pipeline.follow.source import stream_files
from antiphon.pipeline.ingest import Ingested, take

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CHECKPOINT = "follow"
"""Beside the tables."""

EVERY_S = 5.0
GLANCE_S = 0.2

Told = Callable[[int, Ingested], None]
"""A batch's number, and what it took."""


@dataclass(frozen=True, slots=True)
class Follow:
    places: tuple[Path, ...]
    tables: Path
    every: float = EVERY_S
    """Seconds from one look at the places to the next."""

    until_idle: float | None = None
    """Seconds without anything new after which it ends; None: it goes on."""


def follow(
    spark: "SparkSession", what: Follow, told: Told, ended: Callable[[], bool] = lambda: False
) -> None:
    """Until `ended`, or nothing new comes; the batch in hand is finished first."""
    batches = Batches(what.tables, told)
    writing = stream_files(spark, what.places).writeStream.foreachBatch(batches.take)
    writing = writing.option("checkpointLocation", str(what.tables / CHECKPOINT))
    query = writing.trigger(processingTime=f"{round(what.every * 1000)} milliseconds").start()
    # Only a look at the places can tell that nothing is new, hence one more.
    patience = math.inf if what.until_idle is None else what.until_idle + what.every
    quiet_since = time.monotonic()
    try:
        while query.isActive and not ended() and time.monotonic() - quiet_since < patience:
            time.sleep(GLANCE_S)
            if batches.came() or query.lastProgress is None:
                quiet_since = time.monotonic()
        if batches.failure is not None:
            raise batches.failure
        error = query.exception()
        if error is not None:
            raise ConfigError("follow", reason_of(str(error)), "start it again; it goes on")
    finally:
        batches.end()
        query.stop()


class Batches:
    """Takes them one by one, in a thread of Spark's, until the end."""

    def __init__(self, tables: Path, told: Told) -> None:
        self._tables = tables
        self._told = told
        self._in_hand = Lock()
        self._came = False
        self._ended = False
        self.failure: Exception | None = None

    def take(self, paths: "DataFrame", number: int) -> None:
        with self._in_hand:
            if self._ended:
                raise RuntimeError("the query ends; this batch is for the next one")
            try:
                files = [Path(row.path) for row in paths.collect()]
                self._told(number, take(paths.sparkSession, files, self._tables))
            except Exception as error:
                self.failure = error
                raise
            self._came = True

    def came(self) -> bool:
        """One is in hand, or was since this was last asked."""
        came, self._came = self._came, False
        return came or self._in_hand.locked()

    def end(self) -> None:
        """Returns when none is in hand; from then on none begins."""
        with self._in_hand:
            self._ended = True
