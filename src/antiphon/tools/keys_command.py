"""`antiphon keys`: make, rotate and show the keys of a cluster. Secrets are never shown."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import click
import msgspec

from antiphon.core.errors import AntiphonError, UsageError
from antiphon.daemon.secure.keyfile import create_keys, read_keys, replace_keys
from antiphon.daemon.secure.keys import ACCEPT, CURRENT, KeyRing, new_key

file_argument = click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
name_option = click.option("--name", help="The key's name; k1, k2 and so on if not said.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")


@click.group()
def keys() -> None:
    """Make, rotate and show the keys of a cluster.

    \b
    Rotation, without stopping; after each step copy FILE to all daemons and reload them all:
      antiphon keys add FILE         the next key opens
      antiphon keys promote FILE     it seals, the former one still opens
      antiphon keys drop FILE NAME   the former one is gone

    \b
    Exit codes:
      0  fine
      1  the file or the key is not as it should be; nothing was changed
      2  wrong usage
    """


@keys.command()
@file_argument
@name_option
@json_option
def new(file: Path, name: str | None, as_json: bool) -> None:
    """Make FILE with one key. A file that is there is left alone."""
    with _failures():
        ring = KeyRing(new_key(name or "k1", secrets.token_bytes))
        create_keys(file, ring)
    _show(ring, as_json)


@keys.command()
@file_argument
@name_option
@json_option
def add(file: Path, name: str | None, as_json: bool) -> None:
    """Add a next key, which opens and does not seal yet."""
    with _failures():
        ring = read_keys(file)
        ring = ring.add(new_key(name or _free_name(ring), secrets.token_bytes))
        replace_keys(file, ring)
    _show(ring, as_json)


@keys.command()
@file_argument
@click.argument("name", required=False)
@json_option
def promote(file: Path, name: str | None, as_json: bool) -> None:
    """Let the key NAME seal; may be left out if there is one other key.

    Only when all daemons have loaded it as `accept`: others would refuse what it seals.
    """
    with _failures():
        ring = read_keys(file)
        ring = ring.promote(name or _only_other(ring))
        replace_keys(file, ring)
    _show(ring, as_json)


@keys.command()
@file_argument
@click.argument("name")
@json_option
def drop(file: Path, name: str, as_json: bool) -> None:
    """Remove the key NAME, which must not be the current one.

    Only when no daemon seals with it any more: what it seals would be refused.
    """
    with _failures():
        ring = read_keys(file).drop(name)
        replace_keys(file, ring)
    _show(ring, as_json)


@keys.command()
@file_argument
@json_option
def show(file: Path, as_json: bool) -> None:
    """Show names, ids and roles of the keys."""
    with _failures():
        ring = read_keys(file)
    _show(ring, as_json)


def _free_name(ring: KeyRing) -> str:
    taken = {key.name for key in ring.all}
    return next(name for number in count(1) if (name := f"k{number}") not in taken)


def _only_other(ring: KeyRing) -> str:
    if len(ring.accepted) != 1:
        what = f"there are {len(ring.accepted)} keys to choose from"
        raise UsageError("which_key", what, "add one with `keys add`, or name the one you mean")
    return ring.accepted[0].name


def _show(ring: KeyRing, as_json: bool) -> None:
    shown = [
        {"name": key.name, "id": f"{key.id:08x}", "role": CURRENT if at == 0 else ACCEPT}
        for at, key in enumerate(ring.all)
    ]
    if as_json:
        click.echo(msgspec.json.encode({"keys": shown}).decode())
        return
    for key in shown:
        click.echo(f"{key['role']:<8} {key['id']} {key['name']}")


@contextmanager
def _failures() -> Iterator[None]:
    """What went wrong, in one line, and exit code 1."""
    try:
        yield
    except AntiphonError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from None
