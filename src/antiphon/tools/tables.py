"""Where tables of the command line are printed: in colours on a terminal, plainly elsewhere."""

import sys

from rich.console import Console

PIPE_WIDTH = 160


def console() -> Console:
    """Names are printed as they are, and into a file or a pipe lines may be long."""
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    return Console(highlight=False, markup=False, emoji=False, width=width)
