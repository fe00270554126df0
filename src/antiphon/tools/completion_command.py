"""`antiphon completion`: what a shell needs to complete our commands and options."""

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that makes SHELL complete commands and options.

    \b
    Examples:
      eval "$(antiphon completion bash)"           for this shell
      antiphon completion zsh > _antiphon          a file for a folder of fpath
      antiphon completion fish > ~/.config/fish/completions/antiphon.fish
    """
    made = get_completion_class(shell)
    assert made is not None, shell
    root = context.find_root().command
    click.echo(made(root, {}, "antiphon", "_ANTIPHON_COMPLETE").source())
