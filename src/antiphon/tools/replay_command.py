"""`antiphon sim run` and `antiphon sim digest`: one run again."""

import sys
from pathlib import Path
from typing import Any

import click

from antiphon.sim.swarm import draw
from antiphon.sim.trial import play
from antiphon.tools.sim_command import run_one
from antiphon.tools.sim_options import (
    choice_of,
    mutant_option,
    planter_of,
    read_trial,
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
@click.option("--seed", type=click.IntRange(min=0), required=True)
def digest(seed: int) -> None:
    """Print a number for all that happened in a seed.

    It is the same on every machine and under every PYTHONHASHSEED.
    """
    played, _ = play(draw(seed))
    click.echo(played.digest())
