"""Verify and the judges say the same of the same records."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from antiphon.check import judge
from antiphon.pipeline.ingest import ingest
from antiphon.pipeline.verify import slices
from antiphon.pipeline.verify.agreement import DECIDED, Case, compare, mutant_case
from antiphon.pipeline.verify.job import verify
from antiphon.records.gather import gather
from antiphon.sim.mutants import MUTANTS
from antiphon.sim.mutants.seeds import SEEDS
from antiphon.sim.swarm import draw
from antiphon.sim.trial import play
from tests.unit.records.test_gather import scatter

pytestmark = pytest.mark.xdist_group("spark")

SAMPLE = ("unstable-sent-again", "heads-ignored", "fifo-without-chain", "network-as-leave")
"""`antiphon soak` takes all of them."""


def test_mutants_are_judged_alike(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "ROWS_PER_SLICE", 12_000)  # so that runs are cut
    whole = [Case("", False, 7), Case("", True, 7)]
    found = compare(spark, [*map(mutant_case, SAMPLE), *whole])
    assert [one for one in found if not one.agrees] == []
    assert all(one.verify == () for one in found[-2:])
    assert all(one.verify for one in found[:-2])


def test_what_clients_tell_is_judged_alike(spark: SparkSession, tmp_path: Path) -> None:
    """Each daemon and each client writes for itself, clients late: see test_gather."""
    mutant = "nothing-fetched"
    run, _ = play(draw(SEEDS[mutant]), MUTANTS[mutant].plant)
    scatter(tmp_path / "records", run.records)
    ingest(spark, [tmp_path / "records"], tmp_path / "tables")
    verdict = verify(spark, tmp_path / "tables")
    rows = gather([tmp_path / "records"])
    assert [one.name for one in verdict.histories] == ["all"]
    found = {row.promise for row in verdict.findings.collect()}
    assert found == {one.promise for one in judge(rows) if one.promise[0] in DECIDED}
    assert found
