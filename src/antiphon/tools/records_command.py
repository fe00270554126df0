"""`antiphon records`: what the files of a run say, and whether every promise was kept."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from antiphon.check import judge
from antiphon.core.errors import ConfigError, UsageError
from antiphon.core.machine import SECOND
from antiphon.core.trace import Kind, Record
from antiphon.records.gather import gather
from antiphon.records.reader import Notes, read_segments
from antiphon.records.segment import SEGMENT
from antiphon.records.writer import DISK_FULL, IO_ERROR, OVERFLOW
from antiphon.sim.timeline import HEADING, line

LOSSES = (DISK_FULL, IO_ERROR, OVERFLOW)
PLACES = click.argument("places", type=click.Path(path_type=Path), nargs=-1, required=True)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="One object of JSON per line.")


@click.group()
def records() -> None:
    """Read and judge the record files of daemons, clients and simulations.

    \b
    antiphon records show DIR --kind install --kind view --limit 20
    antiphon records judge DIR
    """


@records.command()
@PLACES
@click.option("--kind", "kinds", multiple=True, type=click.Choice([kind.value for kind in Kind]))
@click.option("--session", type=int, help="Only rows about this session; -1 for daemons.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many rows.")
@AS_JSON
def show(
    places: tuple[Path, ...],
    kinds: tuple[str, ...],
    session: int | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """Print rows, writer by writer."""
    notes = Notes()
    if not as_json:
        click.echo(HEADING)
    shown = 0
    for row in _read(places, notes):
        if kinds and row.kind not in kinds or session not in (None, row.session):
            continue
        click.echo(msgspec.json.encode(row).decode() if as_json else line(row))
        shown += 1
        if shown == limit:
            break
    _print_notes(notes)


@records.command(name="judge")
@PLACES
@click.option(
    "--ended/--running",
    "ended",
    default=None,
    help="Whether the run came to rest. If not said: whether a row says that faults are over.",
)
@AS_JSON
def judge_command(places: tuple[Path, ...], ended: bool | None, as_json: bool) -> None:
    """Judge a run: all its files, of daemons and clients, together.

    Exits with 1 if a promise was broken, or if rows are missing so that nobody can tell.
    """
    notes = Notes()
    try:
        rows = gather(places, notes)
    except (ConfigError, UsageError) as error:
        raise click.UsageError(str(error)) from error
    if not rows:
        raise click.UsageError("there are no rows here; name the directory that they are in")
    if ended is None:
        ended = any(row.kind is Kind.QUIET for row in rows)
    violations = judge(rows, ended=ended)
    lost = sum(row.value for row in rows if row.kind is Kind.DROP and row.reason in LOSSES)
    for found in violations:
        click.echo(f"{found.promise} at {found.time / SECOND:.6f} {found.process}: {found.text}")
    _print_notes(notes)
    is_partial = lost > 0 or any(path.endswith(SEGMENT) for path in notes.torn)
    if lost:
        click.echo(f"{lost} rows were lost when they were written", err=True)
    if as_json:
        figures = {
            "rows": len(rows),
            "ended": ended,
            "violations": len(violations),
            "promises": sorted({found.promise for found in violations}),
            "torn": len(notes.torn),
            "lost": lost,
        }
        click.echo(msgspec.json.encode(figures).decode())
    else:
        click.echo(f"{len(rows):,} rows: {_verdict(bool(violations), is_partial)}")
    sys.exit(1 if violations or is_partial else 0)


def _verdict(is_broken: bool, is_partial: bool) -> str:
    if is_broken:
        return "FAILED"
    return "no verdict, for rows are missing" if is_partial else "every promise was kept"


def _read(places: tuple[Path, ...], notes: Notes) -> Iterator[Record]:
    try:
        yield from read_segments(places, notes)
    except (ConfigError, UsageError) as error:
        raise click.UsageError(str(error)) from error


def _print_notes(notes: Notes) -> None:
    for path, why in notes.torn.items():
        click.echo(f"torn: {path}: {why}", err=True)
