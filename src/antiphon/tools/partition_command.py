"""`antiphon partition`: cut a running cluster in parts and make it whole, for drills.

Each daemon is told with whom to stay in touch and drops the packets of all others; nothing
of the network or the kernel is touched, so it takes no root.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from antiphon.client.errors import SessionError
from antiphon.tools.reaching import (
    Access,
    Target,
    access_options,
    ask,
    print_json,
    run,
    targets_of,
    targets_options,
)

WORD = "partition"
Sides = tuple[tuple[str, ...], ...]


@click.group()
def partition() -> None:
    """DANGEROUS: cut a cluster in parts and make it whole, for drills.

    Groups go on in each part on their own, as if the network had failed.

    \b
    Examples:
      antiphon partition set "one,two | three" --config cluster.toml
      antiphon partition set one two,three --connect 4803 --connect 4804 --connect 4805 --yes
      antiphon partition set "west | east,north" --config cluster.toml
      antiphon partition clear --config cluster.toml

    \b
    Exit codes:
      0  done
      1  a daemon refused
      2  wrong usage
      3  a daemon cannot be reached; `set` has changed nothing
    """


@partition.command("set")
@click.argument("sides", nargs=-1, required=True, metavar="SIDE...")
@targets_options
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
@access_options
def set_command(
    sides: tuple[str, ...],
    addresses: tuple[str, ...],
    config: Path | None,
    yes: bool,
    as_json: bool,
    access: Access,
) -> None:
    """DANGEROUS: cut the cluster into SIDEs, each a list of daemons or sites: one,two west.

    Every daemon must be in one SIDE and be reachable, by --config or one --connect each. A site
    means its daemons; a name that is both is the daemon.
    """
    if not yes:
        _confirm(sides)
    run("partition", _set(sides, addresses, config, as_json, access))


def _confirm(sides: Sequence[str]) -> None:
    if not sys.stdin.isatty():
        raise click.UsageError("this cuts a running cluster; say --yes if you mean it")
    typed = click.prompt(f"This cuts a running cluster: {' | '.join(sides)}. Type {WORD} to do it")
    if typed != WORD:
        raise click.Abort


@partition.command()
@targets_options
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
@access_options
def clear(addresses: tuple[str, ...], config: Path | None, as_json: bool, access: Access) -> None:
    """Let all daemons hear each other again."""
    run("partition", _clear(addresses, config, as_json, access))


def read_sides(words: Sequence[str]) -> Sides:
    """Each word a side, or one text with bars between them."""
    text = " ".join(words)
    parts = text.split("|") if "|" in text else list(words)
    sides = tuple(tuple(name for name in re.split(r"[,\s]+", part) if name) for part in parts)
    names = [name for side in sides for name in side]
    if not all(sides) or len(sides) < 2:
        raise click.UsageError(f"{text!r} has fewer than two sides; write one,two three")
    _check_once(names)
    return sides


def _check_once(names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise click.UsageError(f"{', '.join(twice)} stands twice; name each daemon once")


def with_daemons(sides: Sides, sites: Mapping[str, str]) -> Sides:
    """Daemons in place of their sites."""
    of_site: dict[str, list[str]] = {}
    for daemon, site in sorted(sites.items()):
        of_site.setdefault(site, []).append(daemon)
    told = tuple(
        tuple(
            daemon
            for name in side
            for daemon in ([name] if name in sites else of_site.get(name, [name]))
        )
        for side in sides
    )
    _check_once([name for side in told for name in side])
    return told


async def _set(
    words: Sequence[str],
    addresses: tuple[str, ...],
    config: Path | None,
    as_json: bool,
    access: Access,
) -> None:
    targets, sites = await _named(targets_of(addresses, config), access)
    sides = with_daemons(read_sides(words), sites)
    check_complete(sides, targets)
    for side in sides:
        for name in side:
            await ask(targets[name][0], access, "partition", **{"with": list(side)})
    if as_json:
        print_json({"sides": sides})
    else:
        click.echo(f"cut: {' | '.join(', '.join(side) for side in sides)}")
        click.echo("make it whole with `antiphon partition clear`")


async def _clear(
    addresses: tuple[str, ...], config: Path | None, as_json: bool, access: Access
) -> None:
    """At all that can be reached, also if one cannot."""
    cleared, failures = [], []
    for target in targets_of(addresses, config):
        try:
            await ask(target, access, "partition")
        except SessionError as error:
            failures.append(error)
        else:
            cleared.append(str(target))
    if as_json:
        print_json({"cleared": cleared})
    elif cleared:
        click.echo(f"cleared: {', '.join(cleared)}")
    if failures:
        raise failures[0]


Named = dict[str, tuple[Target, list[str]]]
"""Daemons by name, with all that each knows."""


async def _named(targets: list[Target], access: Access) -> tuple[Named, dict[str, str]]:
    """And the sites of daemons. All are asked first, so that nothing is half done because one
    cannot be reached."""
    named: Named = {}
    sites: dict[str, str] = {}
    for target in targets:
        status = await ask(target, access, "status")
        named[status["daemon"]] = (target, status["known_daemons"])
        sites |= status["sites"]
    return named, sites


def check_complete(sides: Sides, targets: Named) -> None:
    known = {name for _, names in targets.values() for name in names}
    named = {name for side in sides for name in side}
    if strangers := sorted(named - known):
        names = ", ".join(sorted(known))
        raise click.UsageError(f"no daemon is called {', '.join(strangers)}; use {names}")
    if missing := sorted(known - named):
        raise click.UsageError(f"{', '.join(missing)} is on no side; name every daemon once")
    if unreached := sorted(known - set(targets)):
        raise click.UsageError(
            f"there is no address of {', '.join(unreached)}; give --config, or --connect for each"
        )
