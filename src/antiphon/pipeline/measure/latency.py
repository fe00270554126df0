"""How long messages take, from the call of `multicast` on.

    stamped     its daemon has given it its place
    delivered   a daemon delivers it
    stable      the last daemon of its configuration delivers it: all hold it from here on
    handed      a member of its group receives it

Rows are ranges of messages. A range that somebody received lies in one that was submitted, so
each is matched to the last one that begins at or below it: one sort by sender and number, and
no pair of rows is ever looked at in vain.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from antiphon.core.trace import Kind
from antiphon.pipeline.measure.facts import Facts, messages, named, of_kind, told_once
from antiphon.pipeline.measure.spread import rounded, spread, unpacked

ORIGIN = ("history", "sender", "sender_life", "sender_number", "loose")
BY = (
    ["stage"],
    ["stage", "service"],
    ["stage", "service", "size"],
    ["stage", "group"],
    ["stage", "from_site", "to_site"],
    ["stage", "from_daemon", "to_daemon"],
    ["stage", "service", "window"],
)
"""What the table has a line for each value of."""

STAGES = {Kind.SUBMIT: "", Kind.SEND: "stamped", Kind.DELIVER: "delivered", Kind.HAND: "handed"}
MILLISECOND = 1_000


def latency(facts: Facts) -> DataFrame:
    """In milliseconds; a column that a line is not split by is null."""
    pairs = matched(facts)
    columns = sorted({name for one in BY for name in one})
    narrow = pairs.groupBy("history", *columns, "latency_us").agg(F.sum("count").alias("count"))
    sets = [[F.col("history"), *map(F.col, names)] for names in BY]
    grouped = narrow.groupingSets(sets, "history", *columns)
    found = grouped.agg(
        F.concat_ws(", ", *(F.when(F.grouping(one) == 0, F.lit(one)) for one in columns)).alias(
            "by"
        ),
        F.sum("count").alias("messages"),
        spread("latency_us", "count").alias("spread"),
    )
    told = unpacked(F.col("spread"), MILLISECOND)
    return found.withColumns(told).select("history", "by", *columns, "messages", *told)


def matched(facts: Facts) -> DataFrame:
    """A row for each range that came to a stage: who, which way, when, and how long it took."""
    told = told_once(facts, *STAGES)
    stage = F.lit("")
    for kind, name in STAGES.items():
        stage = F.when(F.col("kind") == kind.value, name).otherwise(stage)
    both = _narrow(told.withColumn("stage", stage)).unionByName(_narrow(_stable(facts)))
    begun = F.struct(
        "at", "end", "service_name", "group", "size_class", F.col("node").alias("daemon")
    )
    known = F.last(F.when(F.col("stage") == "", begun), ignorenulls=True)
    order = Window.partitionBy(*ORIGIN).orderBy("first", F.col("stage") != "")
    joined = both.withColumn("begun", known.over(order.rowsBetween(Window.unboundedPreceding, 0)))
    joined = joined.where((F.col("stage") != "") & (F.col("first") < F.col("begun.end")))
    told = joined.select(
        "history",
        "stage",
        "node",
        "window",
        "count",
        F.col("begun.service_name").alias("service"),
        F.col("begun.group").alias("group"),
        F.col("begun.size_class").alias("size"),
        F.col("begun.daemon").alias("source_node"),
        rounded(F.col("at") - F.col("begun.at")).alias("latency_us"),
    )
    return named(named(told, facts, "source_node", "from"), facts, "node", "to")


def _stable(facts: Facts) -> DataFrame:
    """The last delivery of what every daemon of its configuration delivered."""
    sizes = (
        of_kind(facts, Kind.INSTALL)
        .groupBy("history", "config")
        .agg(F.max("members").alias("members_in_all"))
    )
    keys = ["history", "config", "origin", "first", "count", "service"]
    ends = (
        of_kind(facts, Kind.DELIVER)
        .where("not transitional and service > 0")
        .groupBy(*keys)
        .agg(
            F.max_by("node", "at").alias("node"),
            F.max("at").alias("at"),
            F.max("window").alias("window"),
            F.count_distinct("node").alias("deliverers"),
        )
    )
    whole = ends.join(F.broadcast(sizes), ["history", "config"])
    whole = whole.where("deliverers = members_in_all")
    return whole.withColumns(
        {
            "stage": F.lit("stable"),
            "groups": F.array().cast("array<string>"),
            "size": F.lit(0).cast("long"),
        }
    )


def _narrow(rows: DataFrame) -> DataFrame:
    return messages(rows).select(
        "history",
        "stage",
        "node",
        "window",
        "at",
        "first",
        "count",
        "service_name",
        "group",
        "size_class",
        (F.col("first") + F.col("count")).alias("end"),
        F.col("origin.daemon").alias("sender"),
        F.col("origin.incarnation").alias("sender_life"),
        F.col("origin.number").alias("sender_number"),
        (F.col("service") == 0).alias("loose"),
    )
