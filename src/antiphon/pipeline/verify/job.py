"""`verify`: all promises over the tables of records.

    rows -> histories -> control rows, judged by the judges -> facts
         -> events -> by message -> by process -> findings, doubts
         -> where doubts are: windows of disputes, holes, causes

Two passes see every row, the first sorted by message, the second by process and place; both
stream. All else is about what they could not decide, which in a good run is little or nothing.
docs/verify.md argues why each question is answered rightly.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from pathlib import Path
from typing import NamedTuple

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from antiphon.core.errors import UsageError
from antiphon.pipeline.ingest import records
from antiphon.pipeline.verify.batches import ONWARD, ONWARD_SCHEMA, TAG_BITS, Tag
from antiphon.pipeline.verify.by_message import pass_over_messages
from antiphon.pipeline.verify.by_process import HAS_CAUSAL, MIXED, NO_CLOCK, pass_over_processes
from antiphon.pipeline.verify.causal import judge_causes
from antiphon.pipeline.verify.control import Facts, Named, read_control
from antiphon.pipeline.verify.events import (
    events,
    messages,
    processes,
    same_stamps,
    wanted_set,
)
from antiphon.pipeline.verify.histories import (
    TIME_BITS,
    History,
    Segments,
    placed,
    read_segments,
)
from antiphon.pipeline.verify.holes import candidates, holes, is_tag
from antiphon.pipeline.verify.lookup import Hashes, Lookup, Wanted
from antiphon.pipeline.verify.stories import joined
from antiphon.pipeline.verify.story import FINDINGS, tell, told_by_judges
from antiphon.pipeline.verify.total_order import disputes

ROWS_PER_TASK = 2_000_000
SETTINGS = {
    # Large enough for numpy to be worth it.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    # So that files are skipped that have no row of the kinds that are asked for.
    "spark.sql.parquet.pushdown.inFilterThreshold": "32",
}

PLACE = ("lane", "tie", "key")
"""Messages of one record share a place; they are in the order of their numbers."""


class Verdict(NamedTuple):
    histories: list[History]
    findings: DataFrame


def verify(
    spark: SparkSession, tables: Path, runs: Sequence[str] = (), ended: bool | None = None
) -> Verdict:
    """Every broken promise in the tables, or in some runs of them. `ended` says that the run came
    to rest, as for the judges; None: if a row says so."""
    rows = records(spark, tables)
    if runs:
        rows = rows.where(F.col("run").isin(list(runs)))
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    segments = read_segments(spark, rows)
    if not segments.histories:
        what = "there are no rows" + (f" of {', '.join(runs)}" if runs else "")
        raise UsageError("no_rows", what, "see what runs there are in the table segments")
    return Verification(spark, rows, segments, ended).verdict()


class Verification:
    """One verification; `look` gives the facts, here and on executors."""

    def __init__(
        self, spark: SparkSession, rows: DataFrame, segments: Segments, ended: bool | None
    ) -> None:
        self._spark = spark
        self._ended = ended
        self.histories = segments.histories
        self._rows = placed(rows, segments)
        if any(one.has_clients for one in self.histories):
            # The plan of this is long; without the cut every later one would repeat it.
            self._rows = joined(self._rows).localCheckpoint()
        count = sum(one.rows for one in self.histories)
        usual = int(str(spark.conf.get("spark.sql.shuffle.partitions")))
        self._tasks = max(usual, count // ROWS_PER_TASK)
        self._learn(Named({}, {}))

    def _learn(self, named: Named) -> None:
        """The facts, and the events with numbers from them."""
        self._facts: list[Facts] = read_control(self._rows, self.histories, self._ended, named)
        hashes = Hashes(self._spark, self._facts)
        lookup = Lookup(self._facts, hashes, self._wanted())
        numbers = processes(self._spark, lookup.processes)
        lookup.learn_senders(self._seen_senders(numbers, lookup))
        shared = self._spark.sparkContext.broadcast(lookup)
        self._look: Callable[[], Lookup] = lambda: shared.value
        self._events = events(self._rows, numbers)

    def _seen_senders(self, numbers: DataFrame, lookup: Lookup) -> list[tuple[int, int, int]]:
        """Of configurations with several daemons that give the same stamps: which of two is
        delivered first, at the daemon that leads it."""
        seen = same_stamps(self._rows, numbers).collect()
        configs = {int(one): number for number, one in enumerate(lookup.config_hash)}
        found = [(configs.get(row.config), row.one, row.other) for row in seen]
        return [(config, one, other) for config, one, other in found if config is not None]

    def _wanted(self) -> list[Wanted]:
        """The sets of daemons that messages were for: few."""
        sends = self._rows.where("kind = 'send' and size(members) > 0")
        found = sends.select("hist", "members", wanted_set().alias("hash")).distinct().collect()
        return [
            Wanted(
                row.hash,
                row.hist,
                tuple((m.daemon % 2**64, m.incarnation % 2**64) for m in row.members),
            )
            for row in found
        ]

    def verdict(self) -> Verdict:
        onward, found = self._passes()
        summary = Summary(found, self._look())
        if summary.has_strangers:
            self._learn(messages(self._rows))
            onward.unpersist()
            onward, found = self._passes()
            summary = Summary(found, self._look())
        parts = [found.where(is_tag(Tag.FINDING)), *self._closer(onward, found, summary)]
        told = reduce(DataFrame.unionByName, parts)
        sentences = told.mapInArrow(tell(self._look, self.histories), FINDINGS)
        control = [
            finding
            for facts in self._facts
            for finding in told_by_judges(facts, self.histories[facts.history])
        ]
        judged = self._spark.createDataFrame(control, FINDINGS)
        findings = sentences.union(judged).persist()
        findings.count()
        onward.unpersist()
        return Verdict(self.histories, findings)

    def _passes(self) -> tuple[DataFrame, DataFrame]:
        """Events as they leave the first pass, and what both say: findings, possible holes, how
        far stays came, doubts."""
        by_message = self._events.repartition(self._tasks, "key").sortWithinPartitions("key")
        onward = by_message.mapInArrow(pass_over_messages(self._look), ONWARD_SCHEMA)
        onward = onward.persist(StorageLevel.DISK_ONLY)
        process = F.shiftright("lane", TIME_BITS)
        by_process = onward.repartition(self._tasks, process).sortWithinPartitions(*PLACE)
        return onward, by_process.mapInArrow(pass_over_processes, ONWARD_SCHEMA).persist()

    # Where the passes could not decide.

    def _closer(
        self, onward: DataFrame, found: DataFrame, summary: "Summary"
    ) -> Iterable[DataFrame]:
        disputed: set[int] = set()
        if summary.steps:
            argued = disputes(onward, summary.steps, self._look).persist()
            history = self._look().history
            disputed = {int(history[row.k1]) for row in argued.select("k1").distinct().collect()}
            yield argued
        if summary.has_holes:
            yield from self._holes(onward, found, summary.untrusted, disputed)
        if summary.asked:
            yield self._causes(onward, summary)

    def _holes(
        self, onward: DataFrame, found: DataFrame, untrusted: set[int], disputed: set[int]
    ) -> Iterable[DataFrame]:
        """Where there is no one order, holes in it cannot be asked for."""
        configs = list(enumerate(history for history, _ in self._look().configs))
        argued = [config for config, history in configs if history in disputed]
        doubtful = [config for config, history in configs if history in untrusted]
        kept = found.where(~F.col("config").isin(argued)) if argued else found
        trusted: Column = ~F.col("config").isin(doubtful) if doubtful else F.lit(True)
        questions = candidates(kept, trusted).persist()
        if not questions.isEmpty():
            yield holes(questions, onward, self._look)

    def _causes(self, onward: DataFrame, summary: "Summary") -> DataFrame:
        history = self._look().history.tolist()
        chosen = [
            (process, -2 - one if one in summary.mixed else 0)
            for process, one in enumerate(history)
            if one in summary.asked
        ]
        scopes = self._spark.createDataFrame(chosen, "process long, whole long")
        events = onward.where(is_tag(Tag.EVENT)).withColumn(
            "process", F.shiftright("lane", TIME_BITS)
        )
        scope = F.when(F.col("whole") < 0, F.col("whole")).otherwise(F.col("config"))
        t = F.col("lane").bitwiseAND(F.lit((1 << TIME_BITS) - 1))
        events = events.join(F.broadcast(scopes), "process").withColumns({"scope": scope, "t": t})
        ordered = events.where("scope != -1").repartition(self._tasks, "scope")
        ordered = ordered.sortWithinPartitions("scope", "t", "tie", "key")
        return ordered.select(*ONWARD, "scope").mapInArrow(judge_causes, ONWARD_SCHEMA)


class Summary:
    """What has to be looked at more closely: small, whatever the tables hold."""

    def __init__(self, found: DataFrame, look: Lookup) -> None:
        kind = F.col("tag").bitwiseAND(F.lit((1 << TAG_BITS) - 1)).alias("kind")
        is_few = kind.isin(Tag.STEP, Tag.DOUBT)
        few = [F.when(is_few, F.col(name)).alias(name) for name in ("lane", "k1", "stay")]
        rows = found.where(kind != Tag.FINDING).select(kind, *few).distinct().collect()
        kinds = {row.kind for row in rows}
        self.has_strangers = Tag.UNKNOWN in kinds
        self.has_holes = Tag.HOLE in kinds
        steps = [row for row in rows if row.kind == Tag.STEP]
        self.steps = [(int(row.k1), int(row.stay)) for row in steps]
        self.untrusted = {int(look.history[row.lane]) for row in steps}
        doubts: dict[int, int] = {}
        for row in rows:
            if row.kind == Tag.DOUBT:
                history = int(look.history[row.lane])
                doubts[history] = doubts.get(history, 0) | int(row.k1)
        self.asked = {one for one, bits in doubts.items() if bits & (HAS_CAUSAL | NO_CLOCK)}
        self.asked |= self.untrusted
        """Histories whose S4 the key does not prove."""
        self.mixed = {one for one, bits in doubts.items() if bits & MIXED}
