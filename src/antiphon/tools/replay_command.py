"""`antiphon sim run` and `antiphon sim digest`: one run again."""

import sys
from pathlib import Path
from typing import Any

import click

from antiphon.sim.sites_swarm import draw_trial
from antiphon.sim.trial import play
from antiphon.tools.sim_command import run_one
from antiphon.tools.sim_options import (
    SeedRange,
    choice_of,
    mutant_option,
    planter_of,
    read_trial,
    sites_option,
    timeline_options,
)


@click.command("run")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@timeline_options
@mutant_option
def run_file(file: Path, mutant: str | None, **shown: Any) -> None:
    """Run a script; print its timeline and the verdict."""
    sys.exit(run_one(read_trial(file), choice_of(shown), planter_of(mutant)))


@click.command()
@click.option("--seed", type=click.IntRange(min=0), help="Of one seed.")
@click.option("--seeds", type=SeedRange(), help="Of several, each on a line with its seed.")
@sites_option
def digest(seed: int | None, seeds: range | None, sites: bool) -> None:
    """Print a number for all that happened in a seed.

    It is the same on every machine and under every PYTHONHASHSEED.
    """
    if (seeds is None) == (seed is None):
        raise click.UsageError("give --seed N or --seeds A:B")
    if seed is not None:
        click.echo(play(draw_trial(sites, seed))[0].digest())
    for each in seeds or ():
        click.echo(f"{each} {play(draw_trial(sites, each))[0].digest()}")
