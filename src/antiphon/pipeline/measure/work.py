"""What daemons did for it: rounds of the token, packets by purpose, repeats, links.

From the rows of kind `counts` (docs/records.md), which daemons write about once a second.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from antiphon.core.trace import Kind
from antiphon.pipeline.measure.facts import Facts, named, of_kind

PURPOSES = {
    "data": "messages in a site",
    "link": "messages between sites",
    "loose": "messages between sites",
    "token": "token",
    "hurry": "token",
    "hello": "who is there",
    "greeting": "who is there",
    "site_report": "who is there",
    "site_news": "who is there",
    "leaving": "who is there",
    "recovery_request": "recovery",
    "recovery_data": "recovery",
}
CHANGES = "changes"
"""What all other packets are for."""

NOT_PACKETS = ("submitted", "visits", "repeats")


def counts(facts: Facts) -> DataFrame:
    """A row for each name of each `counts` row."""
    rows = named(of_kind(facts, Kind.COUNTS), facts, "node", "at")
    parts = F.split(F.col("word"), "[=/]")
    split = rows.withColumn("word", F.explode(F.split("detail", " "))).where("word != ''")
    found = split.select(
        "history",
        "node",
        "peer",
        "window",
        "at",
        F.col("at_daemon").alias("daemon"),
        F.col("at_site").alias("site"),
        F.col("value").alias("span_us"),
        parts[0].alias("name"),
        parts[1].cast("long").alias("count"),
        F.coalesce(F.get(parts, F.lit(2)).cast("long"), F.lit(0)).alias("bytes"),
    )
    return found


def _of(name: str, column: str = "count") -> Column:
    return F.coalesce(F.sum(F.when(F.col("name") == name, F.col(column))), F.lit(0))


def rounds(found: DataFrame) -> DataFrame:
    """Of the ring that each daemon is in; a round includes the rest of an idle token."""
    own = found.where("peer = 0")
    visits = own.where("name = 'visits'")
    spans = visits.groupBy("history", "node").agg(
        F.round(F.sum("span_us") / F.sum("count") / 1000, 3).alias("round_ms"),
        F.round(F.min(F.col("span_us") / F.col("count")) / 1000, 3).alias("fastest_second_ms"),
    )
    told = own.groupBy("history", "node", "site", "daemon").agg(
        _of("visits").alias("visits"),
        F.greatest(_of("token") - _of("visits"), F.lit(0)).alias("token_repeats"),
        _of("data").alias("ring_packets"),
        _of("repeats").alias("repeats"),
        _of("recovery_data").alias("recovery_packets"),
        _of("recovery_data", "bytes").alias("recovery_bytes"),
        _of("submitted").alias("submitted"),
    )
    share = F.round(F.col("repeats") / F.greatest(F.col("ring_packets"), F.lit(1)), 5)
    told = told.withColumn("repeated_share", share)
    return told.join(spans, ["history", "node"], "left").drop("node")


def overhead(found: DataFrame) -> DataFrame:
    """Bytes that left daemons by what they are for, and for each byte of a client's message."""
    own = found.where("peer = 0")
    packets = own.where(~F.col("name").isin(*NOT_PACKETS))
    purpose = F.lit(CHANGES)
    for name, meaning in PURPOSES.items():
        purpose = F.when(F.col("name") == name, meaning).otherwise(purpose)
    payload = own.where("name = 'submitted'").groupBy("history").agg(F.sum("bytes").alias("paid"))
    told = packets.groupBy("history", purpose.alias("purpose")).agg(
        F.sum("count").alias("packets"), F.sum("bytes").alias("bytes")
    )
    told = told.join(F.broadcast(payload), "history", "left")
    per = F.round(F.col("bytes") / F.col("paid"), 4)
    return told.withColumn("per_payload_byte", per).drop("paid")


def links(found: DataFrame, facts: Facts) -> DataFrame:
    """Between leaders of sites, each direction on its own."""
    far = named(found.where("peer != 0").drop("window"), facts, "peer", "to")
    trip = F.when(F.col("name") == "round_trip_us", F.col("count"))
    told = far.groupBy("history", "site", "daemon", "to_site", "to_daemon").agg(
        _of("objects").alias("objects"),
        _of("object_repeats").alias("repeats"),
        _of("link_data").alias("packets"),
        _of("link_ack").alias("acks"),
        _of("link_nack").alias("nacks"),
        _of("link_probe").alias("probes"),
        F.round(F.min(trip) / 1000, 3).alias("round_trip_min_ms"),
        F.round(F.avg(trip) / 1000, 3).alias("round_trip_ms"),
    )
    share = F.round(F.col("repeats") / F.greatest(F.col("objects"), F.lit(1)), 5)
    told = told.withColumn("repeated_share", share)
    return told.withColumnsRenamed({"site": "from_site", "daemon": "from_daemon"})
