"""Subscriptions with a known structure and noise, to try the planner on."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

DRAWS = 1_000_000


def synthetic_subscriptions(
    spark: SparkSession,
    nodes: int,
    profiles: int,
    groups: int,
    per_node: int,
    noise: float,
    seed: int = 1,
) -> DataFrame:
    """node, group, profile: each node has the groups of its profile, but with the chance `noise`
    one of them is another. Profiles overlap, for groups are drawn for each."""
    profile = F.pmod(F.xxhash64("node", F.lit(seed)), F.lit(profiles)).alias("profile")
    told = spark.range(nodes).select(F.col("id").alias("node"), profile)
    slots = told.withColumn("slot", F.explode(F.sequence(F.lit(0), F.lit(per_node - 1))))
    usual = F.pmod(F.xxhash64("profile", "slot", F.lit(seed + 1)), F.lit(groups))
    odd = F.pmod(F.xxhash64("node", F.lit(seed + 2)), F.lit(DRAWS)) < noise * DRAWS
    hit = odd & (F.pmod(F.xxhash64("node", F.lit(seed + 3)), F.lit(per_node)) == F.col("slot"))
    other = F.pmod(F.xxhash64("node", F.lit(seed + 4)), F.lit(groups))
    return slots.select("node", F.when(hit, other).otherwise(usual).alias("group"), "profile")
