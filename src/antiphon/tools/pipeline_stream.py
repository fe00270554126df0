"""`antiphon pipeline stream`."""

from pathlib import Path
from typing import Any

import click

from antiphon.tools.pipeline_job import job_options, running


@click.command()
@click.argument("groups", nargs=-1, required=True)
@click.option(
    "--connect", required=True, metavar="ADDRESSES", help="Daemons, with commas between them."
)
@click.option("--token", default="", help="A secret that the daemons' token file knows.")
@click.option("--select", multiple=True, metavar="SQL", help="A column; can be repeated.")
@click.option("--where", default="", metavar="SQL", help="Only rows for which this holds.")
@click.option("--to", "to_group", default="", metavar="GROUP", help="Multicast the payloads.")
@click.option("--parquet", type=click.Path(path_type=Path), help="Write files into a folder.")
@click.option("--checkpoint", type=click.Path(path_type=Path), help="Remembers how far it came.")
@click.option("--start", default="earliest", show_default=True, help="Or latest, or JSON.")
@click.option("--max-rows", type=click.IntRange(1), help="Of one batch.")
@click.option(
    "--on-gap",
    type=click.Choice(["fail", "skip"]),
    default="fail",
    show_default=True,
    help="What no daemon can give any more.",
)
@click.option("--once", is_flag=True, help="End with what is there.")
@job_options
def stream(groups: tuple[str, ...], to_group: str, parquet: Path | None, **options: Any) -> None:
    """Read the logs of kept GROUPS, transform the rows by SQL, and send or store them.

    Columns are group, branch, sequence, sender, number, service, kind, producer, key and payload.
    Without --to and --parquet rows are shown. Ctrl-C ends it; with the same --checkpoint it goes
    on where it was.

    \b
    Examples:
      antiphon pipeline stream orders --connect 4803 --once
      antiphon pipeline stream orders --connect 4803@a,4803@b --checkpoint state \\
          --select "upper(cast(payload as string)) as payload" --to loud
    """
    if to_group and parquet:
        raise click.UsageError("--to and --parquet; choose one")
    from antiphon.pipeline.stream.copy import Copy, outcome, start

    source = {"connect": options["connect"], "group": ",".join(groups), "onGap": options["on_gap"]}
    source |= {"startingOffsets": options["start"]}
    if options["token"]:
        source["token"] = options["token"]
    if options["max_rows"]:
        source["maxRowsPerBatch"] = str(options["max_rows"])
    copy = Copy(
        source,
        options["select"],
        options["where"],
        to_group,
        parquet,
        options["checkpoint"],
        options["once"],
    )
    with running("stream", options, bars=False) as (spark, show):
        query = start(spark, copy)
        try:
            query.awaitTermination()
        except KeyboardInterrupt:
            query.stop()
        except Exception:  # told below, in fewer lines
            pass
        show(outcome(query))
