"""Regions from subscriptions: exact, merged, priced and played (QS-09, QS-10)."""

from collections import defaultdict
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from antiphon.core.errors import UsageError
from antiphon.pipeline.reading import read_table
from antiphon.pipeline.regions.cost import Prices
from antiphon.pipeline.regions.exact import each_once, exact_regions
from antiphon.pipeline.regions.job import (
    SUBSCRIBED,
    Wish,
    no_rates,
    plan_regions,
    structure_found,
)
from antiphon.pipeline.regions.synthetic import synthetic_subscriptions

pytestmark = pytest.mark.xdist_group("spark")

PROFILES = 8


def test_nodes_with_the_same_interests_are_a_region(spark: SparkSession) -> None:
    interests = {1: "ab", 2: "ba", 3: "a", 4: "b", 5: "abc", 6: "aab"}
    rows = [(node, group) for node, groups in interests.items() for group in groups]
    found = exact_regions(each_once(spark.createDataFrame(rows, "node long, group string")))
    regions: dict[int, set[int]] = defaultdict(set)
    for row in found.nodes.collect():
        regions[row.region].add(row.node)
    assert sorted(map(sorted, regions.values())) == [[1, 2, 6], [3], [4], [5]]
    assert {row.region: row.nodes for row in found.regions.collect()} == {
        region: len(nodes) for region, nodes in regions.items()
    }


def test_a_structure_is_found_through_noise(spark: SparkSession, tmp_path: Path) -> None:
    drawn = synthetic_subscriptions(spark, 400, PROFILES, 100, 12, noise=0.4).persist()
    wish = Wish(PROFILES, Prices(), messages=300)
    figures = plan_regions(spark, drawn, no_rates(drawn), wish, tmp_path)
    group, exact, merged = figures["tilings"]
    assert figures["nodes"] == 400
    assert merged["regions"] == PROFILES < exact["regions"]
    assert merged["cost"] < exact["cost"]
    assert merged["cost"] < group["cost"]
    assert 0.8 < figures["played_by_predicted"] < 1.2
    found = structure_found(drawn, spark.read.parquet(str(tmp_path / "nodes")))
    assert found == {"profiles": PROFILES, "nodes_with_their_profile": 400, "mixed": 0}


def test_a_table_without_the_columns_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("node,topic\n1,a\n")
    with pytest.raises(UsageError, match="no column group"):
        read_table(spark, table, SUBSCRIBED)
    table.write_text("node,group\n1,a\n2,b\n")
    assert read_table(spark, table, SUBSCRIBED).count() == 2
