"""The planner: exact regions, then merged to a bounded number by similarity and cost."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from antiphon.pipeline.regions.cost import Prices
from antiphon.pipeline.regions.exact import Exact, interests_of
from antiphon.pipeline.regions.merging import Draft, merge_regions
from antiphon.pipeline.regions.nearest import Index
from antiphon.records.arrow import Batch, load

CENTRES_PER_REGION = 8
CENTRES_MAX = 16_000
"""So many exact regions, the largest, are merged by cost; the others follow the most similar."""

NEIGHBOURS = 12
CORE_SHARE = 0.5
"""A group belongs to the core of a region if so many of its nodes want it: others are noise."""


class Tiling(NamedTuple):
    nodes: DataFrame
    """node, region."""

    sizes: DataFrame
    """region, nodes."""

    demand: DataFrame
    """region, group, members, rate."""


def exact_tiling(interests: DataFrame, exact: Exact, rates: DataFrame) -> Tiling:
    """Each set of nodes with the same interests by itself."""
    sizes = exact.regions.select("region", "nodes")
    wanted = interests_of(exact.regions, interests).join(sizes, "region")
    wanted = wanted.withColumnRenamed("nodes", "members")
    return Tiling(exact.nodes, sizes, with_rates(wanted, rates))


def group_tiling(interests: DataFrame, rates: DataFrame) -> Tiling:
    """Each group by itself, as systems do that know no regions: nodes are in many."""
    nodes = interests.select("node", F.xxhash64("group").alias("region"))
    sizes = nodes.groupBy("region").agg(F.count("*").alias("nodes"))
    groups = interests.groupBy("group").agg(F.count("*").alias("members"))
    demand = groups.withColumn("region", F.xxhash64("group"))
    return Tiling(nodes, sizes, with_rates(demand, rates))


def merged_tiling(
    spark: SparkSession,
    interests: DataFrame,
    exact: Exact,
    rates: DataFrame,
    prices: Prices,
    most: int | None,
) -> Tiling:
    """At most `most` regions, or as many as cost least. Regions are numbered from 0, the
    smallest first."""
    target = _targets(spark, interests, exact, rates, prices, most)
    nodes = exact.nodes.join(target, "region").select("node", F.col("target").alias("region"))
    nodes = nodes.persist()
    sizes = nodes.groupBy("region").agg(F.count("*").alias("nodes"))
    wanted = interests.join(nodes, "node")
    demand = wanted.groupBy("region", "group").agg(F.count("*").alias("members"))
    return Tiling(nodes, sizes, with_rates(demand, rates))


def with_rates(demand: DataFrame, rates: DataFrame) -> DataFrame:
    told = demand.join(F.broadcast(rates), "group", "left")
    return told.withColumn("rate", F.coalesce("rate", F.lit(1.0)))


def _targets(
    spark: SparkSession,
    interests: DataFrame,
    exact: Exact,
    rates: DataFrame,
    prices: Prices,
    most: int | None,
) -> DataFrame:
    """region, target: where the nodes of each exact region go."""
    wished = CENTRES_MAX if most is None else min(CENTRES_MAX, CENTRES_PER_REGION * most)
    largest = exact.regions.orderBy(F.desc("nodes"), "region").limit(max(wished, most or 0))
    centres = largest.persist()
    drafts, keys = _drafts(interests, centres)
    told = [sorted(draft.members) for draft in drafts]
    hashed = rates.select(F.xxhash64("group").alias("key"), "rate").collect()
    pairs = Index(told).neighbours(told, NEIGHBOURS)
    prices_of = {row.key: row.rate for row in hashed}
    merged = merge_regions(drafts, pairs, prices_of, prices, most)
    placed = [(keys[part], at) for at, draft in enumerate(merged) for part in draft.parts]
    settled = spark.createDataFrame(placed, "region long, target long")
    rest = exact.regions.join(settled, "region", "left_anti")
    return settled.unionByName(_follow(interests, rest, merged))


def _drafts(interests: DataFrame, centres: DataFrame) -> tuple[list[Draft], list[int]]:
    """The centres as drafts, and what each is called in the table."""
    keys = {row.region: row.nodes for row in centres.collect()}
    wanted: dict[int, dict[int, int]] = {key: {} for key in keys}
    told = interests_of(F.broadcast(centres), interests)
    for row in told.select("region", F.xxhash64("group").alias("key")).toLocalIterator():
        wanted[row.region][row.key] = keys[row.region]
    drafts = [Draft(keys[key], wanted[key], [at]) for at, key in enumerate(keys)]
    return drafts, list(keys)


def _follow(interests: DataFrame, rest: DataFrame, merged: list[Draft]) -> DataFrame:
    """region, target for regions that were too small to be merged by cost."""
    index = Index([_core(draft) for draft in merged])
    told = interests_of(rest, interests).groupBy("region")
    wanted = told.agg(F.collect_list(F.xxhash64("group")).alias("groups"))

    def nearest(batches: Iterable[Any]) -> Iterator[Batch]:
        """In a Python worker."""
        pa = load()
        for batch in batches:
            groups = batch.column("groups")
            lengths = groups.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
            found = index.nearest(lengths, groups.flatten().to_numpy())
            columns = [batch.column("region"), pa.array(found, pa.int64())]
            yield pa.RecordBatch.from_arrays(columns, names=["region", "target"])

    return wanted.mapInArrow(nearest, "region long, target long")


def _core(draft: Draft) -> list[int]:
    """What most of its nodes want, or all if there is no such group."""
    core = [group for group, count in draft.members.items() if count >= CORE_SHARE * draft.size]
    return core or list(draft.members)
