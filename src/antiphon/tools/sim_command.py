"""`antiphon sim`: simulated runs, judged."""

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

from antiphon.core.errors import ConfigError
from antiphon.core.machine import SECOND
from antiphon.core.trace import Kind
from antiphon.sim.pool import over
from antiphon.sim.swarm import draw
from antiphon.sim.timeline import USUAL_KINDS, Choice, timeline
from antiphon.sim.trial import Outcome, Trial, play
from antiphon.tools.sim_report import Tally, print_failure, print_tally, print_verdict


class SeedRange(click.ParamType[range]):
    """A:B, the seeds from A up to but not including B."""

    name = "A:B"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> range:
        if isinstance(value, range):
            return value
        first, colon, last = str(value).partition(":")
        if not (colon and first.isdigit() and last.isdigit() and int(first) < int(last)):
            self.fail(f"{value!r} is no range of seeds; write 0:500", param, ctx)
        return range(int(first), int(last))


class Kinds(click.ParamType[tuple[Kind, ...]]):
    """Kinds of records, with commas; + adds to the usual ones, `all` is all."""

    name = "KINDS"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Kind, ...]:
        if isinstance(value, tuple):
            return value
        text = str(value)
        if text == "all":
            return tuple(Kind)
        usual = USUAL_KINDS if text.startswith("+") else ()
        try:
            return (*usual, *map(Kind, text.removeprefix("+").split(",")))
        except ValueError:
            known = ", ".join(kind.value for kind in Kind)
            self.fail(f"{text!r} names no kinds; use all or some of {known}", param, ctx)


def timeline_options(command: Callable[..., None]) -> Callable[..., None]:
    """What to show of a run."""
    for option in (
        click.option("--to", "last", type=float, help="Timeline up to this second."),
        click.option("--from", "first", type=float, help="Timeline from this second on."),
        click.option("--daemon", type=int, multiple=True, help="Timeline of this daemon."),
        click.option("--kinds", type=Kinds(), help="Records of these kinds: all, view,hand, +send"),
        click.option("--width", type=int, default=0, help="Cut lines of the timeline to this."),
    ):
        command = option(command)
    return command


def choice_of(
    kinds: tuple[Kind, ...] | None, daemon: tuple[int, ...], first: float | None, last: float | None
) -> Choice:
    choice = Choice(kinds or USUAL_KINDS, daemon)
    if first is not None:
        choice = replace(choice, first_us=int(first * SECOND))
    if last is not None:
        choice = replace(choice, last_us=int(last * SECOND))
    return choice


@click.group(invoke_without_command=True)
@click.option("--seeds", type=SeedRange(), help="Run these seeds, from A up to B.")
@click.option("--seed", type=click.IntRange(min=0), help="Run one seed.")
@click.option("--jobs", type=click.IntRange(min=1), default=None, help="Processes; default: cores.")
@click.option("--json", "as_json", is_flag=True, help="End with one line of JSON.")
@click.option("--timeline", "show", is_flag=True, help="With --seed: print what happened.")
@click.option("--script", is_flag=True, help="With --seed: print its script, run nothing.")
@timeline_options
@click.pass_context
def sim(
    context: click.Context,
    seeds: range | None,
    seed: int | None,
    jobs: int | None,
    as_json: bool,
    show: bool,
    script: bool,
    width: int,
    kinds: tuple[Kind, ...] | None,
    daemon: tuple[int, ...],
    first: float | None,
    last: float | None,
) -> None:
    """Run simulated groups under faults and judge what they did."""
    if context.invoked_subcommand is not None:
        return
    if (seeds is None) == (seed is None):
        raise click.UsageError("give --seeds A:B, or --seed N, or a command; see --help")
    if seeds is not None:
        sys.exit(run_swarm(seeds, jobs or os.cpu_count() or 1, as_json))
    assert seed is not None
    if script:
        click.echo(str(draw(seed)), nl=False)
        return
    chosen = choice_of(kinds, daemon, first, last) if show else None
    sys.exit(run_one(draw(seed), chosen, width))


def run_swarm(seeds: range, jobs: int, as_json: bool) -> int:
    tally = Tally()
    try:
        for outcome in over(seeds, run_seed, jobs):
            tally.add(outcome)
            if outcome.failed:
                print_failure(outcome)
    except KeyboardInterrupt:
        click.echo(f"stopped after {tally.seeds} seeds", err=True)
    print_tally(tally, as_json)
    return 1 if tally.failed else 0


def run_seed(seed: int) -> Outcome:
    _, outcome = play(draw(seed))
    return outcome


def run_one(trial: Trial, choice: Choice | None, width: int) -> int:
    played, outcome = play(trial)
    if choice is not None:
        for text in timeline(played.records, choice, width):
            click.echo(text)
    print_verdict(outcome)
    return 1 if outcome.failed else 0


@sim.command("run")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@timeline_options
def run_file(
    file: Path,
    width: int,
    kinds: tuple[Kind, ...] | None,
    daemon: tuple[int, ...],
    first: float | None,
    last: float | None,
) -> None:
    """Run a script; print its timeline and the verdict."""
    sys.exit(run_one(read_trial(file), choice_of(kinds, daemon, first, last), width))


def read_trial(file: Path) -> Trial:
    from antiphon.sim.trial import parse_trial

    try:
        return parse_trial(file.read_text())
    except ConfigError as error:
        raise click.UsageError(f"{file}: {error}") from None
