"""What clients tell of their sessions in place of what their daemons tell: records/gather, for
tables of any size.

A client tells better than its daemon what it asked for and what it took, but takes news later
than the daemon hands them out. So its rows stand where the daemon's rows of the same news stood,
never before the client's row ahead of them. Of the daemon's own rows stay those that the client
cannot tell: joins and leaves as messages, and what lies beyond a story that breaks off.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.window import Window

from antiphon.pipeline.verify.histories import STORY_MIDDLE
from antiphon.records.gather import CHANGE, CHANGES, NEWS, REQUESTS, TOLD_BY_CLIENTS

SESSION = "session_key"


def joined(rows: DataFrame) -> DataFrame:
    """The rows that count, each where it stands."""
    columns = rows.columns
    rows = rows.withColumn(SESSION, F.xxhash64("hist", "node", "incarnation", "session"))
    is_told = F.col("kind").isin([str(kind) for kind in TOLD_BY_CLIENTS])
    is_client = F.col("source") == "client"
    told = rows.where(is_told & is_client)
    sessions = F.broadcast(told.select(SESSION).distinct())
    others = rows.where(~(is_told & is_client))
    # Nothing equals null: rows of other kinds have no session that could be replaced.
    others = others.withColumn(SESSION, F.when(is_told, F.col(SESSION)))
    kept = others.join(sessions, SESSION, "left_anti")
    daemons = others.join(sessions, SESSION, "left_semi")
    story = _taken(told, daemons)
    parts = [
        _news(story, daemons),
        _requests(story, daemons),
        _changes(story, daemons),
        _beyond(story, daemons),
        _closes(story, daemons),
    ]
    for part in parts:
        kept = kept.unionByName(part.select(*kept.columns))
    return kept.select(*columns)


def _place() -> Column:
    return F.struct("t", "tie")


def _kinds(kinds: frozenset[str]) -> Column:
    return F.col("kind").isin([str(kind) for kind in kinds])


def _is_change() -> Column:
    return (F.col("kind") == "submit") & (F.col("detail") == CHANGE)


def _moved(rows: DataFrame, place: str) -> DataFrame:
    moved = {"t": F.col(place)["t"], "tie": F.col(place)["tie"]}
    return rows.withColumns(moved)


def _taken(told: DataFrame, daemons: DataFrame) -> DataFrame:
    """The stories without what a client asked for after its daemon had cut it off: the end of a
    session has a number, as joins have, and nothing behind it was taken."""
    closes = daemons.where("kind = 'close'").groupBy(SESSION)
    ended = closes.agg(F.min(_place()).alias("closed"))
    changes = daemons.where(F.col("detail") == CHANGE).join(F.broadcast(ended), SESSION)
    numbers = changes.where(_place() > F.col("closed")).groupBy(SESSION)
    ends = numbers.agg(F.min_by("first", _place()).alias("end"))
    late = (F.col("kind") == "submit") & (F.col("service") > 0) & (F.col("end") > 0)
    late &= F.col("end") <= F.col("first")
    found = told.join(F.broadcast(ends), SESSION, "left")
    return found.where(~F.coalesce(late, F.lit(False))).drop("end")


def _news_key() -> Column:
    hand = F.xxhash64("kind", "origin", F.col("service") == 0, "first")
    return F.when(F.col("kind") == "hand", hand).otherwise(F.xxhash64("kind", "groups", "views"))


def _news(story: DataFrame, daemons: DataFrame) -> DataFrame:
    key = _news_key().alias("news")
    handed = daemons.where(_kinds(NEWS)).groupBy(SESSION, key).agg(F.min(_place()).alias("there"))
    mine = story.where(_kinds(NEWS)).withColumn("news", _news_key())
    mine = mine.join(handed, [SESSION, "news"], "left")
    order = Window.partitionBy(SESSION).orderBy("t", "tie")
    so_far = order.rowsBetween(Window.unboundedPreceding, 0)
    mine = mine.withColumn("place", F.max(F.coalesce("there", _place())).over(so_far))
    alike = Window.partitionBy(SESSION, "place").orderBy("t", "tie")
    behind = F.least(F.row_number().over(alike) - 1, F.lit(STORY_MIDDLE - 1))
    mine = mine.withColumn("behind", behind)
    moved = _moved(mine, "place")
    return moved.withColumn("tie", F.col("tie") + F.col("behind"))


def _requests(story: DataFrame, daemons: DataFrame) -> DataFrame:
    known = daemons.where(_is_change()).select(SESSION, F.col("first").alias("known"))
    asked = story.where(_kinds(REQUESTS)).withColumn(
        "known", F.when(F.col("detail") == CHANGE, F.col("first"))
    )
    return asked.join(known.distinct(), [SESSION, "known"], "left_anti")


def _changes(story: DataFrame, daemons: DataFrame) -> DataFrame:
    """Joins and leaves as messages: before the client's next submit, which it may have made
    before the daemon saw the change."""
    changes = daemons.where(_is_change()).withColumn("is_submit", F.lit(False))
    submits = story.where("kind = 'submit' and service > 0").withColumn("is_submit", F.lit(True))
    both = changes.unionByName(submits)
    order = Window.partitionBy(SESSION).orderBy(F.desc("first"), "is_submit")
    later = order.rowsBetween(Window.unboundedPreceding, -1)
    ahead = F.struct("t", (F.col("tie") - 1).alias("tie"))
    place = F.last(F.when(F.col("is_submit"), ahead), ignorenulls=True).over(later)
    found = both.withColumn("ahead", place).where(~F.col("is_submit"))
    return _moved(found.withColumn("place", F.least(_place(), "ahead")), "place")


def _beyond(story: DataFrame, daemons: DataFrame) -> DataFrame:
    """Of a story that breaks off: what the daemon was asked for behind it."""
    submitted = F.when(F.col("kind") == "submit", F.col("first") + F.col("count"))
    ends = story.groupBy(SESSION).agg(
        F.max(_place()).alias("end"),
        F.max(F.when(F.col("service") == 0, submitted)).alias("unreliable"),
        F.max(F.when(F.col("service") > 0, submitted)).alias("numbered"),
        F.max((F.col("kind") == "close").cast("int")).alias("closed"),
    )
    open_ends = F.broadcast(ends.where("closed = 0"))
    asked = story.where(_kinds(CHANGES)).groupBy(SESSION, "kind", "groups")
    counts = asked.agg(F.count("*").alias("asked"))
    rest = daemons.where(~_is_change()).join(open_ends, SESSION)
    turn = F.row_number().over(Window.partitionBy(SESSION, "kind", "groups").orderBy("t", "tie"))
    changes = rest.where(_kinds(CHANGES)).withColumn("turn", turn)
    changes = changes.join(counts, [SESSION, "kind", "groups"], "left")
    changes = changes.where(F.col("turn") > F.coalesce("asked", F.lit(0)))
    reached = F.when(F.col("service") == 0, F.col("unreliable")).otherwise(F.col("numbered"))
    submits = rest.where("kind = 'submit'").where(F.col("first") >= F.coalesce(reached, F.lit(0)))
    opens = rest.where("kind = 'open'").where(_place() > F.col("end"))
    columns = daemons.columns
    return changes.select(*columns).union(submits.select(*columns)).union(opens.select(*columns))


def _closes(story: DataFrame, daemons: DataFrame) -> DataFrame:
    """The end is told by whoever saw it first."""
    both = story.unionByName(daemons).where("kind = 'close'")
    first = F.row_number().over(Window.partitionBy(SESSION).orderBy("t", "tie"))
    return both.withColumn("turn", first).where("turn = 1")
