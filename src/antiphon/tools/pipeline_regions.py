"""`antiphon pipeline regions`."""

from pathlib import Path
from typing import Any

import click

from antiphon.tools.pipeline_job import job_options, running

PROFILE_NODES = 500
GROUPS_PER_NODE = 50
GROUPS = 10_000


@click.command()
@click.argument("subscriptions", type=click.Path(exists=True, path_type=Path), required=False)
@click.option(
    "--draw",
    type=click.IntRange(min=PROFILE_NODES),
    help="Instead of a table: nodes with a known structure and noise.",
)
@click.option(
    "--noise", default=0.3, show_default=True, help="With --draw: nodes with an odd interest."
)
@click.option(
    "--rates", type=click.Path(exists=True, path_type=Path), help="Table of group and rate."
)
@click.option("--most", type=click.IntRange(min=1), help="Regions at most; as cheap as can be.")
@click.option("--loss", default=0.01, show_default=True, help="Of packets.")
@click.option("--token", default=1.0, show_default=True, help="Rounds in a second.")
@click.option("--play", default=2_000, show_default=True, help="Messages that try the plan; or 0.")
@click.option("--into", type=click.Path(path_type=Path), required=True, help="Where tables are.")
@job_options
def regions(
    subscriptions: Path | None,
    draw: int | None,
    noise: float,
    rates: Path | None,
    most: int | None,
    loss: float,
    token: float,
    play: int,
    into: Path,
    **options: Any,
) -> None:
    """Find regions: nodes that should hear the messages of their groups together.

    SUBSCRIPTIONS is a table with the columns `node` and `group`, a row for each interest of a
    node: a folder of Parquet files, or a file of CSV with a head line.
    """
    if (subscriptions is None) == (draw is None):
        raise click.UsageError("name a table of SUBSCRIPTIONS, or --draw some")
    with running("regions", options) as (spark, show):
        from antiphon.pipeline.reading import read_table
        from antiphon.pipeline.regions import job
        from antiphon.pipeline.regions.cost import Prices
        from antiphon.pipeline.regions.synthetic import synthetic_subscriptions

        if subscriptions is not None:
            told = read_table(spark, subscriptions, job.SUBSCRIBED)
        else:
            assert draw is not None
            drawn = into / "drawn"
            shape = (draw, draw // PROFILE_NODES, GROUPS, GROUPS_PER_NODE, noise)
            table = synthetic_subscriptions(spark, *shape)
            table.write.mode("overwrite").parquet(str(drawn))
            told = spark.read.parquet(str(drawn))
        paid = read_table(spark, rates, ("group", "rate")) if rates else job.no_rates(told)
        wish = job.Wish(most, Prices(loss=loss, token=token), play)
        figures = job.plan_regions(spark, told, paid, wish, into)
        if draw is not None:
            figures |= job.structure_found(told, spark.read.parquet(str(into / job.NODES)))
        show(figures)
