"""Where tables of the command line are printed: in colours on a terminal, plainly elsewhere."""

import sys
from collections.abc import Mapping, Sequence
from typing import Literal

from rich import box
from rich.console import Console
from rich.table import Table

PIPE_WIDTH = 160


def console() -> Console:
    """Names are printed as they are, and into a file or a pipe lines may be long."""
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    return Console(highlight=False, markup=False, emoji=False, width=width)


def figures_table(found: Mapping[str, object]) -> Table:
    """What was measured or counted, a line each."""
    table = Table(box=box.SIMPLE, show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, value in found.items():
        table.add_row(name.replace("_", " "), cell_text(value))
    return table


def rows_table(title: str, rows: Sequence[Mapping[str, object]]) -> Table:
    """Rows that have the same columns."""
    table = Table(title=title.replace("_", " "), title_justify="left", box=box.SIMPLE)
    for name, value in rows[0].items():
        justify: Literal["left", "right"] = "right" if is_number(value) else "left"
        table.add_column(name.replace("_", " "), justify=justify)
    for row in rows:
        table.add_row(*map(cell_text, row.values()))
    return table


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def cell_text(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return "" if value is None else f"{value:,}" if is_number(value) else str(value)
