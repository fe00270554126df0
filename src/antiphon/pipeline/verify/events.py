"""Rows about messages as numbers: what the passes over messages read.

One row for each message and event, however many messages a record names at once. Its columns:

| column | holds |
| --- | --- |
| `key` | the message: its origin's number, its own number, and whether it is unreliable |
| `what` | the process, and flags: what happened, service, and what else fits in bits |
| `t`, `tie` | the place |
| `a`, `b`, `c` | what the event needs, by its kind; see below |

A bundle's stamping and submitting become several rows, for a row has no lists: one for the event
itself, and one for each group. A hand is one row for each group of the session; the first leads.
"""

from collections.abc import Sequence
from enum import IntEnum

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from antiphon.check.reading import PROFILE
from antiphon.core.ids import PRIVATE_MARK
from antiphon.core.trace import DAEMON
from antiphon.pipeline.verify.control import MESSAGES, Named, ProcessId
from antiphon.pipeline.verify.lookup import signed

NUMBER_BITS = 41
"""Of a message's number with the bit for unreliable ones; its origin stands above."""

FLAG_BITS = 16
SERVICE_SHIFT = 4
TRANSITIONAL = 1 << 8
DISCARD = 1 << 9
LEAD = 1 << 10
PRIVATE = 1 << 11
OWN = 1 << 12
"""Sent by a daemon itself."""


class Event(IntEnum):
    SUBMIT = 0  # c = content
    SUBMIT_GROUP = 1  # b = group
    SEND = 2  # a = configuration, b = sequence, c = stamp
    SEND_GROUP = 3  # a = view, b = group, c = configuration and sequence
    SEND_WANTED = 4  # a = the set of daemons that it is for
    COMPLETE = 5
    DELIVER = 6  # a = configuration
    HAND = 7  # a = view, b = group, c = content
    REPEAT = 8  # a daemon does not hand it, for it has handed the same before


COLUMNS = ("key", "what", "t", "tie", "a", "b", "c")


def processes(spark: SparkSession, known: Sequence[tuple[int, ProcessId]]) -> DataFrame:
    """Numbers by the hash of a process; the first of the list is nobody."""
    lines = [(number, one[0], *signed(one[1])) for number, one in enumerate(known) if number]
    columns = "number long, hist int, node long, incarnation long, session long"
    table = spark.createDataFrame(lines, columns)
    return table.select(
        F.xxhash64("hist", "node", "incarnation", "session").alias("hash"), "number"
    )


def messages(rows: DataFrame) -> Named:
    """All processes and origins that rows about messages name."""
    about = rows.where(F.col("kind").isin([str(kind) for kind in MESSAGES]))
    at_session = F.col("kind").isin("submit", "hand")
    session = F.when(at_session, F.col("session")).otherwise(daemon())
    origin = F.col("origin")
    who = about.select("hist", "node", "incarnation", session.alias("session")).distinct()
    source = about.select("hist", *(origin[name] for name in ("daemon", "incarnation", "number")))
    return Named(_by_history(who), _by_history(source.distinct()))


def _by_history(rows: DataFrame) -> dict[int, list[ProcessId]]:
    found: dict[int, list[ProcessId]] = {}
    for history, node, life, session in rows.collect():
        found.setdefault(history, []).append((node % 2**64, life % 2**64, session))
    return found


def events(rows: DataFrame, numbers: DataFrame) -> DataFrame:
    """All that the rows say about messages."""
    rows = rows.where((F.col("profile") == PROFILE) & (F.col("count") > 0))
    got = rows.where(F.col("kind").isin("deliver", "complete", "repeat", "hand"))
    sent = rows.where(F.col("kind").isin("submit", "send"))
    return _numbered(_got(got).unionByName(_sent(sent)), numbers)


def same_stamps(rows: DataFrame, numbers: DataFrame) -> DataFrame:
    """Neighbours with the same stamp in the order of a configuration, as its leader delivers
    them: `config`, and daemons `one` and `other`."""
    config, origin = F.col("config"), F.col("origin")
    leads = (config["coordinator"] == F.col("node")) & (
        config["incarnation"] == F.col("incarnation")
    )
    ordered = rows.where("kind = 'deliver' and service >= 4").where(leads)
    sender = F.xxhash64("hist", origin["daemon"], origin["incarnation"], daemon())
    place = F.struct("t", "tie", sender.alias("sender"))
    alike = ordered.groupBy(_config("config").alias("config"), "stamp").agg(
        F.sort_array(F.collect_list(place))["sender"].alias("senders")
    )
    alike = alike.where(F.size(F.array_distinct("senders")) > 1)
    pairs = F.arrays_zip(
        F.slice("senders", F.lit(1), F.size("senders") - 1).alias("one"),
        F.slice("senders", F.lit(2), F.size("senders") - 1).alias("other"),
    )
    found = alike.select("config", F.inline(pairs).alias("one", "other"))
    found = found.where("one != other").distinct()
    for name in ("one", "other"):
        named = numbers.select(F.col("hash").alias(name), F.col("number").alias(f"{name}_number"))
        found = found.join(F.broadcast(named), name)
    return found.select(
        "config", F.col("one_number").alias("one"), F.col("other_number").alias("other")
    )


def messages_of(rows: DataFrame) -> DataFrame:
    """For each message of a run a row with its number."""
    last = F.col("first") + F.col("count") - F.lit(1)
    single = F.array(F.col("first"))
    numbers = F.when(F.col("count") == 1, single).otherwise(F.sequence("first", last))
    return rows.withColumn("number", F.explode(numbers))


def nothing() -> Column:
    return F.lit(0).cast("long")


def daemon() -> Column:
    """In place of a session."""
    return F.lit(DAEMON).cast("long")


def _row(event: Column, *, session: Column, a: Column, b: Column, c: Column) -> list[Column]:
    """`event` with its flags."""
    origin = F.col("origin")
    service = F.shiftleft(F.col("service").cast("long"), SERVICE_SHIFT)
    own = F.when(origin["number"] == 0, F.lit(OWN)).otherwise(F.lit(0)).cast("long")
    return [
        F.xxhash64("hist", "node", "incarnation", session).alias("process"),
        F.xxhash64("hist", origin["daemon"], origin["incarnation"], origin["number"]).alias(
            "origin"
        ),
        (F.col("number") * 2 + (F.col("service") == 0).cast("long")).alias("message"),
        (event.cast("long") + service + own).alias("flags"),
        F.col("t"),
        F.col("tie"),
        a.alias("a"),
        b.alias("b"),
        c.alias("c"),
    ]


def _flag(condition: Column, flag: int) -> Column:
    return F.when(condition, F.lit(flag)).otherwise(F.lit(0))


def _got(rows: DataFrame) -> DataFrame:
    """Deliveries and the like at daemons, and hands, one row for each group."""
    kind = F.col("kind")
    is_hand, is_deliver = kind == "hand", kind == "deliver"
    groups = F.when(is_hand, F.col("groups"))
    rows = rows.select("*", F.posexplode_outer(groups).alias("place", "group"))
    place = F.coalesce(F.col("place"), F.lit(0))
    rows = rows.withColumn("view", F.get("views", place))
    event = (
        F.when(is_hand, F.lit(int(Event.HAND)))
        .when(is_deliver, F.lit(int(Event.DELIVER)))
        .when(kind == "complete", F.lit(int(Event.COMPLETE)))
        .otherwise(F.lit(int(Event.REPEAT)))
    )
    event += _flag(F.col("transitional"), TRANSITIONAL) + _flag(place == 0, LEAD) + _private()
    row = _row(
        event,
        session=F.when(is_hand, F.col("session")).otherwise(daemon()),
        a=F.when(is_hand, _view()).when(is_deliver, _config("config")).otherwise(nothing()),
        b=_group(),
        c=F.when(is_hand, _content()).otherwise(nothing()),
    )
    return messages_of(rows).select(*row)


WANTED, MAIN = -2, -1
"""Rows of a submit or stamping that are not about a group."""


def _sent(rows: DataFrame) -> DataFrame:
    """Submits and stampings: the event itself, each group, and for whom it is."""
    is_send = F.col("kind") == "send"
    first = F.when(is_send & (F.size("members") > 0), F.lit(WANTED)).otherwise(F.lit(MAIN))
    rows = rows.withColumn("place", F.explode(F.sequence(first, F.size("groups") - 1)))
    place = F.col("place")
    is_group, is_main, is_wanted = place >= 0, place == MAIN, place == WANTED
    rows = rows.withColumn("group", F.when(is_group, F.get("groups", place)))
    rows = rows.withColumn("view", F.when(is_group, F.get("views", place)))
    event = (
        F.when(is_send & is_wanted, F.lit(int(Event.SEND_WANTED)))
        .when(is_send & is_main, F.lit(int(Event.SEND)))
        .when(is_send, F.lit(int(Event.SEND_GROUP)))
        .when(is_main, F.lit(int(Event.SUBMIT)))
        .otherwise(F.lit(int(Event.SUBMIT_GROUP)))
    )
    event += _flag(is_main & (F.col("detail") == "discard"), DISCARD) + _private()
    config = _config("config")
    stamped = F.when(is_main, F.col("stamp")).when(is_group, F.xxhash64(config, "sequence"))
    row = _row(
        event,
        session=F.when(is_send, daemon()).otherwise(F.col("session")),
        a=F.when(is_send & is_main, config)
        .when(is_wanted, wanted_set())
        .when(is_send, _view())
        .otherwise(nothing()),
        b=F.when(is_send & is_main, F.col("sequence")).otherwise(_group()),
        c=F.when(is_send, F.coalesce(stamped, nothing()))
        .when(is_main, _content())
        .otherwise(nothing()),
    )
    return messages_of(rows).select(*row)


def _numbered(rows: DataFrame, numbers: DataFrame) -> DataFrame:
    """Processes and origins by their numbers; 0 for those that no control row names."""
    who = numbers.select(F.col("hash").alias("process"), F.col("number").alias("who"))
    source = numbers.select(F.col("hash").alias("origin"), F.col("number").alias("source"))
    joined = rows.join(F.broadcast(who), "process", "left")
    joined = joined.join(F.broadcast(source), "origin", "left")
    known = F.coalesce(F.col("source"), nothing())
    here = F.coalesce(F.col("who"), nothing())
    return joined.select(
        (F.shiftleft(known, NUMBER_BITS) + F.col("message")).alias("key"),
        (F.shiftleft(here, FLAG_BITS) + F.col("flags")).alias("what"),
        *("t", "tie", "a", "b", "c"),
    )


def wanted_set() -> Column:
    return F.xxhash64("hist", "members")


def _config(name: str) -> Column:
    config = F.col(name)
    fields = ("epoch", "coordinator", "incarnation", "counter")
    return F.xxhash64("hist", *(config[field] for field in fields))


def _view() -> Column:
    view = F.col("view")
    config = [view["config"][name] for name in ("epoch", "coordinator", "incarnation", "counter")]
    hashed = F.xxhash64("hist", "group", *config, view["position"], view["lineage"])
    return F.when(view.isNull(), nothing()).otherwise(hashed)


def _group() -> Column:
    return F.when(F.col("group").isNull(), nothing()).otherwise(F.xxhash64("hist", "group"))


def _private() -> Column:
    is_private = F.col("group").startswith(PRIVATE_MARK)
    return F.when(is_private, F.lit(PRIVATE)).otherwise(F.lit(0))


def _content() -> Column:
    """The checksum above, and below how the run was cut."""
    cut = F.xxhash64("first", "count").bitwiseAND(F.lit(0xFFFFFFFF))
    return F.shiftleft(F.col("value"), 32) + cut
