"""What a pass could not decide, and the events that decide it.

Events that have to be seen together come to one task: those in one window of a dispute, deliveries
of a configuration with possible holes, and for causes those of a configuration, or of a whole
history where configurations are mixed.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from antiphon.pipeline.session import part_count
from antiphon.pipeline.verify.batches import (
    ONWARD,
    ONWARD_SCHEMA,
    TAG_BITS,
    Arrays,
    Sink,
    Tag,
    together,
    unpack,
)
from antiphon.pipeline.verify.by_process import HAS_CAUSAL, MIXED, NO_CLOCK
from antiphon.pipeline.verify.causal import judge_causes
from antiphon.pipeline.verify.edges import connect
from antiphon.pipeline.verify.holes import Question, judge_holes
from antiphon.pipeline.verify.lookup import Lookup
from antiphon.pipeline.verify.passing import CAUSES, DISPUTES, HOLES
from antiphon.pipeline.verify.total_order import judge_disputes

SCOPED = "scope long, blob binary"
Judge = Callable[[int, Arrays, Sink], None]


def tag_is(kind: int) -> Column:
    return F.col("tag").bitwiseAND(F.lit((1 << TAG_BITS) - 1)) == kind


class Summary:
    """What has to be looked at more closely: small, whatever the tables hold."""

    def __init__(self, found: DataFrame, look: Lookup) -> None:
        table = found.where(~tag_is(Tag.FINDING) & ~tag_is(Tag.EVENTS)).select(*ONWARD).toArrow()
        self.rows: Arrays = {name: table.column(name).to_numpy() for name in ONWARD}
        kind = self.rows["tag"] & ((1 << TAG_BITS) - 1)
        sink = Sink()
        connect({name: column[kind == Tag.EDGE] for name, column in self.rows.items()}, sink)
        between = sink.arrays()
        seen = {name: np.append(self.rows[name], between[name]) for name in ONWARD}
        kind = seen["tag"] & ((1 << TAG_BITS) - 1)
        self.findings = {name: column[kind == Tag.FINDING] for name, column in seen.items()}
        """That only several slices together show."""
        self.has_strangers = bool((kind == Tag.UNKNOWN).any())
        steps, doubts = kind == Tag.STEP, kind == Tag.DOUBT
        self.steps = list(
            zip(seen["k1"][steps].tolist(), seen["stay"][steps].tolist(), strict=True)
        )
        self.untrusted = set(look.history[seen["lane"][steps]].tolist())
        history, bits = look.history[seen["lane"][doubts]], seen["k1"][doubts]
        self.asked = set(history[(bits & (HAS_CAUSAL | NO_CLOCK)) != 0].tolist()) | self.untrusted
        """Histories whose S4 the key does not prove."""
        self.mixed = set(history[(bits & MIXED) != 0].tolist())


def judge_scopes(told: DataFrame, what: int, scope: Column, judge: Judge) -> DataFrame:
    """Findings among events that slices told on; each scope in one task."""
    events = told.where(tag_is(Tag.EVENTS) & (F.col("lane") == what))
    scoped = events.select(scope.cast("long").alias("scope"), "blob").where("scope != -1")
    count = part_count(told.sparkSession)
    parts = scoped.repartition(count, "scope").sortWithinPartitions("scope")
    return parts.mapInArrow(_judging(judge), ONWARD_SCHEMA)


def _judging(judge: Judge) -> Callable[[Iterable[Any]], Iterator[Any]]:
    def work(batches: Iterable[Any]) -> Iterator[Any]:
        for scope, lines in together(batches):
            sink = Sink()
            judge(scope, unpack([blob for (blob,) in lines]), sink)
            yield sink.batch()

    return work


def disputes(told: DataFrame, look: Callable[[], Lookup]) -> DataFrame:
    def judge(_: int, rows: Arrays, sink: Sink) -> None:
        judge_disputes(rows, look(), sink)

    return judge_scopes(told, DISPUTES, F.col("config"), judge)


def holes(told: DataFrame, questions: list[Question], look: Callable[[], Lookup]) -> DataFrame:
    asked: dict[int, list[Question]] = {}
    for one in questions:
        asked.setdefault(one.config, []).append(one)

    def judge(config: int, rows: Arrays, sink: Sink) -> None:
        judge_holes(rows, asked.get(config, []), look(), sink)

    return judge_scopes(told, HOLES, F.col("config"), judge)


def causes(told: DataFrame, asked: set[int], mixed: set[int]) -> DataFrame:
    def judge(_: int, rows: Arrays, sink: Sink) -> None:
        judge_causes(rows, sink)

    history = F.col("k1")
    whole = history.isin(sorted(mixed)) if mixed else F.lit(False)
    scope = F.when(whole, -2 - history).otherwise(F.col("config"))
    mine = told.where(history.isin(sorted(asked)))
    return judge_scopes(mine, CAUSES, scope, judge)
