"""`measure`: all figures of the runs in some tables, each a table of its own.

measures/latency          how long messages take (latency.py)
measures/traffic          how many there were (traffic.py)
measures/rounds           what each daemon did for them (work.py)
measures/overhead         what was sent besides them
measures/links            how links between sites did
measures/changes          what each daemon went through when its configuration changed
measures/configurations   the same over all daemons
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from antiphon.core.machine import SECOND
from antiphon.pipeline.ingest import records
from antiphon.pipeline.measure.changes import changes, configurations
from antiphon.pipeline.measure.facts import Facts, prepare
from antiphon.pipeline.measure.latency import latency
from antiphon.pipeline.measure.traffic import traffic
from antiphon.pipeline.measure.work import counts, links, overhead, rounds

MEASURES = "measures"
Rows = list[dict[str, Any]]


def measure(
    spark: SparkSession, tables: Path, run: str = "", window_us: int = SECOND
) -> dict[str, Rows]:
    """Write the tables of figures; their rows, of which there are few, by name."""
    rows = records(spark, tables)
    facts = prepare(rows.where(rows.run == run) if run else rows, window_us)
    found = {}
    for name, table in figures(facts).items():
        path = str(tables / MEASURES / name)
        table.coalesce(1).write.mode("overwrite").parquet(path)
        found[name] = [row.asDict(recursive=True) for row in spark.read.parquet(path).collect()]
    names = {str(one.node): one.name for one in facts.nodes.collect()}
    for one in (*found["changes"], *found["configurations"]):
        one["evidence"] = _named(one["evidence"], names)
    facts.forget()
    return found


def figures(facts: Facts) -> dict[str, DataFrame]:
    told = counts(facts).persist()
    changed = changes(facts).persist()
    return {
        "latency": latency(facts),
        "traffic": traffic(facts),
        "rounds": rounds(told).orderBy("history", "site", "daemon"),
        "overhead": overhead(told).orderBy("history", "bytes", ascending=[True, False]),
        "links": links(told, facts).orderBy("history", "from_site", "to_site", "from_daemon"),
        "changes": changed.orderBy("history", "at", "site", "daemon"),
        "configurations": configurations(changed),
    }


def _named(text: str, names: Mapping[str, str]) -> str:
    """With daemons by their names."""
    return re.sub(r"\b\d+\b", lambda found: names.get(found[0], found[0]), text)
