"""`antiphon chaos`: real daemons and clients under real faults, and whether all promises held."""

import shutil
import sys
import tempfile
from pathlib import Path

import click
import msgspec

from antiphon.core.errors import AntiphonError
from antiphon.sim.mutants import MUTANTS
from antiphon.tools.chaos.run import Plan, look_at, perform
from antiphon.tools.chaos.verdict import Verdict, print_verdict, reach_verdict


@click.command()
@click.option("--seconds", default=180.0, show_default=True, help="How long it runs.")
@click.option("--seed", default=7, show_default=True, help="Draws the faults.")
@click.option("--daemons", type=click.IntRange(2, 9), default=5, show_default=True)
@click.option(
    "--sites",
    type=click.IntRange(1, 9),
    default=1,
    show_default=True,
    help="Daemons stand in so many sites, which are cut, killed and slowed down, too.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 16),
    default=2,
    show_default=True,
    help="Client processes at each daemon.",
)
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="So many runs, each with the next seed, until one fails.",
)
@click.option("--no-faults", is_flag=True, help="Leave everything in peace.")
@click.option(
    "--mutant",
    type=click.Choice(sorted(MUTANTS)),
    metavar="NAME",
    help="Plant a bug in one daemon; see `antiphon sim mutants`.",
)
@click.option(
    "--directory",
    type=click.Path(path_type=Path),
    help="For all files, in a folder for each seed; kept.",
)
@click.option("--json", "as_json", is_flag=True, help="End with one line of JSON.")
def chaos(
    seconds: float,
    seed: int,
    daemons: int,
    sites: int,
    workers: int,
    runs: int,
    no_faults: bool,
    mutant: str | None,
    directory: Path | None,
    as_json: bool,
) -> None:
    """Run daemons in network namespaces, with clients that send with every service; kill, stop,
    cut and lose; then judge what all of them recorded.

    Needs root. The faults are drawn from the seed; what they hit is real, and differs from one
    run to the next.

    \b
    Examples:
      antiphon chaos --seconds 30
      antiphon chaos --seconds 300 --runs 12
      antiphon chaos --seconds 60 --daemons 6 --sites 3
      antiphon chaos --seconds 30 --mutant agreed-on-arrival

    \b
    Exit codes:
      0  every promise was kept
      1  a promise was broken, a process ended by itself, or rows are missing
      2  wrong usage, or this machine does not allow it
    """
    for number in range(seed, seed + runs):
        try:
            plan = Plan(seconds, number, daemons, workers, mutant or "", not no_faults, sites)
            verdict = _run(plan, directory and directory / f"seed{number}")
        except AntiphonError as error:
            raise click.UsageError(str(error)) from error
        if as_json:
            click.echo(msgspec.json.encode({"seed": number, **verdict.figures()}).decode())
        if verdict.failed:
            sys.exit(1)


def _run(plan: Plan, directory: Path | None) -> Verdict:
    """One run, told as it goes. Its files stay if it failed, or if a place for them was named."""
    where = Path(tempfile.mkdtemp(prefix="antiphon-chaos-")) if directory is None else directory
    click.echo(f"seed {plan.seed}, files in {where}")
    deeds = perform(plan, where, click.echo)
    click.echo("judging")
    verdict = reach_verdict(where / "records", deeds)
    print_verdict(verdict)
    if verdict.failed:
        click.echo(f"FAILED; to look at it: {look_at(where)}")
        return verdict
    click.echo("every promise was kept")
    if directory is None:
        shutil.rmtree(where)
    return verdict
