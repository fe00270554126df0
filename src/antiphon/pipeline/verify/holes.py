"""Holes in the one order (S5): who goes on without a message that others deliver before.

The pass over messages tells who lacks what; the pass over processes how far everybody came. A
message that somebody lacks, and that stands in the key before the last one that it delivers, may
be a hole. It is one if a chain of deliveries leads from it to that last one; mostly the chain is
one daemon that has delivered both. Where there is none, all of the configuration is looked at.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from antiphon.pipeline.verify.batches import (
    ONWARD,
    ONWARD_SCHEMA,
    TAG_BITS,
    Sink,
    Tag,
    arrays_of,
)
from antiphon.pipeline.verify.by_message import IS_EXTRA, IS_HAND, IS_SEND
from antiphon.pipeline.verify.by_process import REGULAR
from antiphon.pipeline.verify.events import NUMBER_BITS
from antiphon.pipeline.verify.faults import Fault
from antiphon.pipeline.verify.histories import TIME_BITS
from antiphon.pipeline.verify.holding import COMRADE, IN_VIEW
from antiphon.pipeline.verify.lookup import Longs, Lookup
from antiphon.pipeline.verify.total_order import is_ordered, sequences
from antiphon.records.arrow import load

HOLE = ("message", "last", "stay", "in_view", "config")


def is_tag(kind: int) -> Column:
    return F.col("tag").bitwiseAND(F.lit((1 << TAG_BITS) - 1)) == kind


def _flag(flag: int) -> Column:
    return F.col("tag").bitwiseAND(F.lit(flag)) != 0


def candidates(found: DataFrame, is_trusted: Column) -> DataFrame:
    """Who lacks a message that stands before the last one of its stay. Where the key is not to
    be trusted every message that is lacking is asked for."""
    stays = found.where(is_tag(Tag.STAY)).groupBy("stay", "config", _flag(IN_VIEW).alias("in_view"))
    place = F.struct("k1", "k2", "key")
    lasts = stays.agg(
        F.max(F.when(_flag(REGULAR), place)).alias("regular"), F.max(place).alias("any")
    )
    lacks = found.where(is_tag(Tag.HOLE)).select(
        F.col("key").alias("message"),
        place.alias("place"),
        F.col("stay"),
        F.col("config"),
        _flag(IN_VIEW).alias("in_view"),
        _flag(COMRADE).alias("comrade"),
        (~is_trusted).alias("always"),
    )
    joined = lacks.join(lasts, ["stay", "config", "in_view"])
    # After a message of the regular part all are owed, else those whose sender came along.
    last = F.when(F.col("comrade"), F.col("any")).otherwise(F.col("regular"))
    joined = joined.withColumn("goal", last)
    late = F.col("always") | (F.col("place") < F.col("goal"))
    return joined.where(F.col("goal").isNotNull() & late).select(
        "message", F.col("goal")["key"].alias("last"), "stay", "in_view", "config"
    )


def holes(questions: DataFrame, onward: DataFrame, look: Callable[[], Lookup]) -> DataFrame:
    """Findings among the candidates."""
    no_delivery = IS_SEND | IS_HAND | IS_EXTRA
    delivers = onward.where(is_tag(Tag.EVENT) & (F.col("tag").bitwiseAND(F.lit(no_delivery)) == 0))
    keys = questions.select(F.col("message").alias("key")).union(
        questions.select(F.col("last").alias("key"))
    )
    near = delivers.join(F.broadcast(keys.distinct()), "key", "left_semi")
    who = F.shiftright("lane", TIME_BITS).alias("who")
    near = near.select("key", who, "config", F.struct("lane", "tie", "key").alias("place"))
    near = near.persist()
    first = near.select(F.col("key").alias("message"), "who", "config", F.col("place").alias("one"))
    second = near.select(F.col("key").alias("last"), "who", "config", F.col("place").alias("other"))
    both = questions.join(first, ["message", "config"]).join(second, ["last", "who", "config"])
    sure = both.where(F.col("one") < F.col("other")).select(*HOLE).distinct().persist()
    unsure = questions.join(sure, list(HOLE), "left_anti").collect()
    found = sure
    if unsure:
        found = sure.union(_by_chains([tuple(row) for row in unsure], delivers))
    return found.mapInArrow(_tell(look), ONWARD_SCHEMA)


def _by_chains(unsure: list[tuple[Any, ...]], delivers: DataFrame) -> DataFrame:
    """Those to which a longer chain leads."""
    questions: dict[int, list[tuple[Any, ...]]] = {}
    for one in unsure:
        questions.setdefault(int(one[-1]), []).append(one)

    def work(table: Any) -> Any:
        pa = load()
        rows = arrays_of(table.combine_chunks().to_batches()[0], ONWARD)
        after: dict[int, set[int]] = {}
        ordered = is_ordered(rows["tag"])
        for _, sequence in sequences({name: each[ordered] for name, each in rows.items()}):
            for one, other in pairwise(sequence):
                after.setdefault(one, set()).add(other)
        config = int(rows["config"][0])
        sure = [one for one in questions[config] if leads(one[0], one[1], after)]
        columns = list(zip(*sure, strict=True)) or [() for _ in HOLE]
        types = (pa.int64(), pa.int64(), pa.int64(), pa.bool_(), pa.int64())
        arrays = [pa.array(each, kind) for each, kind in zip(columns, types, strict=True)]
        return pa.Table.from_arrays(arrays, names=list(HOLE))

    chosen = delivers.where(F.col("config").isin(list(questions)))
    schema = "message long, last long, stay long, in_view boolean, config long"
    return chosen.groupBy("config").applyInArrow(work, schema)


def leads(start: int, goal: int, after: dict[int, set[int]]) -> bool:
    """Whether a chain goes from one message to another."""
    seen, waiting = {start}, deque([start])
    while waiting:
        for other in after.get(waiting.popleft(), ()):
            if other == goal:
                return True
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return False


def _tell(look: Callable[[], Lookup]) -> Callable[[Iterable[Any]], Iterator[Any]]:
    def work(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            rows = {name: batch.column(name).to_numpy(zero_copy_only=False) for name in HOLE}
            sink = Sink()
            tell(rows, look(), sink)
            yield sink.batch()

    return work


def tell(rows: dict[str, Longs], look: Lookup, sink: Sink) -> None:
    """Findings, at daemons and at sessions; for strangers' messages D8 as well."""
    in_view = rows["in_view"].astype(np.bool_)
    key, stay = rows["message"][~in_view], rows["stay"][~in_view]
    if len(key):
        who, place = look.daemon_stay_process[stay], look.stay_config[stay]
        sink.find(Fault.DAEMON_HOLE, process=who, key=key, place=place)
    key, stay = rows["message"][in_view], rows["stay"][in_view]
    if len(key):
        who, place = look.session_stay_process[stay], look.session_stay_view[stay]
        sink.find(Fault.SESSION_HOLE, process=who, key=key, place=place)
        strange = ~look.are_members(place, key >> NUMBER_BITS)
        if strange.any():
            key, who, place = key[strange], who[strange], place[strange]
            sink.find(Fault.STRANGER, process=who, key=key, place=place)
