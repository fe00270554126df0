"""`antiphon daemon`: run one daemon of a configuration in the foreground."""

import sys
from pathlib import Path

import click

from antiphon.core.errors import AntiphonError

EXIT_FAILED = 3


@click.command()
@click.option("--config", "path", type=click.Path(path_type=Path), required=True, metavar="FILE")
@click.option("--name", help="Which daemon of the file; not needed if it lists one only.")
@click.option("--listening", is_flag=True, help="Print a line when clients can connect.")
def daemon(path: Path, name: str | None, listening: bool) -> None:
    """Run a daemon in the foreground.

    It ends by SIGTERM or SIGINT, after sending what it has accepted; SIGHUP makes it read its
    file again.

    \b
    Examples:
      antiphon config example lan > cluster.toml
      antiphon daemon --config cluster.toml --name one

    \b
    Exit codes:
      0  stopped as asked
      1  a broken invariant: please report what it printed
      2  wrong usage
      3  could not start: the message says why
    """
    from antiphon.daemon.config.config import load
    from antiphon.daemon.process import Daemon

    sys.meta_path.insert(0, WithoutPandas)
    try:
        config = load(path)
        if name is None:
            if len(config.daemons) > 1:
                names = ", ".join(one.name for one in config.daemons)
                raise click.UsageError(f"the file lists {names}; say which with --name")
            name = config.daemons[0].name
        made = Daemon(config, name, path)
    except AntiphonError as error:
        click.echo(f"antiphon daemon: {error}", err=True)
        sys.exit(EXIT_FAILED)
    if listening:
        click.echo(f"listening {name}")
        sys.stdout.flush()
    made.run()


class WithoutPandas:
    """Arrow, which writes the records, takes pandas along where it is installed: a third of a
    second and 40 MB, for nothing that a daemon does."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ImportError("a daemon does without pandas")
