"""`antiphon pipeline measure`."""

from pathlib import Path
from typing import Any

import click

from antiphon.core.machine import SECOND
from antiphon.tools.pipeline_job import job_options, running


@click.command()
@click.argument("tables", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--run", default="", help="Only this run; else all.")
@click.option(
    "--window",
    type=click.FloatRange(min=0.001),
    default=1.0,
    show_default=True,
    help="Seconds of a window of time.",
)
@job_options
def measure(tables: Path, run: str, window: float, **options: Any) -> None:
    """How long messages took, how many there were, and what daemons did for them.

    TABLES is where `antiphon pipeline ingest` has put the records. The figures become tables
    beside them, in TABLES/measures; the main ones are printed, with --json all of them.
    """
    with running("measure", options) as (spark, show):
        from antiphon.pipeline.measure.measure import measure as figures
        from antiphon.pipeline.measure.shown import tables_of

        found = figures(spark, tables, run, round(window * SECOND))
        show(dict(found) if options["as_json"] else dict(tables_of(found)))
