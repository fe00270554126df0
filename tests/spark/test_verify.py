"""Verify finds what is planted in a made-up history, and nothing else."""

from collections import defaultdict
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from antiphon.core.errors import UsageError
from antiphon.pipeline.synthetic import BREAKS, Plant, write_tables
from antiphon.pipeline.verify import slices
from antiphon.pipeline.verify.job import verify

pytestmark = pytest.mark.xdist_group("spark")

ROWS = 10_000
small_history = partial(write_tables, rows=ROWS, groups=4, daemons=6)
SLICE = 18_000
EVERY_SERVICE = (0, 1, 2, 3, 4, 5)
PLANTED = {
    "one": (Plant.SWAP, Plant.DUPLICATE, Plant.EARLY_SAFE),
    "two": (Plant.LOSS, Plant.COMRADES),
    "three": (Plant.INVERSION,),
}
"""Together in a history where no two break the same promise."""

Findings = dict[str, list[tuple[str, str]]]


@pytest.fixture(scope="module")
def findings(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """One job for all: each history is a run of its own."""
    tables = tmp_path_factory.mktemp("tables")
    small_history(tables, run="ordered")
    small_history(tables, services=EVERY_SERVICE, run="mixed")
    for run, plants in PLANTED.items():
        small_history(tables, plants=plants, run=run)
    found: Findings = defaultdict(list)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices, "ROWS_PER_SLICE", SLICE)  # so that histories are cut
        verdict = verify(spark, tables)
    assert len(verdict.histories) == 2 + len(PLANTED)
    for row in verdict.findings.collect():
        found[row.run].append((row.promise, row.text))
    return found


@pytest.mark.parametrize("run", ["ordered", "mixed"])
def test_a_good_history_breaks_no_promise(findings: Findings, run: str) -> None:
    assert findings[run] == []


@pytest.mark.parametrize("run", PLANTED)
def test_what_is_planted_is_found(findings: Findings, run: str) -> None:
    found = findings[run]
    broken = [promise for plant in PLANTED[run] for promise in BREAKS[plant]]
    assert len(broken) == len(set(broken))
    assert {promise for promise, _ in found} == set(broken), found


def test_every_plant_is_in_some_history() -> None:
    assert sorted(plant for plants in PLANTED.values() for plant in plants) == sorted(Plant)


def test_no_such_run(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="pipeline ingest"):
        verify(spark, tmp_path)
    small_history(tmp_path)
    with pytest.raises(UsageError, match="no rows of another"):
        verify(spark, tmp_path, ["another"])
