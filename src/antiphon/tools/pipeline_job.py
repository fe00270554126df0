"""What every job of `antiphon pipeline` has: its options, and a session while it runs.

Spark is loaded by the job that is called, so that help works where it is not installed.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
import msgspec
from rich.console import Console

from antiphon.core.errors import AntiphonError
from antiphon.pipeline.session import LOCAL, spark_session
from antiphon.tools.tables import console, figures_table, rows_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Show = Callable[[dict[str, Any]], None]


def job_options(command: Callable[..., None]) -> Callable[..., None]:
    """What every job can be told."""
    options = [
        click.option(
            "--master", default=LOCAL, show_default=True, help="Where Spark runs; see the guide."
        ),
        click.option(
            "--memory", default="4g", show_default=True, help="Of the process that drives the job."
        ),
        click.option(
            "--conf",
            "settings",
            metavar="KEY=VALUE",
            multiple=True,
            callback=_settings,
            help="A setting of Spark's own; can be repeated.",
        ),
        click.option("--json", "as_json", is_flag=True, help="One object of JSON, nothing else."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _settings(
    context: click.Context, option: click.Parameter, told: tuple[str, ...]
) -> Mapping[str, str]:
    pairs = [each.partition("=") for each in told]
    if not all(sign and name for name, sign, _ in pairs):
        raise click.BadParameter("write it as spark.executor.memory=2g")
    return {name: value for name, _, value in pairs}


@contextmanager
def running(
    job: str, options: dict[str, Any], bars: bool = True
) -> "Iterator[tuple[SparkSession, Show]]":
    """A session while a line tells what goes on, or bars of Spark's; what is shown appears after
    it."""
    progress = Console(stderr=True, highlight=False)
    shown: list[dict[str, Any]] = []
    bars = bars and progress.is_terminal
    extra = {"spark.ui.showConsoleProgress": str(bars).lower(), **options["settings"]}
    try:
        with progress.status("starting Spark") as status:
            with spark_session(job, options["master"], options["memory"], extra) as spark:
                status.stop()
                yield spark, shown.append
    except AntiphonError as error:
        raise click.UsageError(str(error)) from None
    for found in shown:
        show(found, options["as_json"])


def show(found: dict[str, Any], as_json: bool) -> None:
    """Numbers and texts in one table, lists of rows in a table each."""
    if as_json:
        click.echo(msgspec.json.encode(found).decode())
        return
    tables = {name: rows for name, rows in found.items() if isinstance(rows, list)}
    console().print(figures_table({name: found[name] for name in found if name not in tables}))
    for name, rows in tables.items():
        if rows:
            console().print(rows_table(name, rows))
