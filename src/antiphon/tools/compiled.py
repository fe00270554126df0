"""Whether the machines were compiled: `make fast`."""

import click

from antiphon.protocol import node


def is_compiled() -> bool:
    return not node.__file__.endswith(".py")


def require_python(what: str) -> None:
    """For what looks into machines, or changes them."""
    if is_compiled():
        raise click.UsageError(f"{what} needs machines that are not compiled: leave out build/fast")
