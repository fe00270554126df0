"""`antiphon pipeline campaign`."""

import sys
from pathlib import Path
from typing import Any

import click
import rich.progress
from rich.console import Console

from antiphon.core.errors import ConfigError
from antiphon.pipeline.session import cores
from antiphon.pipeline.small import replace
from antiphon.sim.grid import SPLIT_AND_MERGE, Scenario, cells, read_axis
from antiphon.tools.pipeline_job import job_options, running
from antiphon.tools.sim_options import SeedRange, read_trial


@click.command()
@click.argument("script", type=click.Path(exists=True, dir_okay=False, path_type=Path), nargs=-1)
@click.option("--seeds", type=SeedRange(), required=True, help="Of each cell, from A up to B.")
@click.option(
    "--vary",
    "axes",
    metavar="SETTING=V,W",
    multiple=True,
    help="An axis of the grid, as network.loss=0,0.01; can be repeated.",
)
@click.option("--swarm", is_flag=True, help="What antiphon sim draws from the seed.")
@click.option("--sites", is_flag=True, help="What antiphon sim --sites draws from it.")
@click.option("--mutant", default="", help="Plant this mutant in every node.")
@click.option("--into", type=click.Path(path_type=Path), required=True, help="Where tables are.")
@job_options
def campaign(
    script: tuple[Path, ...],
    seeds: range,
    axes: tuple[str, ...],
    swarm: bool,
    sites: bool,
    mutant: str,
    into: Path,
    **options: Any,
) -> None:
    """Play simulations over a grid of settings and many seeds, each judged where it ran.

    SCRIPT is the scenario, in the language of `antiphon sim run`; without one five daemons are
    split and merged under load. Stopped at any time it goes on where it was when called again.

    \b
    antiphon pipeline campaign --seeds 0:500 --vary network.loss=0,0.01,0.05,0.1 --into loss
    antiphon pipeline campaign --swarm --seeds 0:2000 --into swarm
    """
    if len(script) + swarm + sites > 1:
        raise click.UsageError("name one SCRIPT, or --swarm, or --sites")
    text = str(read_trial(script[0])) if script else SPLIT_AND_MERGE
    drawn = "sites" if sites else "one-site" if swarm else ""
    try:
        grid = cells(map(read_axis, axes))
    except ConfigError as error:
        raise click.UsageError(str(error)) from None
    with running("campaign", options, bars=False) as (spark, show):
        from antiphon.pipeline.campaign.failures import keep_failures
        from antiphon.pipeline.campaign.plan import Plan
        from antiphon.pipeline.campaign.summary import latencies, outcomes
        from antiphon.pipeline.campaign.waves import play_campaign

        plan = Plan(Scenario(text, drawn), grid, seeds, mutant)
        with Bar() as bar:
            runs = play_campaign(spark, plan, into, cores(options["master"]), bar.update)
        tables = {"outcomes": outcomes(runs), "latencies": latencies(runs)}
        rows = {name: replace(table.toArrow(), into / name) for name, table in tables.items()}
        failures = [one._asdict() for one in keep_failures(runs, plan, into)]
        show({"runs": runs.count(), "failed": len(failures), **rows, "failures": failures})
    sys.exit(1 if failures else 0)


class Bar:
    """How many runs are over: a bar on a terminal, a line now and then elsewhere."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        columns = (
            rich.progress.TextColumn("{task.completed}/{task.total} runs"),
            rich.progress.BarColumn(),
            rich.progress.TimeRemainingColumn(),
            rich.progress.TextColumn("{task.fields[failed]} failed"),
        )
        terminal = self._console.is_terminal
        self._bar = rich.progress.Progress(*columns, console=self._console, disable=not terminal)
        self._task = self._bar.add_task("", total=None, failed=0)

    def __enter__(self) -> "Bar":
        self._bar.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._bar.stop()

    def update(self, over: int, every: int, failed: int) -> None:
        self._bar.update(self._task, completed=over, total=every, failed=failed)
        if not self._console.is_terminal:
            self._console.print(f"{over} of {every} runs, {failed} failed")
