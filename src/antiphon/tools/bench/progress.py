"""How far an experiment of a long bench is."""

import sys
from collections.abc import Callable

import click


def saying(update: Callable[[str], None], name: str) -> Callable[[str], None]:
    """One line that changes on a terminal, one after the other elsewhere."""

    def say(what: str) -> None:
        if sys.stderr.isatty():
            update(f"{name}: {what}")
        else:
            click.echo(f"{name}: {what}", err=True)

    return say
