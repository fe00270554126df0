"""How far sites are from each other: of each ordered pair the round trip and the loss.

From records (what daemons told of their links, row `counts`), or from a table of one's own.
"""

from pathlib import Path
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from antiphon.core.errors import UsageError
from antiphon.core.trace import Kind
from antiphon.core.weights import measured_weight
from antiphon.pipeline.ingest import records
from antiphon.pipeline.reading import read_table
from antiphon.pipeline.tables import SEGMENTS

MEASURED = ("source", "target", "round_trip_us", "loss")


class Way(NamedTuple):
    """From one site to another."""

    source: str
    target: str
    round_trip_us: int
    loss: float
    samples: int

    @property
    def weight(self) -> int:
        return measured_weight(self.round_trip_us, self.loss)


def measured_ways(spark: SparkSession, place: Path) -> list[Way]:
    """UsageError if nothing was measured there."""
    has_records = (place / SEGMENTS).exists()
    samples = from_records(spark, place) if has_records else from_table(spark, place)
    table = samples.groupBy("source", "target").agg(
        F.percentile("round_trip_us", F.lit(0.5)).cast("long").alias("round_trip_us"),
        (F.sum("lost") / F.sum("sent")).alias("loss"),
        F.count("*").alias("samples"),
    )
    found = [Way(*row) for row in table.orderBy("source", "target").collect()]
    if not found:
        what = f"{place} tells of no way between sites"
        raise UsageError("nothing_measured", what, "record a cluster of several sites at work")
    return found


def from_table(spark: SparkSession, place: Path) -> DataFrame:
    """Rows that say it themselves: each weighs the same."""
    table = read_table(spark, place, MEASURED)
    lost = F.col("loss").alias("lost")
    return table.select("source", "target", "round_trip_us", lost, F.lit(1.0).alias("sent"))


def from_records(spark: SparkSession, tables: Path) -> DataFrame:
    """What leaders told of their links. An object that was sent again was lost."""
    rows = records(spark, tables)
    sites = rows.where(F.col("kind") == Kind.START.value).where("detail != ''")
    sites = F.broadcast(sites.select("run", "node", F.col("detail").alias("site")).distinct())
    told = rows.where((F.col("kind") == Kind.COUNTS.value) & (F.col("peer") != 0))
    figures = told.select(
        "run",
        "node",
        "peer",
        *(_figure(name) for name in ("round_trip_us", "objects", "object_repeats")),
    ).where("round_trip_us is not null")
    source = sites.withColumnRenamed("site", "source")
    target = sites.select("run", F.col("node").alias("peer"), F.col("site").alias("target"))
    repeats = F.coalesce("object_repeats", F.lit(0))
    return (
        figures.join(source, ["run", "node"])
        .join(target, ["run", "peer"])
        .where("source != target")
        .select(
            "source",
            "target",
            "round_trip_us",
            repeats.alias("lost"),
            # A row in which nothing was sent says nothing of losses, but how far it is.
            F.greatest(F.coalesce("objects", F.lit(0)) + repeats, F.lit(1)).alias("sent"),
        )
    )


def _figure(name: str) -> Column:
    """A number of the detail, or null."""
    return F.regexp_extract("detail", rf"(?:^| ){name}=(\d+)", 1).try_cast("long").alias(name)
