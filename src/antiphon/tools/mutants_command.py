"""`antiphon sim mutants`: plant known bugs, one at a time, and see that each is caught."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import click
import msgspec
from rich import box
from rich.console import Console
from rich.table import Table

from antiphon.sim.mutants import MUTANTS, seeds
from antiphon.sim.mutants.hunt import PROMISES_OWED, Chase, chase_all, unsound
from antiphon.sim.mutants.seeds import SEEDS
from antiphon.tools.compiled import require_python

SEEDS_FILE = Path(seeds.__file__)
FILE_WIDTH = 120
"""Of the tables where no terminal says how wide it is."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What the command was asked for."""

    quick: bool
    sites: bool
    only: tuple[str, ...]
    jobs: int
    as_json: bool
    remember: bool

    @property
    def names(self) -> list[str]:
        return list(self.only or MUTANTS)

    def command(self) -> list[str]:
        """That asks for the same, with assertions switched off."""
        command = [sys.executable, "-O", "-m", "antiphon", "sim", "mutants"]
        command += ["--quick"] * self.quick + ["--json"] * self.as_json
        command += ["--remember"] * self.remember + ["--sites"] * self.sites
        return [*command, f"--jobs={self.jobs}", *(f"--only={name}" for name in self.only)]


@click.command()
@click.option("--quick", is_flag=True, help="Begin with the seed that is known to catch it.")
@click.option("--sites", is_flag=True, help="Chase all of them over several sites.")
@click.option("--only", multiple=True, metavar="NAME", help="Plant this mutant; can be repeated.")
@click.option("--jobs", type=click.IntRange(min=1), help="Processes; as many as cores if not said.")
@click.option("--json", "as_json", is_flag=True, help="End with one line of JSON.")
@click.option("--remember", is_flag=True, help="Write down which seeds caught them, for --quick.")
@click.option("--list", "only_list", is_flag=True, help="Tell what the mutants do wrong.")
def mutants(
    quick: bool,
    sites: bool,
    only: tuple[str, ...],
    jobs: int | None,
    as_json: bool,
    remember: bool,
    only_list: bool,
) -> None:
    """Plant protocol bugs, one at a time: a judge must name a promise for each.

    Each mutant runs on the seeds of its swarm, from 0 on, until its records show a broken
    promise where the node without it keeps them all: of the swarm over sites if it shows only
    there. Assertions of the machines are off.
    """
    unknown = [name for name in only if name not in MUTANTS]
    if unknown:
        raise click.UsageError(f"there is no mutant {unknown[0]!r}; see --list")
    if only_list:
        _print_list(Console(highlight=False))
        return
    require_python("planting")
    wish = Wish(quick, sites, only, jobs or os.cpu_count() or 1, as_json, remember)
    if __debug__:
        sys.exit(subprocess.run(wish.command(), check=False).returncode)
    sys.exit(hunt(wish))


def hunt(wish: Wish) -> int:
    """All that was asked for; the exit code."""
    began = perf_counter()
    console = Console(highlight=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = FILE_WIDTH
    names = wish.names
    chases: list[Chase] = []
    for chase in chase_all(names, wish.quick, wish.sites, wish.jobs):
        chases.append(chase)
        if console.is_terminal:
            console.print(f"{len(chases)}/{len(names)} {_said(chase)}", markup=False)
    chases.sort(key=lambda chase: names.index(chase.mutant))
    _print_chases(chases, console)
    blind = [] if wish.only else _print_promises(chases, console)
    # A quick look has seen the node without a mutant on each seed that caught one.
    failing = [] if wish.quick else _print_unsound(chases, wish.jobs, console)
    survived = [chase for chase in chases if not chase.caught]
    survivors = [chase.mutant for chase in survived]
    for one in survived:
        told = f"{one.mutant} survived: {MUTANTS[one.mutant].sentence}"
        if one.crashed:
            told += f" It raised on {one.crashed} of {one.tried} seeds: is it planted wrongly?"
        console.print(told, markup=False)
    if wish.remember:
        at_home = [one for one in chases if one.sites == MUTANTS[one.mutant].sites]
        SEEDS_FILE.write_text(seeds_text({one.mutant: one.seed for one in at_home}))
    if wish.as_json:
        figures = {
            "planted": len(chases),
            "caught": len(chases) - len(survivors),
            "survivors": survivors,
            "promises_without_mutant": blind,
            "seeds_failing_without_mutant": failing,
            "seconds": round(perf_counter() - began, 1),
        }
        click.echo(msgspec.json.encode(figures))
    return 1 if survivors or blind or failing else 0


def _print_unsound(chases: list[Chase], jobs: int, console: Console) -> list[int]:
    """The seeds tried in each swarm on which the node without a mutant fails."""
    failing = []
    for sites in sorted({chase.sites for chase in chases}):
        tried = max(chase.tried for chase in chases if chase.sites == sites)
        found = unsound(sites, range(tried), jobs)
        if found:
            where = " over sites" if sites else ""
            console.print(f"the node without a mutant breaks promises on seeds{where} {found}")
        failing += found
    return failing


def seeds_text(found: dict[str, int | None]) -> str:
    """The source of seeds.py with these; what was not looked for, or survived, stays known."""
    known = {name: seed for name, seed in SEEDS.items() if name in MUTANTS}
    known |= {name: seed for name, seed in found.items() if seed is not None}
    lines = [f'    "{name}": {known[name]},\n' for name in MUTANTS if name in known]
    head, _, _ = SEEDS_FILE.read_text().partition("SEEDS: ")
    return f"{head}SEEDS: dict[str, int] = {{\n{''.join(lines)}}}\n"


def _said(chase: Chase) -> str:
    if chase.seed is None:
        return f"{chase.mutant} survived {chase.tried} seeds"
    return f"{chase.mutant} caught by {chase.promises[0]} on seed {chase.seed}"


def _print_chases(chases: list[Chase], console: Console) -> None:
    table = Table(box=box.SIMPLE)
    for name in ("mutant", "area", "caught by", "seed", "seconds"):
        table.add_column(name, no_wrap=True)
    table.add_column("broken too", overflow="fold")
    for chase in chases:
        table.add_row(
            chase.mutant,
            MUTANTS[chase.mutant].area,
            chase.promises[0] if chase.promises else "SURVIVED",
            "" if chase.seed is None else f"{'sites ' * chase.sites}{chase.seed}",
            f"{chase.seconds:.1f}",
            " ".join(sorted(chase.promises[1:])),
        )
    console.print(table)


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
