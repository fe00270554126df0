"""`antiphon pipeline ingest`."""

from pathlib import Path
from typing import Any

import click

from antiphon.tools.pipeline_job import job_options, running


@click.command()
@click.argument("places", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--into", type=click.Path(path_type=Path), required=True, help="Where tables are.")
@job_options
def ingest(places: tuple[Path, ...], into: Path, **options: Any) -> None:
    """Take the record files in PLACES into tables.

    As often as you like: what was taken before is not taken again. Files that are torn, doubled
    or of a newer version are counted, and named in the table `segments`.
    """
    for place in places:
        if not place.exists():
            raise click.UsageError(f"there is no {place}; name a directory of records")
    with running("ingest", options) as (spark, show):
        from antiphon.pipeline.ingest import ingest as take

        show(take(spark, places, into))
