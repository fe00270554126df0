"""`regions`: plan, price and play a tiling, and write it down.

nodes/     node, region
regions/   region, nodes, carried, aside, traffic, control
"""

from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from antiphon.pipeline.regions.cost import Prices, costs, total
from antiphon.pipeline.regions.exact import Exact, each_once, exact_regions
from antiphon.pipeline.regions.plan import Tiling, exact_tiling, group_tiling, merged_tiling
from antiphon.pipeline.regions.playing import played_cost

NODES = "nodes"
REGIONS = "regions"
SUBSCRIBED = ("node", "group")


class Wish(NamedTuple):
    most: int | None
    prices: Prices
    messages: int
    """That are played, to see what was predicted."""


def no_rates(subscriptions: DataFrame) -> DataFrame:
    """Every group has one message in a second."""
    return subscriptions.select("group", F.lit(1.0).alias("rate")).limit(0)


def plan_regions(
    spark: SparkSession, subscriptions: DataFrame, rates: DataFrame, wish: Wish, into: Path
) -> dict[str, Any]:
    """The figures; tables are written."""
    began = monotonic()
    interests = each_once(subscriptions).persist(StorageLevel.MEMORY_AND_DISK)
    found = exact_regions(interests)
    exact = Exact(found.nodes.persist(), found.regions.persist())
    exact.regions.count()
    planned = monotonic()
    merged = merged_tiling(spark, interests, exact, rates, wish.prices, wish.most)
    merged.nodes.write.mode("overwrite").parquet(str(into / NODES))
    kept = merged._replace(nodes=spark.read.parquet(str(into / NODES)))
    table = costs(kept.demand, kept.sizes, wish.prices)
    table.coalesce(1).write.mode("overwrite").parquet(str(into / REGIONS))
    ended = monotonic()
    price = total(spark.read.parquet(str(into / REGIONS)))
    figures: dict[str, Any] = {
        "nodes": kept.nodes.count(),
        "exact_seconds": round(planned - began, 1),
        "merge_seconds": round(ended - planned, 1),
        "predicted_cost": price["cost"],
    }
    if wish.messages:
        played = played_cost(spark, interests, kept, rates, wish.prices, wish.messages)
        figures["played_cost"] = round(played, 1)
        figures["played_by_predicted"] = round(played / price["cost"], 3)
    figures["tilings"] = [
        {"tiling": "each group by itself", **_priced(group_tiling(interests, rates), wish)},
        {"tiling": "exact", **_priced(exact_tiling(interests, exact, rates), wish)},
        {"tiling": "merged", **price},
    ]
    return figures


def _priced(tiling: Tiling, wish: Wish) -> dict[str, float]:
    return total(costs(tiling.demand, tiling.sizes, wish.prices))


def structure_found(subscriptions: DataFrame, nodes: DataFrame) -> dict[str, Any]:
    """Of subscriptions that tell their profile: how many nodes are in the region of theirs, and
    how many regions have nodes of several."""
    profiles = subscriptions.select("node", "profile").distinct()
    counted = profiles.join(nodes, "node").groupBy("profile", "region").count()
    counted = counted.persist()
    at_home = counted.groupBy("profile").agg(F.max("count").alias("most"))
    (row,) = at_home.agg(F.sum("most").alias("nodes"), F.count("*").alias("profiles")).collect()
    mixed = counted.groupBy("region").count().where("count > 1").count()
    return {"profiles": row.profiles, "nodes_with_their_profile": row.nodes, "mixed": mixed}
