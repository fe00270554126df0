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


def exact_regions(subscriptions: DataFrame) -> Exact:
    """Of a table (node, group); a row that stands twice counts once."""
    first = F.xxhash64("group")
    told = (
        subscriptions.select("node", "group")
        .distinct()
        .groupBy("node")
        .agg(
            F.bit_xor(first).alias("first"),
            F.bit_xor(F.xxhash64("group", F.lit(SECOND_SEED))).alias("second"),
            F.count("*").alias("groups"),
        )
    )
    # 128 bits and a count: that two of a million interests share them is a chance of 1 in 10^26.
    nodes = told.select("node", F.xxhash64("first", "second", "groups").alias("region"), "first")
    regions = nodes.groupBy("region").agg(
        F.count("*").alias("nodes"), F.min("node").alias("witness")
    )
    return Exact(nodes.select("node", "region"), regions)


def interests(subscriptions: DataFrame, regions: DataFrame) -> DataFrame:
    """region, group: what the witnesses of these regions are interested in."""
    witnesses = regions.select(F.col("witness").alias("node"), "region")
    return subscriptions.join(witnesses, "node").select("region", "group").distinct()
