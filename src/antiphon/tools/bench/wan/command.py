"""`antiphon bench wan`: the papers' evaluation on an emulated wide area."""

import sys

import click
from rich.console import Console

from antiphon.core.errors import AntiphonError
from antiphon.tools.bench.outcome import tell
from antiphon.tools.bench.progress import saying
from antiphon.tools.bench.reception import BenchFailed
from antiphon.tools.bench.strain import Watch
from antiphon.tools.bench.wan.catalogue import EXPERIMENTS
from antiphon.tools.bench.wan.experiment import Bench
from antiphon.tools.chaos.namespaces import require_programs


@click.command()
@click.option(
    "--only",
    "names",
    multiple=True,
    type=click.Choice(list(EXPERIMENTS)),
    help="This experiment; can be repeated. All if not said.",
)
@click.option(
    "--messages",
    type=click.IntRange(20),
    default=10_000,
    show_default=True,
    help="Of 1024 bytes, in each stream.",
)
@click.option(
    "--trips", type=click.IntRange(2), default=30, show_default=True, help="Round trips in a row."
)
@click.option(
    "--seconds",
    type=click.FloatRange(2),
    default=60.0,
    show_default=True,
    help="Of what is measured by time.",
)
@click.option("--seed", type=int, default=7, show_default=True, help="Draws losses and jitter.")
@click.option("--json", "as_json", is_flag=True, help="One object of JSON for each experiment.")
def wan(
    names: tuple[str, ...], messages: int, trips: int, seconds: float, seed: int, as_json: bool
) -> None:
    """The evaluation of seeds 000 and 001 with real daemons on emulated links.

    Tables have the papers' numbers beside ours; statements hold or do not. Needs root.

    \b
    Examples:
      antiphon bench wan --only table3
      antiphon bench wan --only fairness --seconds 20
      antiphon bench wan --messages 500 --json

    \b
    Exit codes:
      0  every statement holds
      1  one does not, or an experiment failed
      2  wrong usage
    """
    stderr = Console(stderr=True, highlight=False)
    is_fine = True
    try:
        with stderr.status("starting") as status:
            require_programs(status.update)
            for name in names or EXPERIMENTS:
                bench = Bench(messages, trips, seconds, seed, saying(status.update, name))
                bench.say(EXPERIMENTS[name].summary)
                watch = Watch()
                outcome = EXPERIMENTS[name].run(bench)
                is_fine &= all(one.holds for one in outcome.statements)
                heading = f"{name}: {EXPERIMENTS[name].summary}"
                tell(name, heading, outcome, watch.strain(), as_json)
    except BenchFailed as error:
        click.echo(f"antiphon bench wan: {error}", err=True)
        sys.exit(1)
    except AntiphonError as error:
        raise click.UsageError(str(error)) from None
    sys.exit(0 if is_fine else 1)
