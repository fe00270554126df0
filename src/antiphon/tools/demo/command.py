"""`antiphon demo`: the whole of it in a minute or two, on this machine."""

import shutil
import sys
import time
from pathlib import Path

import click
import msgspec
from rich.console import Console

from antiphon.core.errors import AntiphonError
from antiphon.pipeline.measure.shown import tables_of
from antiphon.pipeline.session import LOCAL
from antiphon.tools.demo.jobs import Results, analyse
from antiphon.tools.demo.stage import Stage
from antiphon.tools.demo.story import Pace, Seen, play
from antiphon.tools.tables import console, rows_table

DIRECTORY = Path("out/demo")
SHOWN = (
    *("latency_ms_by_service", "latency_ms_by_way", "traffic_by_service", "rounds", "overhead"),
    *("links", "configurations"),
)


@click.command()
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    default=DIRECTORY,
    show_default=True,
    help="Where everything is left; what an earlier demo left there goes.",
)
@click.option("--sites", type=click.IntRange(2, 9), default=3, show_default=True)
@click.option("--daemons", type=click.IntRange(2, 6), default=2, show_default=True, help="At each.")
@click.option("--seconds", type=click.FloatRange(1, 600), default=6.0, show_default=True)
@click.option("--master", default=LOCAL, show_default=True, help="Where Spark runs.")
@click.option("--json", "as_json", is_flag=True, help="One object of JSON, nothing else.")
def demo(into: Path, sites: int, daemons: int, seconds: float, master: str, as_json: bool) -> None:
    """A cluster of several sites under load and faults, verified and measured on Spark.

    Real daemons and clients on this machine, on free ports, without root. A daemon is killed, the
    network is cut and healed; then the records of all are verified and measured, and a page
    shows them. --seconds is how long it runs before the first fault.

    \b
    Exit codes:
      0  every promise was kept
      1  one was broken, or something did not happen
      2  wrong usage, or Spark or Java is missing
    """
    began = time.monotonic()
    stderr = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)

    def say(text: str) -> None:
        stderr.print(f"{time.monotonic() - began:5.1f} s  {text}")

    directory = _clear(into)
    try:
        with Stage(directory, sites, daemons) as stage:
            seen = play(stage, Pace(seconds, seconds / 3, seconds / 2), say)
    except (AntiphonError, RuntimeError) as error:
        click.echo(f"antiphon demo: {error}; see the logs in {directory}", err=True)
        sys.exit(1)
    try:
        results = analyse(directory, master, say)
    except AntiphonError as error:
        raise click.UsageError(str(error)) from None
    if as_json:
        click.echo(msgspec.json.encode(_told(seen, results)).decode())
    else:
        _print(results)
    say(f"the page: {results.report}")
    sys.exit(1 if results.violations else 0)


def _clear(into: Path) -> Path:
    """Only what a demo has left is ever removed."""
    directory = into.absolute()
    if directory.exists() and any(directory.iterdir()):
        if not (directory / "cluster.toml").exists():
            raise click.UsageError(f"{into} holds something else; name another place with --into")
        shutil.rmtree(directory)
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def _told(seen: Seen, results: Results) -> dict[str, object]:
    return {
        "sent": seen.sent,
        **seen.clients,
        "seconds": seen.seconds,
        "rows": results.rows,
        "violations": results.violations,
        "report": str(results.report),
        "figures": results.figures,
    }


def _print(results: Results) -> None:
    tables = tables_of(results.figures)
    for name in SHOWN:
        if name in tables:
            console().print(rows_table(name, tables[name]))
    for text in results.violations:
        console().print(text)
