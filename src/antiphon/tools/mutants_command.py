"""`antiphon sim mutants`: plant known bugs, one at a time, and see that each is caught."""

import os
import subprocess
import sys

import click
import msgspec
from rich import box
from rich.console import Console
from rich.table import Table

from antiphon.sim.mutants import MUTANTS
from antiphon.sim.mutants.hunt import PROMISES_OWED, Chase, chase_all, unsound
from antiphon.sim.mutants.seeds import SEEDS


@click.command()
@click.option("--quick", is_flag=True, help="Begin with the seed that is known to catch it.")
@click.option("--only", multiple=True, metavar="NAME", help="Plant this mutant; can be repeated.")
@click.option("--jobs", type=click.IntRange(min=1), help="Processes; as many as cores if not said.")
@click.option("--json", "as_json", is_flag=True, help="End with one line of JSON.")
@click.option("--list", "only_list", is_flag=True, help="Tell what the mutants do wrong.")
def mutants(
    quick: bool, only: tuple[str, ...], jobs: int | None, as_json: bool, only_list: bool
) -> None:
    """Plant protocol bugs, one at a time: a judge must name a promise for each.

    Each mutant runs on the seeds of the swarm, from 0 on, until its records show a broken
    promise where the node without it keeps them all. Assertions of the machines are off.
    """
    unknown = [name for name in only if name not in MUTANTS]
    if unknown:
        raise click.UsageError(f"there is no mutant {unknown[0]!r}; see --list")
    if only_list:
        _print_list(Console(highlight=False))
        return
    if __debug__:
        sys.exit(_without_assertions(quick, only, jobs, as_json))
    sys.exit(_hunt(list(only or MUTANTS), quick, bool(only), jobs or os.cpu_count() or 1, as_json))


def _without_assertions(quick: bool, only: tuple[str, ...], jobs: int | None, as_json: bool) -> int:
    command = [sys.executable, "-O", "-m", "antiphon", "sim", "mutants"]
    command += ["--quick"] * quick + ["--json"] * as_json
    command += [f"--jobs={jobs}"] if jobs else []
    command += [f"--only={name}" for name in only]
    return subprocess.run(command, check=False).returncode


def _hunt(names: list[str], quick: bool, partly: bool, jobs: int, as_json: bool) -> int:
    console = Console(highlight=False, soft_wrap=True)
    chases: list[Chase] = []
    for chase in chase_all(names, quick, jobs):
        chases.append(chase)
        if console.is_terminal:
            console.print(f"{len(chases)}/{len(names)} {_said(chase)}", markup=False)
    chases.sort(key=lambda chase: names.index(chase.mutant))
    _print_chases(chases, console)
    blind = [] if partly else _print_promises(chases, console)
    tried = max((chase.tried for chase in chases), default=0)
    failing = [] if quick else unsound(range(tried), jobs)
    if failing:
        console.print(f"the node without a mutant breaks promises on seeds {failing}")
    survivors = [chase.mutant for chase in chases if not chase.caught]
    for name in survivors:
        console.print(f"{name} survived: {MUTANTS[name].sentence}", markup=False)
    if as_json:
        figures = {
            "planted": len(chases),
            "caught": len(chases) - len(survivors),
            "survivors": survivors,
            "promises_without_mutant": blind,
            "seeds_failing_without_mutant": failing,
        }
        click.echo(msgspec.json.encode(figures))
    return 1 if survivors or blind or failing else 0


def _said(chase: Chase) -> str:
    if chase.seed is None:
        return f"{chase.mutant} survived {chase.tried} seeds"
    return f"{chase.mutant} caught by {chase.promises[0]} on seed {chase.seed}"


def _print_chases(chases: list[Chase], console: Console) -> None:
    table = Table("mutant", "area", "caught by", "seed", "seconds", "broken too", box=box.SIMPLE)
    for chase in chases:
        table.add_row(
            chase.mutant,
            MUTANTS[chase.mutant].area,
            chase.promises[0] if chase.promises else "SURVIVED",
            "" if chase.seed is None else str(chase.seed),
            f"{chase.seconds:.1f}",
            " ".join(sorted(chase.promises[1:])),
        )
    console.print(table)
    stale = [one for one in chases if one.caught and SEEDS.get(one.mutant) != one.seed]
    if stale:
        console.print("seeds.py knows others than these:")
        for chase in stale:
            console.print(f'    "{chase.mutant}": {chase.seed},', markup=False)


def _print_promises(chases: list[Chase], console: Console) -> list[str]:
    """Who caught what; the D and S promises that caught nothing."""
    broken: dict[str, list[str]] = {promise: [] for promise in PROMISES_OWED}
    for chase in chases:
        for promise in chase.promises:
            broken.setdefault(promise, []).append(chase.mutant)
    table = Table("promise", "mutants", "among them", box=box.SIMPLE)
    for promise, names in sorted(broken.items()):
        table.add_row(promise, str(len(names)), " ".join(names[:3]) or "NONE")
    console.print(table)
    return [promise for promise, names in broken.items() if not names]


def _print_list(console: Console) -> None:
    table = Table("mutant", "area", "what it does wrong", box=box.SIMPLE)
    for mutant in MUTANTS.values():
        table.add_row(mutant.name, mutant.area, mutant.sentence)
    console.print(table)
