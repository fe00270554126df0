"""`antiphon doctor`: looks for what is wrong with this host and the network, before users do."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.table import Table

from antiphon.client.errors import SessionError
from antiphon.daemon.config.config import Config, load
from antiphon.tools.checkup import Found, Grade, note
from antiphon.tools.cluster_checks import check_cluster
from antiphon.tools.host_checks import check_host
from antiphon.tools.reaching import (
    Access,
    Target,
    access_options,
    ask,
    print_json,
    run,
    targets_in,
)
from antiphon.tools.tables import console

STYLES = {Grade.FINE: "green", Grade.NOTE: "yellow", Grade.WRONG: "bold red"}


@click.command()
@click.option("--config", "path", type=click.Path(path_type=Path), required=True, metavar="FILE")
@click.option("--name", help="The daemon that is to run here.")
@click.option("--json", "as_json", is_flag=True, help="One object of JSON per finding.")
@access_options
def doctor(path: Path, name: str | None, as_json: bool, access: Access) -> None:
    """Check this host and the network for the cluster of FILE, whether daemons run or not.

    Ports, UDP, multicast, MTU, offload, buffers, clocks, and all pairs of daemons that run.
    What is wrong comes with its remedy; a note is something that could be better.

    \b
    Examples:
      antiphon doctor --config cluster.toml
      antiphon doctor --config cluster.toml --name one --json

    \b
    Exit codes:
      0  nothing is wrong
      1  something is wrong
      2  wrong usage, or the file cannot be used
    """
    found = run("doctor", _examine(path, name, access))
    if as_json:
        for one in found:
            print_json(one._asdict())
    else:
        _print(found)
    sys.exit(1 if any(one.grade is Grade.WRONG for one in found) else 0)


async def _examine(path: Path, name: str | None, access: Access) -> list[Found]:
    config = load(path)
    if name is not None:
        config.daemon(name)  # an unknown one is refused here
    statuses = await _statuses(config, access)
    warnings = [note("file", one.key, one.what, one.remedy) for one in config.warnings]
    return [*warnings, *check_host(config), *check_cluster(config, name, statuses)]


async def _statuses(config: Config, access: Access) -> dict[str, dict[str, Any]]:
    """Of the daemons that run and let us in."""
    quick = access._replace(timeout=min(access.timeout, 3.0))
    targets = [target for target in targets_in(config) if target.addresses]
    answers = await asyncio.gather(*(_status(target, quick) for target in targets))
    return {answer["daemon"]: answer for answer in answers if answer is not None}


async def _status(target: Target, access: Access) -> dict[str, Any] | None:
    try:
        answer: dict[str, Any] = await ask(target, access, "status")
    except SessionError:
        return None
    return answer


def _print(found: list[Found]) -> None:
    table = Table("", "check", "subject", box=box.SIMPLE)
    table.add_column("finding", overflow="fold")
    for one in found:
        told = f"{one.what}; {one.remedy}" if one.remedy else one.what
        table.add_row(one.grade, one.check, one.subject, told, style=STYLES[one.grade])
    console().print(table)
    wrong = sum(one.grade is Grade.WRONG for one in found)
    click.echo(f"{len(found)} findings, {wrong} wrong")
