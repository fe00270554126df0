"""Kept groups as a source of Spark, and groups as its sink (docs/guide/stream.md)."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: "SparkSession") -> None:
    """From here on `format("antiphon")` reads logs of kept groups, and multicasts to groups."""
    from antiphon.pipeline.stream.format import AntiphonSource

    spark.dataSource.register(AntiphonSource)
