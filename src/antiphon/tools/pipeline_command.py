"""`antiphon pipeline`: jobs on Spark over what was recorded.

Spark is loaded by the job that is called, so that help works where it is not installed.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from rich.console import Console

from antiphon.core.errors import AntiphonError
from antiphon.pipeline.session import LOCAL, spark_session
from antiphon.tools.tables import console, figures_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def job_options(command: Callable[..., None]) -> Callable[..., None]:
    """What every job can be told."""
    options = [
        click.option(
            "--master", default=LOCAL, show_default=True, help="Where Spark runs; see the guide."
        ),
        click.option(
            "--memory", default="4g", show_default=True, help="Of the process that drives the job."
        ),
        click.option("--json", "as_json", is_flag=True, help="One object of JSON, nothing else."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.group()
def pipeline() -> None:
    """Tables, verdicts and figures from what daemons, clients and simulations recorded.

    Runs on Spark: embedded here, or on the master that --master names.

    \b
    Examples:
      antiphon pipeline ingest records --into tables
      antiphon pipeline ingest records --into tables --master spark://host:7077

    \b
    Exit codes:
      0  fine
      1  the job found something wrong
      2  wrong usage, or Spark or Java is missing
    """


@pipeline.command()
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


Show = Callable[[dict[str, Any]], None]


@contextmanager
def running(job: str, options: dict[str, Any]) -> "Iterator[tuple[SparkSession, Show]]":
    """A session while a line tells what goes on; what is shown appears after it."""
    progress = Console(stderr=True, highlight=False)
    shown: list[dict[str, Any]] = []
    quiet = {"spark.ui.showConsoleProgress": "true" if sys.stderr.isatty() else "false"}
    try:
        with progress.status("starting Spark") as status:
            with spark_session(job, options["master"], options["memory"], quiet) as spark:
                status.update(job)
                if sys.stderr.isatty():
                    status.stop()  # Spark's own bars tell more
                yield spark, shown.append
    except AntiphonError as error:
        raise click.UsageError(str(error)) from None
    for found in shown:
        if options["as_json"]:
            click.echo(msgspec.json.encode(found).decode())
        else:
            console().print(figures_table(found))
