"""The section that puts our numbers beside a paper's: from what `antiphon bench wan --json`
has printed."""

from pathlib import Path
from typing import Any

import msgspec

from antiphon.core.errors import UsageError
from antiphon.pipeline.report.drawing import COLOURS, drawing
from antiphon.pipeline.report.page import Page, Section, cell_text

PAPER = "paper"
NO_QUANTITY = ("ratio", "%", " / ", "gain", "asked", "arrive")
"""In names of columns that are not drawn."""


class Table(msgspec.Struct):
    title: str
    columns: list[str]
    rows: list[list[str | float | None]]


class Statement(msgspec.Struct):
    rows: str
    text: str
    holds: bool
    numbers: str


class Experiment(msgspec.Struct):
    experiment: str
    tables: list[Table]
    statements: list[Statement]
    load_average: float = 0.0


def read_experiments(path: Path) -> list[Experiment]:
    """A line each."""
    remedy = "give what `antiphon bench wan --json` printed"
    try:
        lines = [line for line in path.read_text().splitlines() if line.startswith("{")]
        return [msgspec.json.decode(line, type=Experiment) for line in lines]
    except OSError as error:
        raise UsageError("no_bench", f"{path}: {error.strerror}", remedy) from error
    except msgspec.MsgspecError as error:
        raise UsageError("no_bench", f"{path}: {error}", remedy) from error


def add_comparison(page: Page, experiments: list[Experiment]) -> None:
    section = page.section("Beside the papers")
    statements = [(one.experiment, each) for one in experiments for each in one.statements]
    broken = sum(not each.holds for _, each in statements)
    words = f"{len(statements) - broken} of {len(statements)} statements hold."
    section.verdict(not broken, words)
    section.table(
        [
            {
                "experiment": name,
                "rows": each.rows or "goal of our own",
                "statement": each.text,
                "holds": each.holds,
                "numbers": each.numbers,
            }
            for name, each in statements
        ]
    )
    for experiment in experiments:
        for table in experiment.tables:
            _add_table(section, table)


def _add_table(section: Section, table: Table) -> None:
    drawn = drawn_columns(table)
    if any(PAPER in table.columns[place] for place in drawn):
        section.figure(_bars(table, drawn), table.title)
    names = unique(table.columns)
    rows = [dict(zip(names, row, strict=True)) for row in table.rows]
    section.table(rows, table.title, folded=bool(drawn))


def unique(columns: list[str]) -> list[str]:
    """Names of which none is twice, as columns of tables on paper may be."""
    return [
        name if name not in columns[:place] else f"{name} ({columns[place - 1]})"
        for place, name in enumerate(columns)
    ]


def drawn_columns(table: Table) -> list[int]:
    """Quantities: the paper's and ours, and no ratios."""
    return [place for place in range(1, len(table.columns)) if _is_quantity(table, place)]


def _is_quantity(table: Table, place: int) -> bool:
    name = table.columns[place]
    if name == "ours":  # of what stands before it
        name = table.columns[place - 1]
    numbers = all(isinstance(row[place], int | float) for row in table.rows)
    return numbers and not any(word in name for word in NO_QUANTITY)


def _bars(table: Table, drawn: list[int]) -> str:
    with drawing(10.5, 3.4) as made:
        axes = made.axes
        width = 0.8 / len(drawn)
        ours = 0
        for order, place in enumerate(drawn):
            name = table.columns[place]
            is_paper = PAPER in name
            values: list[Any] = [row[place] or 0.0 for row in table.rows]
            at = [x + (order - (len(drawn) - 1) / 2) * width for x in range(len(values))]
            colour = COLOURS[5] if is_paper else COLOURS[ours % 5]
            ours += not is_paper
            bars = axes.bar(
                at, values, 0.9 * width, color=colour, alpha=0.55 if is_paper else 1.0, label=name
            )
            axes.bar_label(bars, [cell_text(float(one)) for one in values], fontsize=7, padding=2)
        axes.set_xticks(range(len(table.rows)), [str(row[0]) for row in table.rows])
        axes.set_xlabel(table.columns[0])
        axes.grid(axis="x", visible=False)
        axes.legend(ncols=4, loc="lower left", bbox_to_anchor=(0, 1.0), fontsize=9)
    return made.svg
