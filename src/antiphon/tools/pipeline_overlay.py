"""`antiphon pipeline overlay`."""

from pathlib import Path
from typing import Any

import click

from antiphon.tools.pipeline_job import job_options, running

EDGES = "edges.toml"


@click.command()
@click.argument("place", type=click.Path(exists=True, path_type=Path))
@click.option("--into", type=click.Path(path_type=Path), help=f"Write {EDGES} there.")
@job_options
def overlay(place: Path, into: Path | None, **options: Any) -> None:
    """Plan the trees between sites from what was measured, and tell what other ways would cost.

    PLACE has the tables of `antiphon pipeline ingest`, or is a table with the columns `source`,
    `target`, `round_trip_us` and `loss`: a folder of Parquet files, or a file of CSV.
    """
    with running("overlay", options) as (spark, show):
        from antiphon.pipeline.overlay import what_if
        from antiphon.pipeline.overlay.ways import measured_ways

        found = measured_ways(spark, place)
        ways = {(one.source, one.target): one.weight for one in found}
        names, table = what_if.weights_of(ways)
        figures: dict[str, Any] = {"sites": len(names), "ways": len(found)}
        if into is not None:
            into.mkdir(parents=True, exist_ok=True)
            (into / EDGES).write_text(what_if.configuration(names, table))
            figures["configuration"] = str(into / EDGES)
        figures["measured"] = [{**one._asdict(), "weight": one.weight} for one in found]
        figures["sources"] = what_if.compare(names, table)
        figures["lines"] = what_if.broken_lines(names, table)
        show(figures)
