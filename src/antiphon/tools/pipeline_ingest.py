"""`antiphon pipeline ingest`."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import msgspec

from antiphon.tools.pipeline_job import job_options, running

USUAL = ("files", "segments", "rows", "open_segments", "open_rows", "known")
"""Counts of ingest that are not of refusals."""


@click.command()
@click.argument("places", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--into", type=click.Path(path_type=Path), required=True, help="Where tables are.")
@click.option("--follow", "follows", is_flag=True, help="Go on with what is written from now on.")
@click.option(
    "--every",
    type=click.FloatRange(min=0, min_open=True),
    help="With --follow: seconds from one look at PLACES to the next; 5 if not said.",
)
@click.option(
    "--until-idle",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="With --follow: end when nothing new has come for so long.",
)
@job_options
def ingest(
    places: tuple[Path, ...],
    into: Path,
    follows: bool,
    every: float | None,
    until_idle: float | None,
    **options: Any,
) -> None:
    """Take the record files in PLACES into tables.

    As often as you like: what was taken before is not taken again. Files that are torn, doubled
    or of a newer version are counted, and named in the table `segments`.

    With --follow it goes on, batch by batch, while daemons write. Ctrl-C ends it after the batch in
    hand; called again it goes on where it was. A line tells of each batch that took something,
    with --json an object of each batch.
    """
    for place in places:
        if not place.exists():
            raise click.UsageError(f"there is no {place}; name a directory of records")
    if not follows and not (every is None and until_idle is None):
        raise click.UsageError("--every and --until-idle are for --follow")
    with running("ingest", options, bars=not follows) as (spark, show):
        if follows:
            from antiphon.pipeline.follow.job import EVERY_S, Follow, follow

            what = Follow(places, into, every or EVERY_S, until_idle)
            with _interrupted() as ended:
                follow(spark, what, tell_as_json if options["as_json"] else tell_as_line, ended)
        else:
            from antiphon.pipeline.ingest import ingest as take

            show(take(spark, places, into))


def tell_as_json(batch: int, counts: dict[str, int]) -> None:
    click.echo(msgspec.json.encode({"batch": batch, **counts}).decode())


def tell_as_line(batch: int, counts: dict[str, int]) -> None:
    """Journals alone are worth none: they grow all the time."""
    refused = {name: count for name, count in counts.items() if name not in USUAL}
    if counts["segments"] or refused:
        told = f"batch {batch}: {counts['rows']:,} rows of {counts['segments']:,} segments"
        told += f", {counts['open_rows']:,} rows in hand"
        click.echo(", ".join([told, *(f"{count} {name}" for name, count in refused.items())]))


@contextmanager
def _interrupted() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed. Spark's own answer to it would end the batch in hand."""
    pressed = []
    before = signal.signal(signal.SIGINT, lambda *_: pressed.append(True))
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, before)
