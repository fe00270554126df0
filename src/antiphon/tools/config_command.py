"""`antiphon config`: check, show and make configuration files."""

from pathlib import Path

import click
import msgspec
from rich import box
from rich.console import Console
from rich.table import Table

from antiphon.daemon.config.config import Config, examine, examine_file
from antiphon.daemon.config.examples import EXAMPLES
from antiphon.daemon.config.findings import ConfigFindings, Finding
from antiphon.daemon.config.spread import import_spread
from antiphon.daemon.config.writing import plain

FILE = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Answer with one line of JSON.")


@click.group()
def config() -> None:
    """Check, show and make configuration files.

    \b
    Examples:
      antiphon config example lan            a file to begin with
      antiphon config check cluster.toml     what is wrong, line by line
      antiphon config show cluster.toml --effective

    \b
    Exit codes:
      0  fine
      1  the file cannot be used
      2  wrong usage
    """


@config.command()
@FILE
@AS_JSON
def check(file: Path, as_json: bool) -> None:
    """Say everything that is wrong with FILE."""
    found, findings = examine_file(file)
    if as_json:
        _print_json({"ok": found is not None, "findings": _told(findings)})
    else:
        for finding in findings:
            click.echo(str(finding))
        if found is not None:
            click.echo(f"{file}: fine, {_sum(found)}")
    if found is None:
        raise SystemExit(1)


@config.command()
@FILE
@click.option("--effective", is_flag=True, help="Every key, with the value that holds.")
@AS_JSON
def show(file: Path, effective: bool, as_json: bool) -> None:
    """Show the cluster of FILE, or the whole of what holds."""
    found, findings = examine_file(file)
    if found is None:
        _refuse(findings, as_json)
    elif effective and as_json:
        _print_json(plain(found))
    elif effective:
        click.echo(found.effective_toml(), nl=False)
    elif as_json:
        _print_json(_overview(found))
    else:
        click.echo(f"cluster {found.cluster.name}: {_sum(found)}")
        Console(highlight=False).print(_table(found))


@config.command()
@click.argument("kind", type=click.Choice(list(EXAMPLES)))
@AS_JSON
def example(kind: str, as_json: bool) -> None:
    """Print a file to begin with, with comments."""
    text = EXAMPLES[kind]
    if as_json:
        _print_json({"kind": kind, "toml": text})
    else:
        click.echo(text, nl=False)


@config.command("import-spread")
@FILE
@AS_JSON
def spread(file: Path, as_json: bool) -> None:
    """Print the configuration that a spread.conf asks for.

    Lines that have no counterpart are told on standard error.
    """
    try:
        imported = import_spread(file.read_text(encoding="utf-8", errors="replace"), str(file))
    except ConfigFindings as error:
        _refuse(error.findings, as_json)
        return
    found, findings = examine(imported.toml, "result", file.absolute().parent)
    if as_json:
        unmatched = [one._asdict() for one in imported.unmatched]
        told = {"toml": imported.toml, "unmatched": unmatched, "findings": _told(findings)}
        _print_json({"ok": found is not None, **told})
    else:
        click.echo(imported.toml, nl=False)
        for line, text, why in imported.unmatched:
            click.echo(f"{file}:{line}: {text}: no counterpart; {why}", err=True)
        for finding in findings:
            click.echo(str(finding), err=True)
    if found is None:
        raise SystemExit(1)


def _refuse(findings: tuple[Finding, ...], as_json: bool) -> None:
    if as_json:
        _print_json({"ok": False, "findings": _told(findings)})
    else:
        for finding in findings:
            click.echo(str(finding), err=True)
    raise SystemExit(1)


def _told(findings: tuple[Finding, ...]) -> list[dict[str, object]]:
    return [finding._asdict() for finding in findings]


def _print_json(value: object) -> None:
    click.echo(msgspec.json.encode(value).decode())


def _sum(found: Config) -> str:
    encryption = "on" if found.encrypted else "off"
    count = len(found.daemons)
    daemons = "1 daemon" if count == 1 else f"{count} daemons"
    return f"{daemons}, encryption {encryption}, hash {found.cluster_hash():016x}"


def _overview(found: Config) -> dict[str, object]:
    return {
        "cluster": found.cluster.name,
        "hash": f"{found.cluster_hash():016x}",
        "encrypted": found.encrypted,
        "daemons": plain(found)["daemon"],
    }


def _table(found: Config) -> Table:
    table = Table(box=box.SIMPLE)
    for heading in ("daemon", "id", "daemons at", "clients at", "socket"):
        table.add_column(heading, overflow="fold")
    for daemon in found.daemons:
        clients = "\n".join(map(str, daemon.clients)) or "none"
        cells = (daemon.name, str(daemon.id), str(daemon.address), clients)
        table.add_row(*cells, daemon.socket or "none")
    return table
