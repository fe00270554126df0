"""Where tables of the command line are printed: in colours on a terminal, plainly elsewhere."""

import sys
from collections.abc import Mapping

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
        number = isinstance(value, int | float) and not isinstance(value, bool)
        table.add_row(name.replace("_", " "), f"{value:,}" if number else str(value))
    return table
