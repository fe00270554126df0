"""`measure`: all figures of the runs in some tables, each a table of its own.

measures/latency          how long messages take (latency.py)
measures/traffic          how many there were (traffic.py)
measures/rounds           what each daemon did for them (work.py)
measures/overhead         what was sent besides them
measures/links            how links between sites did
measures/changes          what each daemon went through when its configuration changed
measures/configurations   the same over all daemons
measures/events           what was done to the cluster, as far as somebody wrote it down
measures/about            how long a window is
"""

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from antiphon.core.machine import SECOND
from antiphon.core.trace import Kind
from antiphon.pipeline import small
from antiphon.pipeline.ingest import records
from antiphon.pipeline.measure.changes import changes, configurations
from antiphon.pipeline.measure.facts import Facts, of_kind, prepare
from antiphon.pipeline.measure.latency import latency
from antiphon.pipeline.measure.shown import MEASURES
from antiphon.pipeline.measure.traffic import traffic
from antiphon.pipeline.measure.work import counts, links, overhead, rounds
from antiphon.pipeline.small import Rows


def measure(
    spark: SparkSession, tables: Path, run: str = "", window_us: int = SECOND
) -> dict[str, Rows]:
    """Write the tables of figures; their rows, of which there are few, by name."""
    rows = records(spark, tables)
    facts = prepare(rows.where(rows.run == run) if run else rows, window_us)
    found = {}
    for name, table in figures(spark, facts).items():
        found[name] = small.replace(table.toArrow(), tables / MEASURES / name)
    facts.forget()
    return found


def figures(spark: SparkSession, facts: Facts) -> dict[str, DataFrame]:
    """In the order of NAMES."""
    told = counts(facts).persist()
    names = {str(one.node): one.name for one in facts.nodes.collect()}
    changed = changes(facts).withColumn("evidence", with_names(F.col("evidence"), names)).persist()
    return {
        "latency": latency(facts),
        "traffic": traffic(facts),
        "rounds": rounds(told).orderBy("history", "site", "daemon"),
        "overhead": overhead(told).orderBy("history", "bytes", ascending=[True, False]),
        "links": links(told, facts).orderBy("history", "from_site", "to_site", "from_daemon"),
        "changes": changed.orderBy("history", "at", "site", "daemon"),
        "configurations": configurations(changed),
        "events": events(facts),
        "about": spark.range(1).select(F.lit(facts.window_us / SECOND).alias("window_s")),
    }


def events(facts: Facts) -> DataFrame:
    at = F.round(F.col("at") / SECOND, 3).alias("at_s")
    told = of_kind(facts, Kind.FAULT).select("history", at, F.col("reason").alias("what"))
    return told.orderBy("history", "at_s")


def with_names(text: Column, names: Mapping[str, str]) -> Column:
    """Daemons by their names; numbers that are none's stay."""
    for number, name in names.items():
        text = F.regexp_replace(text, rf"\b{number}\b", name)
    return text
