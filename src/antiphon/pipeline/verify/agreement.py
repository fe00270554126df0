"""Mutants, judged twice: by the judges where they ran, and by `verify` all together."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from antiphon.pipeline.ingest import ingest
from antiphon.pipeline.verify.job import verify
from antiphon.records.arrow import load
from antiphon.records.writer import SegmentWriter
from antiphon.sim.mutants import MUTANTS
from antiphon.sim.mutants.seeds import SEEDS
from antiphon.sim.sites_swarm import draw_trial
from antiphon.sim.trial import play

DECIDED = "DSP"
"""Letters of the promises that verify decides; what groups that are kept promise (K) is left to
the judges."""

JUDGED = "run string, promises array<string>, rows long"


class Case(NamedTuple):
    """A run to judge twice; with a mutant, or without one."""

    mutant: str
    sites: bool
    seed: int

    @property
    def run(self) -> str:
        swarm = "sites" if self.sites else "swarm"
        return f"{self.mutant or 'none'}.{swarm}.{self.seed}".replace("-", "_")


class Comparison(NamedTuple):
    case: Case
    judges: tuple[str, ...]
    verify: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        return self.judges == self.verify


def mutant_case(name: str) -> Case:
    """The mutant on the seed that is known to catch it."""
    return Case(name, MUTANTS[name].sites, SEEDS[name])


def compare(spark: SparkSession, cases: Sequence[Case]) -> list[Comparison]:
    """Play and judge each on an executor, then verify the records of all in one job."""
    with tempfile.TemporaryDirectory(prefix="antiphon-agreement-") as folder:
        records, tables = Path(folder) / "records", Path(folder) / "tables"
        lines = [(*case, str(records / case.run)) for case in cases]
        table = spark.createDataFrame(lines, "mutant string, sites boolean, seed long, into string")
        played = table.repartition(len(cases)).mapInArrow(_play, JUDGED).collect()
        judged = {row.run: tuple(row.promises) for row in played}
        ingest(spark, [records], tables)
        found = verify(spark, tables).findings.select("run", "promise").distinct().collect()
    verified: dict[str, list[str]] = {}
    for row in found:
        verified.setdefault(row.run, []).append(row.promise)
    return [
        Comparison(case, judged[case.run], tuple(sorted(verified.get(case.run, ()))))
        for case in cases
    ]


def _play(batches: Iterable[Any]) -> Iterator[Any]:
    """On an executor: the records of each case into files, and what the judges say."""
    pa = load()
    for batch in batches:
        for line in batch.to_pylist():
            case = Case(line["mutant"], line["sites"], line["seed"])
            plant = MUTANTS[case.mutant].plant if case.mutant else None
            run, outcome = play(draw_trial(case.sites, case.seed), plant)
            out = SegmentWriter(Path(line["into"]), "sim", "sim", case.run, clock=lambda: 0)
            for row in run.records:
                out.add(row)
                out.maybe_rotate(0)
            out.close()
            found = {one.promise for one in outcome.violations}
            promises = sorted(one for one in found if one[0] in DECIDED)
            columns = [[case.run], [promises], [len(run.records)]]
            types = [pa.string(), pa.list_(pa.string()), pa.int64()]
            arrays = [pa.array(each, kind) for each, kind in zip(columns, types, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names=["run", "promises", "rows"])
