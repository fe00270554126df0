"""How configurations changed: why, how long each phase took, and who says so.

A change at a daemon is what happened between two installations: the states it went through, by
how long it was in each, its troubles, and the attempts that came to nothing. A change of the
cluster is the same configuration at all that installed it.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from antiphon.core.trace import Kind
from antiphon.pipeline.measure.facts import Facts, named, of_kind

STATES = ("gather", "collect", "recover", "ready")
KINDS = (Kind.ENTER, Kind.TROUBLE, Kind.ATTEMPT, Kind.ABORT, Kind.INSTALL)
LIFE = ("history", "node", "incarnation")


def changes(facts: Facts) -> DataFrame:
    """A row for each installation at each daemon, but the first of each life."""
    rows = of_kind(facts, *KINDS)
    order = Window.partitionBy(*LIFE).orderBy("at", "segment", "row")
    is_install = F.col("kind") == Kind.INSTALL.value
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    rows = rows.withColumns(
        {
            "change": F.coalesce(F.sum(is_install.cast("int")).over(before), F.lit(0)),
            "until": F.coalesce(
                F.min(F.when(F.col("kind").isin("enter", "install"), F.col("at"))).over(
                    order.rowsBetween(1, Window.unboundedFollowing)
                ),
                F.col("at"),
            ),
        }
    )
    entered = (F.col("kind") == Kind.ENTER.value) & (F.col("reason") != "operational")
    spent = [
        F.round(
            F.coalesce(
                F.sum(F.when(entered & (F.col("reason") == state), F.col("until") - F.col("at"))),
                F.lit(0),
            )
            / 1000,
            3,
        ).alias(f"{state}_ms")
        for state in STATES
    ]
    kind = {one: F.col("kind") == one.value for one in KINDS}
    begins = F.when(~is_install & (F.col("reason") != "operational"), F.col("at"))
    found = rows.groupBy(*LIFE, "change").agg(
        F.min(begins).alias("begun_at"),
        F.max(F.when(is_install, F.col("at"))).alias("at"),
        F.max(F.when(is_install, F.struct("config", "members", "detail"))).alias("made"),
        F.count_if(kind[Kind.ATTEMPT]).alias("attempts"),
        F.count_if(kind[Kind.ABORT]).alias("aborts"),
        F.array_sort(F.collect_set(F.when(kind[Kind.TROUBLE], F.col("reason")))).alias("troubles"),
        *spent,
    )
    found = found.where("made is not null and change > 0 and begun_at is not null")
    return named(found, facts, "node", "at").select(
        "history",
        F.col("at_site").alias("site"),
        F.col("at_daemon").alias("daemon"),
        "at",
        F.round((F.col("at") - F.col("begun_at")) / 1000, 3).alias("change_ms"),
        *(f"{state}_ms" for state in STATES),
        "attempts",
        "aborts",
        "troubles",
        F.col("made.members").alias("members"),
        F.col("made.config").alias("config"),
        F.col("made.detail").alias("evidence"),
    )


def configurations(found: DataFrame) -> DataFrame:
    """A row for each configuration, over all daemons that installed it."""
    worst = [F.max(f"{state}_ms").alias(f"{state}_ms") for state in STATES]
    told = found.groupBy("history", "config").agg(
        F.round(F.min("at") / 1e6, 3).alias("first_at_s"),
        F.round(F.max("at") / 1e6, 3).alias("last_at_s"),
        F.first("members").alias("members"),
        F.count("*").alias("installed_by"),
        F.max("change_ms").alias("change_ms"),
        *worst,
        F.sum("attempts").alias("attempts"),
        F.sum("aborts").alias("aborts"),
        F.array_sort(F.array_distinct(F.flatten(F.collect_list("troubles")))).alias("troubles"),
        F.max_by("evidence", F.length("evidence")).alias("evidence"),
    )
    name = F.concat_ws(".", "config.epoch", "config.coordinator")
    return told.withColumn("config", name).orderBy("history", "first_at_s")
