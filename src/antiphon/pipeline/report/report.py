"""`report`: from tables of figures to one page.

What the page has depends on what is there: figures of a run (measures/…), a campaign (outcomes,
latencies), and what a bench has printed.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from antiphon.core.errors import UsageError
from antiphon.pipeline.measure.measure import MEASURES, NAMES, Rows
from antiphon.pipeline.report.campaign_page import add_campaign
from antiphon.pipeline.report.comparison_page import add_comparison, read_experiments
from antiphon.pipeline.report.page import Page
from antiphon.pipeline.report.run_page import add_runs

OUTCOMES, LATENCIES = "outcomes", "latencies"


def report(
    spark: SparkSession, places: Sequence[Path], benches: Sequence[Path], title: str
) -> Page:
    page = Page(title, "Made by antiphon pipeline report")
    for place in places:
        known = len(page.sections)
        if (place / MEASURES).exists():
            found = {name: _rows(spark, place / MEASURES / name) for name in NAMES}
            [about] = found.pop("about")
            add_runs(page, found, about["window_s"])
        if (place / OUTCOMES).exists():
            add_campaign(page, *(_rows(spark, place / name) for name in (OUTCOMES, LATENCIES)))
        if len(page.sections) == known:
            what = f"{place} has neither measures nor outcomes"
            raise UsageError("no_tables", what, "run antiphon pipeline measure or campaign first")
    experiments = [one for path in benches for one in read_experiments(path)]
    if experiments:
        add_comparison(page, experiments)
    return page


def _rows(spark: SparkSession, path: Path) -> Rows:
    rows: list[dict[str, Any]] = [
        row.asDict(recursive=True) for row in spark.read.parquet(str(path)).collect()
    ]
    return rows
