"""How many messages and bytes went in and came out, in all and second by second."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from antiphon.core.machine import SECOND
from antiphon.core.trace import Kind
from antiphon.pipeline.measure.facts import Facts, messages, named, told_once

BY: tuple[list[str], ...] = (
    [],
    ["service"],
    ["group"],
    ["size"],
    ["site", "daemon"],
    ["window"],
    ["window", "service"],
)


def traffic(facts: Facts) -> DataFrame:
    """Rates are of the time in which there was traffic at all, or of the window."""
    flows = _flows(facts)
    columns = sorted({name for one in BY for name in one})
    sets = [[F.col("history"), *map(F.col, names)] for names in BY]
    sums = [
        F.coalesce(F.sum(name), F.lit(0)).alias(name)
        for name in ("submitted", "submitted_bytes", "handed", "handed_bytes")
    ]
    by = F.concat_ws(", ", *(F.when(F.grouping(one) == 0, F.lit(one)) for one in columns))
    found = flows.groupingSets(sets, "history", *columns).agg(by.alias("by"), *sums)
    spans = flows.groupBy("history").agg(
        (F.max("window") - F.min("window") + 1).alias("windows_in_all")
    )
    windows = F.when(F.col("by").contains("window"), 1).otherwise(F.col("windows_in_all"))
    seconds = windows * facts.window_us / SECOND
    found = found.join(F.broadcast(spans), "history")
    rates = {
        "submitted_per_s": F.round(F.col("submitted") / seconds, 1),
        "handed_per_s": F.round(F.col("handed") / seconds, 1),
        "handed_mbit_per_s": F.round(F.col("handed_bytes") * 8 / 1e6 / seconds, 3),
    }
    return found.withColumns(rates).select(
        "history",
        "by",
        *columns,
        "submitted",
        "submitted_bytes",
        "handed",
        "handed_bytes",
        *rates,
    )


def _flows(facts: Facts) -> DataFrame:
    told = named(messages(told_once(facts, Kind.SUBMIT, Kind.HAND)), facts, "node", "at")
    submitted = F.col("kind") == Kind.SUBMIT.value
    return told.select(
        "history",
        "window",
        "group",
        F.col("service_name").alias("service"),
        F.col("size_class").alias("size"),
        F.col("at_daemon").alias("daemon"),
        F.col("at_site").alias("site"),
        F.when(submitted, F.col("count")).alias("submitted"),
        F.when(submitted, F.col("size")).alias("submitted_bytes"),
        F.when(~submitted, F.col("count")).alias("handed"),
        F.when(~submitted, F.col("size")).alias("handed_bytes"),
    )
