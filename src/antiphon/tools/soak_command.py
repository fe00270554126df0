"""`antiphon soak`: everything that takes long, item by item.

What is done is kept in a file by the digest of the source, so that a soak that was stopped
goes on where it stood, and a changed source begins anew, with seeds that were never run.
"""

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import click
import msgspec
from rich import box
from rich.console import Console
from rich.table import Table

from antiphon.tools.soak_items import ITEMS, NEW_SEEDS, Soak

Save = Callable[[], None]

STATE = Path("out") / "soak.json"
FIRST_NEW_SEED = 10_000


class Done(msgspec.Struct, frozen=True):
    passed: bool
    seconds: float
    figures: dict[str, float]


class Source(msgspec.Struct):
    """What was done with one state of the source."""

    new_seeds_from: int
    items: dict[str, Done] = {}


class State(msgspec.Struct):
    sources: dict[str, Source] = {}
    next_seed: int = FIRST_NEW_SEED

    def source(self, digest: str) -> Source:
        if digest not in self.sources:
            self.sources[digest] = Source(self.next_seed)
            self.next_seed += NEW_SEEDS
        return self.sources[digest]


@click.command()
@click.option("--list", "only_list", is_flag=True, help="Tell what there is and what is done.")
@click.option("--only", multiple=True, metavar="ITEM", help="This item; can be repeated.")
@click.option("--fresh", is_flag=True, help="Do again what is done.")
@click.option("--jobs", type=click.IntRange(min=1), help="Processes; as many as cores if not said.")
@click.option("--state", "path", type=click.Path(path_type=Path), default=STATE, show_default=True)
def soak(only_list: bool, only: tuple[str, ...], fresh: bool, jobs: int | None, path: Path) -> None:
    """Run everything that takes long: many seeds, mutants, fuzzing, digests, speed.

    Stopped and started again it goes on where it stood, as long as the source is the same.
    """
    unknown = [name for name in only if name not in ITEMS]
    if unknown:
        raise click.UsageError(f"there is no item {unknown[0]!r}; use {', '.join(ITEMS)}")
    chosen = [name for name in ITEMS if not only or name in only]
    state = read_state(path)
    source = state.source(source_digest())
    if fresh:
        source.items = {name: done for name, done in source.items.items() if name not in chosen}
    console = Console(highlight=False)
    if not only_list:
        _run(chosen, source, Soak(source.new_seeds_from, jobs), lambda: write_state(path, state))
    _print(chosen, source, console)
    left = [name for name in chosen if name not in source.items]
    failed = [name for name in chosen if name in source.items and not source.items[name].passed]
    sys.exit(1 if failed or (left and not only_list) else 0)


def _run(chosen: list[str], source: Source, soaking: Soak, save: Save) -> None:
    save()
    for name in chosen:
        if name in source.items:
            click.echo(f"{name}: done before")
            continue
        click.echo(f"{name}: {ITEMS[name].summary}")
        began = perf_counter()
        try:
            passed, figures = ITEMS[name].run(soaking)
        except KeyboardInterrupt:
            click.echo(f"stopped in {name}; `antiphon soak` goes on with it", err=True)
            return
        source.items[name] = Done(passed, round(perf_counter() - began, 1), figures)
        save()


def _print(chosen: list[str], source: Source, console: Console) -> None:
    table = Table("item", "verdict", box=box.SIMPLE)
    table.add_column("seconds", justify="right")
    table.add_column("figures", overflow="fold")
    for name in chosen:
        done = source.items.get(name)
        if done is None:
            table.add_row(name, "not yet", "", ITEMS[name].summary)
            continue
        figures = ", ".join(f"{what} {value:,}" for what, value in done.figures.items())
        verdict = "passed" if done.passed else "FAILED"
        table.add_row(name, verdict, f"{done.seconds:,}", figures.replace("_", " "))
    console.print(table)


def source_digest() -> str:
    """Of all modules of the package: two sources with the same digest do the same."""
    root = Path(__file__).parent.parent
    total = hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        total.update(f"{file.relative_to(root).as_posix()}\n".encode())
        total.update(file.read_bytes())
    return total.hexdigest()[:16]


def read_state(path: Path) -> State:
    if not path.exists():
        return State()
    try:
        return msgspec.json.decode(path.read_bytes(), type=State)
    except msgspec.DecodeError as error:
        raise click.UsageError(f"{path} is no state of a soak ({error}); remove it") from None


def write_state(path: Path, state: State) -> None:
    """Whole or not at all, for a soak may be stopped at any time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partly = path.with_suffix(".part")
    partly.write_bytes(msgspec.json.format(msgspec.json.encode(state)))
    partly.replace(path)
