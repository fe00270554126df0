"""What the runs of a campaign say together, by cell and by each value of an axis."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from antiphon.sim.figures import BUCKETS_PER_DOUBLING

QUANTILES = {"p50_us": 0.5, "p99_us": 0.99}


def by_part(runs: DataFrame) -> DataFrame:
    """Each run under its cell, and, where there are several axes, under the value of each."""
    values = F.transform(F.map_entries("axes"), lambda one: F.concat_ws("=", one.key, one.value))
    parts = F.array_union(F.array("cell"), values)
    return runs.withColumn("part", F.explode(parts))


def outcomes(runs: DataFrame) -> DataFrame:
    """How many failed, and how long merging took."""
    merge = [
        F.round(F.percentile("merge_us", F.lit(share)) / 1000, 1).alias(name)
        for name, share in (("merge_p50_ms", 0.5), ("merge_p95_ms", 0.95), ("merge_max_ms", 1.0))
    ]
    return (
        by_part(runs)
        .groupBy("part")
        .agg(
            F.count("*").alias("runs"),
            F.sum(F.col("violated").cast("int")).alias("violations"),
            F.sum(F.col("stuck").cast("int")).alias("stuck"),
            F.sum("events").alias("events"),
            F.sum("messages").alias("messages"),
            *merge,
        )
        .orderBy("part")
    )


def latencies(runs: DataFrame) -> DataFrame:
    """Of messages by service, from buckets that were added up."""
    counted = (
        by_part(runs)
        .select("part", F.explode("latency").alias("one"))
        .groupBy("part", "one.service", "one.bucket")
        .agg(F.sum("one.count").alias("count"))
    )
    whole = Window.partitionBy("part", "service")
    rising = whole.orderBy("bucket")
    placed = counted.withColumn("below", F.sum("count").over(rising))
    placed = placed.withColumn("total", F.sum("count").over(whole))
    quantiles = [
        F.round(_middle(F.min(F.when(F.col("below") >= share * F.col("total"), F.col("bucket")))))
        .cast("long")
        .alias(name)
        for name, share in QUANTILES.items()
    ]
    table = placed.groupBy("part", "service").agg(F.sum("count").alias("deliveries"), *quantiles)
    return table.orderBy("part", "service")


def _middle(bucket: Column) -> Column:
    return F.pow(F.lit(2.0), (bucket + 0.5) / BUCKETS_PER_DOUBLING)
