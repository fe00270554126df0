"""`verify`: all promises over the tables of records.

    files -> first look: segments, control rows judged by the judges -> facts
          -> events -> slices of the one order, each judged in one task -> findings, doubts
          -> where doubts are, events once more: windows of disputes, holes, causes

One pass sees every row. All else is about what it could not decide, which in a good run is little
or nothing. docs/verify.md argues why each question is answered rightly.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from antiphon.core.errors import UsageError
from antiphon.core.service import Service
from antiphon.pipeline.session import part_count
from antiphon.pipeline.verify.batches import ONWARD, ONWARD_SCHEMA, Tag
from antiphon.pipeline.verify.closer import Summary, causes, disputes, holes, tag_is
from antiphon.pipeline.verify.control import Facts, Named, ProcessId, read_control
from antiphon.pipeline.verify.events import named_in
from antiphon.pipeline.verify.files import find_pieces
from antiphon.pipeline.verify.first_look import STAMPS, look_at, pieces_of, read_pieces
from antiphon.pipeline.verify.histories import History, Segments
from antiphon.pipeline.verify.holes import candidates
from antiphon.pipeline.verify.lookup import Lookup, Wanted
from antiphon.pipeline.verify.names import distinct, mixed
from antiphon.pipeline.verify.passing import Pass, Wish
from antiphon.pipeline.verify.slices import find_slices
from antiphon.pipeline.verify.stories import read_stories
from antiphon.pipeline.verify.story import FINDINGS, tell, told_by_judges
from antiphon.pipeline.verify.total_order import windows
from antiphon.records.arrow import load

NAMES = "run string, is_origin boolean, node long, life long, session long"


class Verdict(NamedTuple):
    histories: list[History]
    findings: DataFrame


def verify(
    spark: SparkSession, tables: Path, runs: Sequence[str] = (), ended: bool | None = None
) -> Verdict:
    """Every broken promise in the tables, or in some runs of them. `ended` says that the run came
    to rest, as for the judges; None: if a row says so."""
    pieces = find_pieces(tables, runs)
    if pieces:
        verification = Verification(spark, pieces_of(spark, pieces), ended)
        if verification.histories:
            return verification.verdict()
    what = "there are no rows" + (f" of {', '.join(runs)}" if runs else "")
    raise UsageError("no_rows", what, "see what runs there are in the table segments")


class Verification:
    """One verification; `look` gives the facts, here and on executors."""

    def __init__(self, spark: SparkSession, pieces: DataFrame, ended: bool | None) -> None:
        self._spark = spark
        self._pieces = pieces
        self._ended = ended
        self._held: list[DataFrame] = []
        """Kept until there is a verdict."""
        self._first = look_at(pieces)
        self._held.append(self._first.rest)
        self._segments = Segments(self._first.lines)
        self.histories = self._segments.histories
        told = list(self._first.clients.values())
        self._clients = distinct(np.concatenate(told)) if told else np.empty(0, np.int64)
        self._stories: DataFrame | None = None
        if len(self._clients):
            self._stories = read_stories(pieces, self._segments, self._clients)
            self._held.append(self._stories)

    def verdict(self) -> Verdict:
        passing = self._learn(Named({}, {}))
        found = self._keep(passing.over(self._first_wish()))
        summary = Summary(found, self._look())
        if summary.has_strangers:
            passing = self._learn(self._named())
            found = self._keep(passing.over(self._first_wish()))
            summary = Summary(found, self._look())
        lines = np.stack(list(summary.findings.values())).T.tolist()
        told = found.where(tag_is(Tag.FINDING)).select(*ONWARD)
        told = told.union(self._spark.createDataFrame(lines, ONWARD_SCHEMA))
        for part in self._closer(passing, found, summary):
            told = told.union(part)
        few = told.coalesce(part_count(self._spark))  # there is little in each part, if anything
        sentences = few.mapInArrow(tell(self._look, self.histories), FINDINGS)
        control = [
            finding
            for facts in self._facts
            for finding in told_by_judges(facts, self.histories[facts.history])
        ]
        judged = self._spark.createDataFrame(control, FINDINGS)
        findings = _made(sentences.union(judged))
        for one in self._held:
            one.unpersist()
        return Verdict(self.histories, findings)

    def _keep(self, told: DataFrame) -> DataFrame:
        kept = _made(told)
        self._held.append(kept)
        return kept

    def _learn(self, named: Named) -> Pass:
        """The facts, and what it takes to go over all messages with them."""
        first, segments = self._first, self._segments
        self._facts: list[Facts] = read_control(
            first.rest, self._stories, segments, self._clients, self._ended, named
        )
        services: list[frozenset[int]] = [frozenset() for _ in self.histories]
        for run, seen in first.services.items():
            services[segments.history_of[run]] |= seen
        lookup = Lookup(self._facts, self._wanted(), services)
        shared = self._spark.sparkContext.broadcast(lookup)
        self._look: Callable[[], Lookup] = lambda: shared.value
        rows = sum(one.rows for one in self.histories)
        stamps = first.rest.where(F.col("what") == STAMPS)
        slices = find_slices(stamps, rows, segments, self._look)
        return Pass(self._pieces, self._stories, segments, self._clients, slices, self._look)

    def _wanted(self) -> list[Wanted]:
        """The sets of daemons that messages were for: few."""
        found = []
        for run, sets in self._first.wanted.items():
            history = self._segments.history_of[run]
            for number, members in sets.items():
                found.append(Wanted(int(mixed(history, number)[0]), history, members))
        return list({one.hash: one for one in found}.values())

    def _first_wish(self) -> Wish:
        """Causal messages need vectors, whatever else is seen."""
        services = enumerate(self._look().services)
        return Wish(frozenset(one for one, seen in services if int(Service.CAUSAL) in seen))

    def _named(self) -> Named:
        """All processes that rows about messages name: control rows do not tell of all."""
        processes: dict[int, set[ProcessId]] = {}
        origins: dict[int, set[ProcessId]] = {}
        for run, is_origin, *name in self._pieces.mapInArrow(_names, NAMES).collect():
            known = origins if is_origin else processes
            node, life, session = name
            who = (node % 2**64, life % 2**64, session)
            known.setdefault(self._segments.history_of[run], set()).add(who)
        return Named(
            {history: sorted(found) for history, found in processes.items()},
            {history: sorted(found) for history, found in origins.items()},
        )

    # Where the pass could not decide.

    def _closer(self, passing: Pass, found: DataFrame, summary: "Summary") -> Iterator[DataFrame]:
        first = self._first_wish().causes
        questions = candidates(summary.rows, self._configs_of(summary.untrusted))
        wish = Wish(
            frozenset(summary.asked - first),
            tuple(windows(summary.steps)),
            frozenset(one.config for one in questions),
        )
        again = self._keep(passing.over(wish)) if any(wish) else None
        disputed: set[int] = set()
        if again is not None and wish.windows:
            argued = self._keep(disputes(again, self._look))
            history = self._look().history
            disputed = {int(history[row.k1]) for row in argued.select("k1").collect()}
            yield argued
        # Where there is no one order, holes in it cannot be asked for.
        argued_configs = self._configs_of(disputed)
        questions = [one for one in questions if one.config not in argued_configs]
        if again is not None and questions:
            yield holes(again, questions, self._look)
        for part, histories in ((found, first), (again, wish.causes)):
            if part is not None and summary.asked & histories:
                yield causes(part, summary.asked, summary.mixed)

    def _configs_of(self, histories: set[int]) -> set[int]:
        configs = enumerate(self._look().configs)
        return {config for config, (history, _) in configs if history in histories}


def _made(told: DataFrame) -> DataFrame:
    """Once, and now."""
    kept = told.persist(StorageLevel.MEMORY_AND_DISK)
    kept.count()
    return kept


def _names(batches: Iterable[Any]) -> Iterator[Any]:
    pa = load()
    for columns in read_pieces(batches):
        for is_origin, found in zip((False, True), named_in(columns), strict=True):
            size = found.shape[1]
            arrays = [pa.array([columns.run] * size), pa.array([is_origin] * size)]
            arrays += [pa.array(each) for each in found]
            names = ["run", "is_origin", "node", "life", "session"]
            yield pa.RecordBatch.from_arrays(arrays, names=names)
