"""`antiphon groups` and `antiphon members`: who is where, as one daemon knows it."""

from typing import Any

import click
from rich import box
from rich.table import Table

from antiphon.tools.reaching import (
    DEFAULT_ADDRESS,
    Access,
    Target,
    access_options,
    ask,
    connect_option,
    print_json,
    run,
)
from antiphon.tools.tables import console

Answer = dict[str, Any]


@click.command()
@connect_option
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
@access_options
def groups(addresses: tuple[str, ...], as_json: bool, access: Access) -> None:
    """List the groups that have members, and how many.

    \b
    Examples:
      antiphon groups
      antiphon groups --connect 4804@localhost --json
    """
    target = Target(addresses or (DEFAULT_ADDRESS,))
    answer: Answer = run("groups", ask(target, access, "groups"))
    if as_json:
        print_json(answer)
        return
    if not answer["groups"]:
        click.echo("no group has a member")
        return
    table = Table("group", box=box.SIMPLE)
    table.add_column("members", justify="right")
    for name, count in sorted(answer["groups"].items()):
        table.add_row(name, f"{count:,}")
    console().print(table)
    if answer["all"] > len(answer["groups"]):
        click.echo(f"and {answer['all'] - len(answer['groups']):,} more")


@click.command()
@click.argument("group")
@connect_option
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
@access_options
def members(group: str, addresses: tuple[str, ...], as_json: bool, access: Access) -> None:
    """List who is in GROUP, and at which daemon.

    Exits with 1 if nobody is in it.

    \b
    Examples:
      antiphon members chat
      antiphon members chat --json
    """
    target = Target(addresses or (DEFAULT_ADDRESS,))
    answer: Answer = run("members", ask(target, access, "members", group=group))
    if as_json:
        print_json(answer)
        return
    table = Table("member", "daemon", "private group", box=box.SIMPLE)
    for row in answer["members"]:
        daemon = row["session"][0]
        table.add_row(row["name"], row["daemon"], f"#{row['name']}#{daemon}")
    console().print(table)
