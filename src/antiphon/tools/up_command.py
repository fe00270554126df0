"""`antiphon up`: a cluster on this machine, in the foreground, to try things."""

import shlex
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import click
from rich.console import Console
from rich.text import Text

from antiphon.core.errors import AntiphonError
from antiphon.core.trace import Level
from antiphon.tools.cluster import CLIENT_PORT, LocalCluster, LocalDaemon
from antiphon.tools.reaching import (
    EXIT_FAILED,
    EXIT_UNREACHABLE,
    print_json,
)

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red")
LOOK_SECONDS = 0.1


@click.command()
@click.argument("count", type=click.IntRange(1, 64), default=3, metavar="[N]")
@click.option(
    "--sites",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Give the daemons to so many sites in turn.",
)
@click.option("--port", type=click.IntRange(1, 65535), default=CLIENT_PORT, show_default=True)
@click.option(
    "--directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="For configuration, logs and records; a temporary one if not said.",
)
@click.option(
    "--records",
    type=click.Choice([level.value for level in Level]),
    default=Level.VIEWS.value,
    show_default=True,
)
@click.option("--quiet", is_flag=True, help="Do not show what the daemons log.")
@click.option("--json", "as_json", is_flag=True, help="When ready, print one line of JSON.")
def up(
    count: int,
    sites: int,
    port: int,
    directory: Path | None,
    records: str,
    quiet: bool,
    as_json: bool,
) -> None:
    """Run N daemons on this machine until Ctrl-C. Clients connect to 4803, 4804 and so on.

    No configuration is needed: one is written. What the daemons log goes to standard error.

    \b
    Examples:
      antiphon up
      antiphon up 5 --port 5000
      antiphon up 6 --sites 3
      antiphon up 3 --directory lab --records all

    \b
    Exit codes:
      0  stopped cleanly
      1  a daemon failed
      2  wrong usage
      3  could not start: the message says why
    """
    fault = _port_fault(port, count)
    if fault:
        click.echo(f"antiphon up: {fault}", err=True)
        sys.exit(EXIT_UNREACHABLE)
    with _stop_by_signal(), tempfile.TemporaryDirectory(prefix="antiphon-") as temporary:
        try:
            place = (directory or Path(temporary)).absolute()
            cluster = LocalCluster(count, place, client_port=port, sites=sites, level=records)
            code = _run(cluster, quiet, as_json)
        except OSError as error:
            click.echo(f"antiphon up: {error.filename}: {error.strerror}", err=True)
            code = EXIT_UNREACHABLE
        except AntiphonError as error:
            click.echo(f"antiphon up: {error}", err=True)
            code = EXIT_UNREACHABLE
    sys.exit(code)


@contextmanager
def _stop_by_signal() -> Iterator[None]:
    """A request to end, however it comes, is a Ctrl-C: daemons must not be left behind."""
    handlers = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGHUP)}
    for one in handlers:
        signal.signal(one, signal.default_int_handler)
    try:
        yield
    finally:
        for one, handler in handlers.items():
            signal.signal(one, handler)


def _port_fault(first: int, count: int) -> str:
    """Why a port cannot be used, and the remedy; empty if all can. A daemon would find that out
    too, but one that runs there already would be taken for it."""
    if first + count > 65536:
        raise click.UsageError(f"port {first + count - 1} cannot be; use a lower --port")
    for port in range(first, first + count):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError as error:
                return f"port {port}: {(error.strerror or '').lower()}; use others: --port 5803"
    return ""


def _run(cluster: LocalCluster, quiet: bool, as_json: bool) -> int:
    """Until Ctrl-C, or until no daemon is left; the exit code."""
    logs = Logs(cluster.daemons, quiet)
    try:
        try:
            cluster.start()
            cluster.await_merge()
            _tell(cluster, as_json)
            code = _watch(cluster, logs)
        except KeyboardInterrupt:
            code = 0
    finally:
        # A second Ctrl-C must not leave daemons behind; they are killed after a while anyway.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        codes = cluster.stop()
        logs.show()
        logs.close()
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return EXIT_FAILED if any(codes) else code


def _tell(cluster: LocalCluster, as_json: bool) -> None:
    if as_json:
        daemons = [
            {
                "name": one.name,
                "site": one.site,
                "address": one.address,
                "socket": str(one.socket),
                "pid": one.pid,
            }
            for one in cluster.daemons
        ]
        config, place = str(cluster.config), str(cluster.directory)
        print_json({"config": config, "directory": place, "daemons": daemons})
        return
    last = cluster.daemons[-1].address
    for daemon in cluster.daemons:
        site = f"  {daemon.site}" if len({one.site for one in cluster.daemons}) > 1 else ""
        click.echo(f"{daemon.name:<6} {daemon.address}{site}")
    click.echo(f"configuration: {cluster.config}")
    click.echo("try, in two other terminals:")
    click.echo(f"  antiphon listen chat --connect {cluster.daemons[0].address}")
    click.echo(f"  antiphon send chat hello --connect {last}")
    click.echo("Ctrl-C stops all.")


def _watch(cluster: LocalCluster, logs: "Logs") -> int:
    """Until no daemon is left. One that fails is told, and can be started again by hand."""
    failed = 0
    running = list(cluster.daemons)
    while running:
        logs.show()
        for daemon in [one for one in running if not one.alive]:
            running.remove(daemon)
            assert daemon.process is not None
            code = daemon.process.returncode
            failed += code != 0
            again = shlex.join(
                ["antiphon", "daemon", "--config", str(cluster.config), "--name", daemon.name]
            )
            logs.say(daemon, f"ended with code {code}; to start it again: {again}")
        time.sleep(LOOK_SECONDS)
    return EXIT_FAILED if failed else 0


class Logs:
    """What the daemons log, each line with its daemon's name."""

    def __init__(self, daemons: list[LocalDaemon], quiet: bool) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._quiet = quiet
        self._width = max(len(daemon.name) for daemon in daemons)
        self._files: list[tuple[LocalDaemon, IO[str]]] = []
        self._rests: dict[str, str] = {}
        self._colours = {
            daemon.name: COLOURS[number % len(COLOURS)] for number, daemon in enumerate(daemons)
        }
        for daemon in daemons:
            daemon.log.touch()
            file = daemon.log.open(encoding="utf-8", errors="replace")
            file.seek(0, 2)  # a directory that was used before has older lines
            self._files.append((daemon, file))

    def show(self) -> None:
        """All that is new. A signal waits until it is shown: what is read is not read again."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
        try:
            for daemon, file in self._files:
                *lines, rest = (self._rests.get(daemon.name, "") + file.read()).split("\n")
                self._rests[daemon.name] = rest
                for line in lines:
                    if not self._quiet:
                        self.say(daemon, line)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def close(self) -> None:
        for _, file in self._files:
            file.close()

    def say(self, daemon: LocalDaemon, text: str) -> None:
        name = daemon.name.ljust(self._width)
        self._console.print(Text(name, style=self._colours[daemon.name]), Text(text))
