"""What an experiment has found: tables, and statements that hold or do not."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

import click
import msgspec
from rich import box
from rich.console import Console
from rich.table import Table as RichTable

from antiphon.tools.bench.strain import Strain
from antiphon.tools.tables import console

Cell = str | float | None


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]


@dataclass(frozen=True, slots=True)
class Statement:
    rows: str
    """Ids of what is shown, or the empty string for a goal of our own."""

    text: str
    holds: bool
    numbers: str


@dataclass(frozen=True, slots=True)
class Outcome:
    tables: list[Table] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)

    def state(self, rows: str, text: str, holds: bool, numbers: str) -> None:
        self.statements.append(Statement(rows, text, holds, numbers))


def ratio(ours: float | None, theirs: float | None) -> float | None:
    return ours / theirs if ours is not None and theirs else None


def percent(part: float, whole: float) -> float:
    return 100 * part / whole


def numbers(values: Sequence[float], digits: int = 1) -> str:
    return " ".join(f"{value:.{digits}f}" for value in values)


def show(console: Console, outcome: Outcome) -> None:
    for table in outcome.tables:
        drawn = RichTable(title=table.title, box=box.SIMPLE, title_justify="left")
        for place, column in enumerate(table.columns):
            drawn.add_column(column, justify="right" if place else "left")
        for row in table.rows:
            drawn.add_row(*map(_cell, row))
        console.print(drawn)
    for one in outcome.statements:
        verdict = "holds" if one.holds else "DOES NOT HOLD"
        ids = f" ({one.rows})" if one.rows else ""
        console.print(f"{verdict}: {one.text}{ids}: {one.numbers}", soft_wrap=True)


def _cell(value: Cell) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.2f}"


def tell(name: str, heading: str, outcome: Outcome, strain: Strain, as_json: bool) -> None:
    """On standard output: for people, or one object of JSON."""
    if as_json:
        told = {"experiment": name, **asdict(outcome), **strain._asdict()}
        click.echo(msgspec.json.encode(told).decode())
        return
    out = console()
    out.print(f"{heading} ({strain})")
    show(out, outcome)
