"""Records made ready to be measured: on one clock, with names, each thing told once.

Runs of the simulator are histories of their own; what daemons and clients recorded, each under
a run of its own, is one history together. Times of one boot are of one clock; where writers are
of several machines the wall clocks decide, and figures are as good as those agree.

What a client tells of its session counts, and what its daemon tells of the same does not: an
application waits for its own end, not for the daemon's.
"""

from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from antiphon.core.ids import PRIVATE_MARK
from antiphon.core.machine import SECOND
from antiphon.core.trace import Kind

EVERYTHING = "all"
"""Name of the one history of daemons and clients."""

CHANGE = "change"
"""In `detail` of a submit: a join or leave, which is no message of an application."""

PRIVATE = "(private)"
SERVICES = ("unreliable", "reliable", "fifo", "causal", "agreed", "safe")
SESSION = ("history", "node", "incarnation", "session")


COLUMNS = (
    *("source", "writer", "segment", "row", "kind", "node", "incarnation", "session", "config"),
    *("origin", "first", "count", "service", "transitional", "groups", "size", "peer"),
    *("reason", "detail", "value"),
)
"""What is measured by; the rest of a row is not read."""


class Facts(NamedTuple):
    rows: DataFrame
    """With `history`, `at` in microseconds since its beginning, `window`, and how many
    `members` there are. Kept in memory or on disk: every figure reads it."""

    nodes: DataFrame
    """Names and sites: history, node, name, site."""

    tellers: DataFrame
    """Sessions of which a client tells."""

    window_us: int

    def forget(self) -> None:
        for table in self[:3]:
            table.unpersist()


def prepare(records: DataFrame, window_us: int = SECOND) -> Facts:
    seen = records.groupBy("source", "boot").agg(F.count("*").alias("rows")).collect()
    is_real = any(line.source in ("daemon", "client") for line in seen)
    by_wall = len({line.boot for line in seen if line.source != "sim"}) > 1
    history = F.lit(EVERYTHING) if is_real else F.col("run")
    clock = F.col("wall_us") if by_wall else F.col("time")
    rows = records.select(
        *COLUMNS, history.alias("history"), clock.alias("clock"), F.size("members").alias("members")
    )
    beginnings = rows.groupBy("history").agg(F.min("clock").alias("beginning"))
    rows = rows.join(F.broadcast(beginnings), "history")
    rows = rows.withColumn("at", F.col("clock") - F.col("beginning")).drop("clock", "beginning")
    rows = rows.withColumn("window", (F.col("at") / window_us).cast("long")).persist()
    tellers = rows.where("source = 'client'").select(*SESSION).distinct()
    tellers = tellers.withColumn("by_client", F.lit(True)).persist()
    return Facts(rows, _nodes(rows).persist(), tellers, window_us)


def of_kind(facts: Facts, *kinds: Kind) -> DataFrame:
    return facts.rows.where(F.col("kind").isin([kind.value for kind in kinds]))


def _nodes(rows: DataFrame) -> DataFrame:
    """A daemon is called as its record files are; a simulated one by its number."""
    about = rows.where("node != 0 and source != 'client'")
    name = F.when(F.col("source") == "daemon", F.col("writer"))
    site = F.when((F.col("kind") == Kind.START.value) & (F.col("detail") != ""), F.col("detail"))
    return about.groupBy("history", "node").agg(
        F.coalesce(F.max(name), F.first("node").cast("string")).alias("name"),
        F.coalesce(F.max(site), F.lit("")).alias("site"),
    )


def named(rows: DataFrame, facts: Facts, node: str, prefix: str) -> DataFrame:
    """With name and site of the daemon in this column."""
    nodes = facts.nodes.select(
        F.col("history"),
        F.col("node").alias(node),
        F.col("name").alias(f"{prefix}_daemon"),
        F.col("site").alias(f"{prefix}_site"),
    )
    return rows.join(F.broadcast(nodes), ["history", node], "left")


def told_once(facts: Facts, *kinds: Kind) -> DataFrame:
    """Rows about messages of applications; those of a session by its client, if it wrote any."""
    rows = of_kind(facts, *kinds).where(F.col("detail") != CHANGE)
    joined = rows.join(F.broadcast(facts.tellers), list(SESSION), "left")
    return joined.where("source = 'client' or by_client is null").drop("by_client")


def messages(rows: DataFrame) -> DataFrame:
    """What all rows about messages have, in words to group by."""
    each = F.col("size") / F.col("count")
    return rows.withColumns(
        {
            "service_name": F.element_at(
                F.array(*map(F.lit, SERVICES)), F.col("service").cast("int") + 1
            ),
            "group": F.when(
                F.exists("groups", lambda name: name.startswith(PRIVATE_MARK)), F.lit(PRIVATE)
            ).otherwise(F.array_join("groups", ",")),
            "size_class": F.when(each <= 100, "to 100 B")
            .when(each <= 1_000, "to 1 kB")
            .when(each <= 10_000, "to 10 kB")
            .when(each <= 100_000, "to 100 kB")
            .otherwise("over 100 kB"),
        }
    )
