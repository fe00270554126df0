"""Nodes with the same interests: the exact regions (QS-09).

A node's interests are told by their number and by two hashes, each the exclusive or over its
groups. Nothing has to be sorted or collected, and it does not matter where rows lie.
"""

from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

SECOND_SEED = 7_919


class Exact(NamedTuple):
    nodes: DataFrame
    """node, region."""

    regions: DataFrame
    """region, nodes, witness: one of its nodes."""


def each_once(subscriptions: DataFrame) -> DataFrame:
    """node, group: every interest once, those of a node together. All that is asked of nodes later
    finds them so, and nothing is moved again."""
    return subscriptions.select("node", "group").repartition("node").distinct()


def exact_regions(interests: DataFrame) -> Exact:
    """Of what `each_once` gives."""
    first = F.xxhash64("group")
    told = interests.groupBy("node").agg(
        F.bit_xor(first).alias("first"),
        F.bit_xor(F.xxhash64("group", F.lit(SECOND_SEED))).alias("second"),
        F.count("*").alias("groups"),
    )
    # 128 bits and a count: that two of a million interests share them is a chance of 1 in 10^26.
    nodes = told.select("node", F.xxhash64("first", "second", "groups").alias("region"), "first")
    regions = nodes.groupBy("region").agg(
        F.count("*").alias("nodes"), F.min("node").alias("witness")
    )
    return Exact(nodes.select("node", "region"), regions)


def interests_of(regions: DataFrame, interests: DataFrame) -> DataFrame:
    """region, group: what the witnesses of these regions are interested in."""
    witnesses = regions.select(F.col("witness").alias("node"), "region")
    return interests.join(witnesses, "node").select("region", "group")
