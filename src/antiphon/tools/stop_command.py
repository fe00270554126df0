"""`antiphon stop` and `antiphon reload`: for those whom the configuration names as admins."""

import asyncio
from pathlib import Path

import click

from antiphon.tools.reaching import (
    Access,
    Target,
    access_options,
    ask,
    print_json,
    reach,
    run,
    targets_of,
    targets_options,
)

json_option = click.option("--json", "as_json", is_flag=True, help="One object of JSON per daemon.")


@click.command()
@targets_options
@json_option
@access_options
def stop(addresses: tuple[str, ...], config: Path | None, as_json: bool, access: Access) -> None:
    """Stop daemons cleanly: what they accepted is sent first, and their clients are told.

    \b
    Examples:
      antiphon stop                          the one at 4803@localhost
      antiphon stop --connect 4804@localhost
      antiphon stop --config cluster.toml    all of a cluster

    \b
    Exit codes:
      0  stopped
      1  a daemon refused
      2  wrong usage
      3  a daemon cannot be reached
    """
    run("stop", _stop(addresses, config, as_json, access))


async def _stop(
    addresses: tuple[str, ...], config: Path | None, as_json: bool, access: Access
) -> None:
    for target in targets_of(addresses, config):
        name = await _stop_one(target, access)
        if as_json:
            print_json({"stopped": name})
        else:
            click.echo(f"stopped {name}")


async def _stop_one(target: Target, access: Access) -> str:
    """Its name, once it has said goodbye."""
    session = await reach(target.addresses, access)
    try:
        await session.query("stop")
        async with asyncio.timeout(access.timeout):
            async for _ in session:
                pass  # up to the end of the session
    except TimeoutError:
        click.echo(f"{session.daemon} is still sending what it accepted", err=True)
    finally:
        await session.close()
    return session.daemon


@click.command()
@targets_options
@json_option
@access_options
def reload(addresses: tuple[str, ...], config: Path | None, as_json: bool, access: Access) -> None:
    """Have daemons read their configuration files again, keys and tokens too.

    What takes a restart is named, and stays as it was.

    \b
    Examples:
      antiphon reload
      antiphon reload --config cluster.toml    all of a cluster, one after the other

    \b
    Exit codes:
      0  reloaded
      1  a daemon refused: its file cannot be used, and everything is as it was
      2  wrong usage
      3  a daemon cannot be reached
    """
    run("reload", _reload(addresses, config, as_json, access))


async def _reload(
    addresses: tuple[str, ...], config: Path | None, as_json: bool, access: Access
) -> None:
    for target in targets_of(addresses, config):
        warnings = (await ask(target, access, "reload"))["warnings"]
        if as_json:
            print_json({"reloaded": str(target), "warnings": warnings})
            continue
        click.echo(f"reloaded {target}")
        for warning in warnings:
            click.echo(f"  {warning}")
