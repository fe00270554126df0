"""`antiphon sim changes`: what changes of configuration cost, over a swarm of seeds."""

import os
from functools import partial

import click
import msgspec
from rich.console import Console
from rich.table import Table

from antiphon.sim.changes import Changes, Phase, measure
from antiphon.sim.pool import over
from antiphon.sim.sites_swarm import draw_trial
from antiphon.sim.trial import play
from antiphon.tools.sim_options import SeedRange, sites_option

MEASURES = ("closed", "waited", "silence")
MEANING = {
    "closed": "freeze to install, ms",
    "waited": "longest wait of a submitted message for its stamp, ms",
    "silence": "longest time without a delivery around the change, ms",
}


def _of_seed(sites: bool, seed: int) -> Changes:
    played, _ = play(draw_trial(sites, seed))
    return measure(played.records)


@click.command()
@click.option("--seeds", type=SeedRange(), default="0:50", help="Run these seeds, A up to B.")
@sites_option
@click.option("--jobs", type=click.IntRange(min=1), help="Processes; as many as cores if not said.")
@click.option("--json", "as_json", is_flag=True, help="End with one line of JSON.")
def changes(seeds: range, sites: bool, jobs: int | None, as_json: bool) -> None:
    """Measure the gaps that a change makes in submission and delivery, and show that what
    was accepted in each phase is delivered."""
    found = list(over(seeds, partial(_of_seed, sites), jobs or os.cpu_count() or 1))
    console = Console()
    figures: dict[str, float] = {"changes": sum(len(one.changes) for one in found)}
    table = Table("per change and daemon", "median", "99 %", "longest")
    for name in MEASURES:
        every = (getattr(change, name) for one in found for change in one.changes)
        values = sorted(value / 1000 for value in every if value) or [0.0]
        shown = [values[len(values) // 2], values[len(values) * 99 // 100], values[-1]]
        table.add_row(MEANING[name], *(f"{value:.1f}" for value in shown))
        figures[f"{name}_ms_median"], figures[f"{name}_ms_p99"] = shown[:2]
        figures[f"{name}_ms_max"] = shown[2]
    console.print(table)
    phases = _together(found)
    table = Table("accepted in", "messages", "delivered", "session or daemon ended", "owed")
    for state, phase in sorted(phases.items()):
        numbers = (phase.accepted, phase.delivered, phase.excused, phase.owed)
        table.add_row(state, *map(str, numbers))
        figures[f"accepted_in_{state}"] = phase.accepted
        figures[f"owed_from_{state}"] = phase.owed
    console.print(table)
    if as_json:
        click.echo(msgspec.json.encode(figures).decode())
    if any(phase.owed for phase in phases.values()):
        raise SystemExit(1)


def _together(found: list[Changes]) -> dict[str, Phase]:
    phases: dict[str, Phase] = {}
    for one in found:
        for state, phase in one.phases.items():
            sum_of = phases.setdefault(state, Phase())
            sum_of.accepted += phase.accepted
            sum_of.delivered += phase.delivered
            sum_of.excused += phase.excused
    return phases
