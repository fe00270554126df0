"""`antiphon pipeline report`."""

from pathlib import Path

import click

from antiphon.core.errors import UsageError
from antiphon.pipeline.report.report import report as make
from antiphon.tools.pipeline_job import show


@click.command()
@click.argument("places", type=click.Path(exists=True, file_okay=False, path_type=Path), nargs=-1)
@click.option(
    "--bench",
    "benches",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="What `antiphon bench wan --json` printed; can be repeated.",
)
@click.option("--title", default="Antiphon report", show_default=True)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("report.html"),
    show_default=True,
)
@click.option("--json", "as_json", is_flag=True, help="One object of JSON, nothing else.")
def report(
    places: tuple[Path, ...], benches: tuple[Path, ...], title: str, out: Path, as_json: bool
) -> None:
    """One page of HTML with tables and plots, for a run, a campaign, or beside the papers.

    PLACES are tables with figures in them: those of `antiphon pipeline measure` and `campaign`.
    The page needs nothing beside it, and no Spark is started for it.

    \b
    antiphon pipeline report tables --out run.html
    antiphon pipeline report loss --title "Loss and merging" --out loss.html
    antiphon pipeline report --bench wan.json --out papers.html
    """
    if not places and not benches:
        raise click.UsageError("name tables, or --bench with what a bench has printed")
    try:
        page = make(places, benches, title)
    except UsageError as error:
        raise click.UsageError(str(error)) from None
    out.write_text(page.html())
    sections = [{"title": one.title} for one in page.sections]
    show({"report": str(out), "sections": sections}, as_json)
