"""`antiphon sim`: simulated runs, judged. With --seeds a swarm of them, with --seed one."""

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import click

from antiphon.protocol.node import Node
from antiphon.sim.endings import Endings
from antiphon.sim.pool import over
from antiphon.sim.reach import Counts, Recorder
from antiphon.sim.sites_reach import count_sites
from antiphon.sim.sites_swarm import draw_trial
from antiphon.sim.timeline import Choice, timeline
from antiphon.sim.trial import Outcome, Planter, Trial, play
from antiphon.sim.unreached import findings
from antiphon.tools.cli import LazyCommand, LazyGroup
from antiphon.tools.compiled import require_python
from antiphon.tools.sim_options import (
    SeedRange,
    choice_of,
    mutant_option,
    planter_of,
    sites_option,
    timeline_options,
)
from antiphon.tools.sim_report import Progress, Tally, print_reach, print_tally, print_verdict

COMMANDS = {
    "big": LazyCommand(
        "antiphon.tools.big_command:big",
        "Run many sites of many daemons: what forming, working and losing some costs.",
    ),
    "changes": LazyCommand(
        "antiphon.tools.changes_command:changes",
        "Measure the gaps that changes make in submission and delivery.",
    ),
    "demo": LazyCommand(
        "antiphon.tools.demo_command:demo",
        "See a group form, split and merge, with the verdict of the judges.",
    ),
    "digest": LazyCommand(
        "antiphon.tools.replay_command:digest", "Print a number for all that happened in a seed."
    ),
    "mutants": LazyCommand(
        "antiphon.tools.mutants_command:mutants", "Plant protocol bugs: each must be caught."
    ),
    "run": LazyCommand(
        "antiphon.tools.replay_command:run_file",
        "Run a script; print its timeline and the verdict.",
    ),
    "shrink": LazyCommand(
        "antiphon.tools.shrink_command:shrink_command",
        "Find a smaller script that breaks the same promise.",
    ),
}


Work = Callable[[int], tuple[Outcome, Counts]]


@click.group(cls=LazyGroup, lazy=COMMANDS, invoke_without_command=True)
@click.option("--seeds", type=SeedRange(), help="Run these seeds, from A up to B.")
@sites_option
@click.option("--jobs", type=click.IntRange(min=1), help="Processes; as many as cores if not said.")
@click.option("--json", "as_json", is_flag=True, help="End with one line of JSON.")
@click.option("--reach", is_flag=True, help="Count which states met which events.")
@click.option("--seed", type=click.IntRange(min=0), help="Run one seed.")
@click.option("--script", is_flag=True, help="With --seed: print its script and run nothing.")
@click.option("--timeline", "show", is_flag=True, help="With --seed: print what happened.")
@timeline_options
@mutant_option
@click.pass_context
def sim(
    context: click.Context,
    /,
    seeds: range | None,
    sites: bool,
    jobs: int | None,
    as_json: bool,
    reach: bool,
    seed: int | None,
    script: bool,
    show: bool,
    mutant: str | None,
    **shown: Any,
) -> None:
    """Run simulated groups under faults and judge what they did.

    \b
    antiphon sim --seeds 0:500             five hundred scenarios, each drawn from its seed
    antiphon sim --seeds 0:500 --reach     and what of the protocol they met
    antiphon sim --sites --seeds 0:500     scenarios of several sites
    antiphon sim --seed 7 --timeline       one of them, line by line
    antiphon sim --seed 7 --script         its script, to be changed and run as a file
    """
    if context.invoked_subcommand is not None:
        return
    if (seeds is None) == (seed is None):
        raise click.UsageError("give --seeds A:B, or --seed N, or a command; see --help")
    if seeds is not None:
        work = partial(run_seed, sites, reach, mutant)
        if reach:
            require_python("--reach")
        planter_of(mutant)  # an unknown one is refused here, not in every process
        tally, counts = run_swarm(seeds, work, jobs or os.cpu_count() or 1)
        missed = print_reach(findings(counts, tally.seeds, sites)) if reach else 0
        print_tally(tally, as_json)
        sys.exit(1 if tally.failed or missed or tally.seeds < len(seeds) else 0)
    assert seed is not None
    trial = draw_trial(sites, seed)
    if script:
        click.echo(str(trial), nl=False)
        return
    sys.exit(run_one(trial, choice_of(shown) if show else None, planter_of(mutant)))


def run_swarm(seeds: range, work: Work, jobs: int) -> tuple[Tally, Counts]:
    """All seeds, with failures as they come; what came of them."""
    tally = Tally()
    total: Counts = Counts()
    with Progress(len(seeds)) as progress:
        try:
            for outcome, counts in over(seeds, work, jobs):
                tally.add(outcome)
                total += counts
                progress.show(outcome, tally)
        except KeyboardInterrupt:
            progress.say(f"stopped after {tally.seeds} of {len(seeds)} seeds")
    return tally, total


def run_seed(sites: bool, reach: bool, mutant: str | None, seed: int) -> tuple[Outcome, Counts]:
    """One seed in a process of the pool."""
    plant = planter_of(mutant)
    trial = draw_trial(sites, seed)
    if not reach:
        return play(trial, plant)[1], Counts()
    recorder = Recorder(plant)
    endings = Endings(recorder.counts)

    def listen(node: Node) -> None:
        recorder.plant(node)
        endings.plant(node)

    played, outcome = play(trial, listen)
    recorder.add_records(played.records)
    if sites:
        recorder.counts.update(count_sites(played.script, played.records))
    return outcome, recorder.counts


def run_one(trial: Trial, choice: Choice | None, plant: Planter | None) -> int:
    """One trial with its timeline, if chosen, and the verdict; the exit code."""
    played, outcome = play(trial, plant)
    if choice is not None:
        for text in timeline(played.records, choice):
            click.echo(text)
    print_verdict(outcome)
    return 1 if outcome.failed else 0
