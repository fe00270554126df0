"""`antiphon sim shrink`: the smallest script that still fails."""

import shlex
import sys
from pathlib import Path

import click

from antiphon.sim.shrink import RUNS_MAX, breaks, broken, shrink
from antiphon.sim.sites_swarm import draw_trial
from antiphon.sim.trial import Trial, play
from antiphon.tools.sim_options import (
    mutant_option,
    planter_of,
    read_trial,
    sites_option,
)


@click.command("shrink")
@click.argument(
    "file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--seed", type=click.IntRange(min=0), help="Begin from this seed's scenario.")
@sites_option
@click.option("--promise", help="Which promise to keep broken; the first one if not said.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the script here.")
@click.option("--runs", type=click.IntRange(min=1), default=RUNS_MAX, show_default=True)
@mutant_option
def shrink_command(
    file: Path | None,
    seed: int | None,
    sites: bool,
    promise: str | None,
    output: Path | None,
    runs: int,
    mutant: str | None,
) -> None:
    """Find a smaller script that breaks the same promise.

    Begins from FILE or from the scenario of a seed.
    """
    if (file is None) == (seed is None):
        raise click.UsageError("give a FILE or --seed N")
    trial = read_trial(file) if file is not None else draw_trial(sites, seed or 0)
    plant = planter_of(mutant)
    _, outcome = play(trial, plant)
    found = broken(outcome)
    if not found or (promise is not None and promise not in found):
        click.echo(f"nothing to shrink: {promise or 'every promise'} is kept", err=True)
        sys.exit(1)
    wanted = promise or found[0]
    click.echo(f"shrinking {_size(trial)} that breaks {wanted}", err=True)
    smaller = shrink(trial, breaks(wanted, plant), runs, _tell)
    _print(smaller, wanted, output, mutant)


def _tell(trial: Trial, runs: int) -> None:
    click.echo(f"  run {runs}: {_size(trial)}", err=True)


def _size(trial: Trial) -> str:
    script = trial.script
    seconds = script.until / 1_000_000
    rate = script.workload.rate if script.workload else 0
    return (
        f"{len(script.steps)} steps, {script.daemons} daemons, {script.sessions} sessions, "
        f"{seconds:g} s, rate {rate:g}"
    )


def _print(trial: Trial, promise: str, output: Path | None, mutant: str | None) -> None:
    click.echo(f"# breaks {promise}")
    click.echo(str(trial), nl=False)
    if output is not None:
        output.write_text(str(trial))
    planted = f" --mutant {mutant}" if mutant else ""
    where = shlex.quote(str(output)) if output is not None else "FILE"
    click.echo(f"# run it: antiphon sim run{planted} {where}")
