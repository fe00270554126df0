"""How commands reach daemons: their options, where daemons are, and how failures end them.

One line says what went wrong and the remedy; the exit code says whose turn it is.
"""

import asyncio
import functools
import ssl
import sys
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

import click
import msgspec

from antiphon.client.aio import Session, connect
from antiphon.client.errors import QueryFailed, Refused, Unreachable
from antiphon.core.errors import AntiphonError, ConfigError, UsageError

if TYPE_CHECKING:
    from antiphon.daemon.config.config import Config

EXIT_FAILED, EXIT_USAGE, EXIT_UNREACHABLE = 1, 2, 3
DEFAULT_ADDRESS = "4803@localhost"
Command = TypeVar("Command", bound=Callable[..., Any])
Result = TypeVar("Result")


class Access(NamedTuple):
    """How a command gets in, at whichever daemon."""

    token: str = ""
    ca: Path | None = None
    timeout: float = 10.0


class Target(NamedTuple):
    """One daemon: any of its addresses will do."""

    addresses: tuple[str, ...]
    name: str = ""
    """Empty if only an address is known."""

    def __str__(self) -> str:
        return self.name or self.addresses[0]


def access_options(command: Command) -> Command:
    """`--token`, `--ca` and `--timeout`, handed on as `access`."""

    @click.option("--token", default="", envvar="ANTIPHON_TOKEN", help="Or in ANTIPHON_TOKEN.")
    @click.option(
        "--ca",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Speak TLS; trust daemons whose certificates this authority has signed.",
    )
    @click.option("--timeout", type=click.FloatRange(min=0.1), default=10.0, show_default=True)
    @functools.wraps(command)
    def with_access(*given: Any, token: str, ca: Path | None, timeout: float, **more: Any) -> Any:
        return command(*given, access=Access(token, ca, timeout), **more)

    return with_access  # type: ignore[return-value]  # the same command with fewer parameters


def connect_option(command: Command) -> Command:
    return click.option(
        "--connect",
        "addresses",
        multiple=True,
        metavar="ADDRESS",
        envvar="ANTIPHON_CONNECT",
        help=f"Daemon: PORT@HOST or a socket's path; several are tried in order. "
        f"{DEFAULT_ADDRESS} if not said.",
    )(command)


def targets_options(command: Command) -> Command:
    """`--connect` and `--config`, for commands that speak with each of several daemons."""
    with_config = click.option(
        "--config",
        "config",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="All daemons of this file.",
    )(command)
    return click.option(
        "--connect",
        "addresses",
        multiple=True,
        metavar="ADDRESS",
        envvar="ANTIPHON_CONNECT",
        help=f"A daemon, each time it is given: PORT@HOST or a socket's path. "
        f"{DEFAULT_ADDRESS} if not said.",
    )(with_config)


def targets_of(addresses: Sequence[str], config: Path | None) -> list[Target]:
    """Whom a command is about."""
    if config is None:
        return [Target((address,)) for address in addresses or (DEFAULT_ADDRESS,)]
    if addresses:
        raise UsageError("bad_choice", "both --connect and --config", "give one of them")
    from antiphon.daemon.config.config import load

    found = targets_in(load(config))
    for target in found:
        if not target.addresses:
            what = f"daemon {target.name} takes no clients here"
            raise UsageError("bad_address", what, "set its `clients`, or run this where it runs")
    return found


def targets_in(config: "Config") -> list[Target]:
    """All daemons; those that cannot be reached from here have no address."""
    found = []
    for entry in config.daemons:
        # The socket first: the system itself vouches for who comes there.
        sockets = [entry.socket] if entry.socket and Path(entry.socket).exists() else []
        hosts = [f"{one.port}@{_reachable(one.host)}" for one in entry.clients]
        found.append(Target((*sockets, *hosts), entry.name))
    return found


def _reachable(host: str) -> str:
    """Where a daemon listens on all interfaces, this machine is one of them."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)


async def reach(
    addresses: Sequence[str],
    access: Access,
    *,
    name: str | None = None,
    membership: bool = False,
    failover: bool = False,
) -> Session:
    """A session with the first that lets us in."""
    tls = None
    if access.ca is not None:
        try:
            tls = ssl.create_default_context(cafile=str(access.ca))
        except (OSError, ssl.SSLError) as error:
            raise UsageError("bad_choice", f"{access.ca}: {error}", "name a PEM file") from None
        addresses = [one for one in addresses if not one.startswith(("/", "unix:"))] or addresses
    try:
        return await connect(
            list(addresses),
            name=name,
            membership=membership,
            token=access.token,
            tls=tls,
            timeout=access.timeout,
            failover=failover,
        )
    except Refused as error:
        raise Unreachable(error.code, f"refused: {error.what}", error.remedy) from None


async def ask(target: Target, access: Access, what: str, **arguments: Any) -> Any:
    """One answer of one daemon."""
    session = await reach(target.addresses, access)
    try:
        async with asyncio.timeout(access.timeout):
            return await session.query(what, **arguments)
    except TimeoutError:
        raise Unreachable("timed_out", f"{target} did not answer", "try again") from None
    finally:
        await session.close()


def run(command: str, work: Coroutine[Any, Any, Result]) -> Result:
    """Do it; a failure ends the process with one line and its exit code."""
    try:
        return asyncio.run(work)
    except AntiphonError as error:
        fail(command, error)


def fail(command: str, error: AntiphonError) -> NoReturn:
    """One line that names the remedy, and the exit code."""
    # What a daemon answers names its remedy itself.
    text = error.what if isinstance(error, QueryFailed) else str(error)
    click.echo(f"antiphon {command}: {text}", err=True)
    sys.exit(exit_code(error))


def exit_code(error: AntiphonError) -> int:
    if isinstance(error, Unreachable):
        return EXIT_UNREACHABLE
    return EXIT_USAGE if isinstance(error, UsageError | ConfigError) else EXIT_FAILED


def print_json(value: object) -> None:
    click.echo(msgspec.json.encode(value).decode())
