"""`antiphon bench growth`: what more groups, daemons, sessions, receivers and records cost."""

import importlib.util
import sys
from pathlib import Path

import click
from rich.console import Console

from antiphon.core.errors import AntiphonError
from antiphon.tools.bench.growth.catalogue import EXPERIMENTS
from antiphon.tools.bench.growth.lines import Line, lines_of, outcome_of
from antiphon.tools.bench.growth.plot import draw
from antiphon.tools.bench.growth.turns import run_turns
from antiphon.tools.bench.outcome import tell
from antiphon.tools.bench.progress import saying
from antiphon.tools.bench.reception import BenchFailed
from antiphon.tools.bench.strain import Watch


@click.command()
@click.option(
    "--only",
    "names",
    multiple=True,
    type=click.Choice(list(EXPERIMENTS)),
    help="This experiment; can be repeated. All if not said.",
)
@click.option("--seconds", type=click.FloatRange(0.1), default=3.0, show_default=True)
@click.option(
    "--runs", type=click.IntRange(1), default=5, show_default=True, help="Of each point, by turns."
)
@click.option("--most", type=click.IntRange(1), help="Leave out what is larger.")
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw it all into this file, as SVG. Needs Matplotlib.",
)
@click.option("--json", "as_json", is_flag=True, help="One object of JSON for each experiment.")
def growth(
    names: tuple[str, ...],
    seconds: float,
    runs: int,
    most: int | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """How cost grows: with groups, daemons, idle sessions, receivers, and what is recorded.

    Points of an experiment are measured by turns, and each is compared with the first one.
    Statements hold or do not.

    \b
    Examples:
      antiphon bench growth --only groups
      antiphon bench growth --only receivers --most 25
      antiphon bench growth --plot growth.svg

    \b
    Exit codes:
      0  every statement holds
      1  one does not, or a message was wrong or missing
      2  wrong usage
    """
    if plot is not None and importlib.util.find_spec("matplotlib") is None:
        raise click.UsageError("--plot needs Matplotlib; install antiphon[spark]")
    found: dict[str, list[Line]] = {}
    is_fine = True
    try:
        with Console(stderr=True, highlight=False).status("starting") as status:
            for name in dict.fromkeys(names or EXPERIMENTS):
                experiment = EXPERIMENTS[name].up_to(most)
                watch = Watch()
                measured = run_turns(experiment, runs, seconds, saying(status.update, name))
                found[name] = lines_of(experiment, measured)
                outcome = outcome_of(experiment, found[name])
                is_fine &= all(one.holds for one in outcome.statements)
                tell(name, name, outcome, watch.strain(), as_json)
    except BenchFailed as error:
        click.echo(f"antiphon bench growth: {error}", err=True)
        sys.exit(1)
    except AntiphonError as error:
        raise click.UsageError(str(error)) from None
    if plot is not None:
        plot.parent.mkdir(parents=True, exist_ok=True)
        plot.write_text(draw(found, EXPERIMENTS))
    sys.exit(0 if is_fine else 1)
