"""`antiphon wan`: sites in network namespaces, with real delay, loss and bandwidth between them."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
import msgspec
from rich import box
from rich.console import Console
from rich.table import Table

from antiphon.core.errors import AntiphonError
from antiphon.tools.chaos.namespaces import require_programs
from antiphon.tools.tables import console
from antiphon.tools.wan.echo import Echoes, echo_command
from antiphon.tools.wan.emulation import Emulation
from antiphon.tools.wan.orders import Counts
from antiphon.tools.wan.paths import paths, ping_ms
from antiphon.tools.wan.presets import text_of, topology_of
from antiphon.tools.wan.topology import Topology, link_name

Row = dict[str, Any]
TOPOLOGY = click.argument("topology")
SEED = click.option("--seed", default=7, show_default=True, help="Draws losses and jitter.")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, an object a line.")


@click.group()
def wan() -> None:
    """Run real programs at sites that are far apart: real UDP and TCP of the kernel, and
    emulated delay, jitter, loss, reordering and bandwidth.

    TOPOLOGY is a TOML file, or one of six-sites, three-sites and two-sites; the last one takes
    options, as in two-sites:delay_ms=20,mbit=10,hosts=2. Needs root, but for `show`.

    \b
    Examples:
      antiphon wan show six-sites
      antiphon wan ping six-sites mae-east ucsb
      antiphon wan up two-sites:delay_ms=20,mbit=10
      antiphon wan run six-sites --at cnds -- ping -c 3 {ucsb}
      antiphon wan show six-sites --toml > mine.toml

    \b
    Exit codes:
      0  fine
      1  no ping came back
      2  wrong usage, or this machine does not allow it
      of `run`: that of the command
    """


@wan.command()
@TOPOLOGY
@click.option("--toml", is_flag=True, help="The topology as a file, to change it.")
@AS_JSON
def show(topology: str, toml: bool, as_json: bool) -> None:
    """Print the paths between all sites: delay, bandwidth, loss, and the ping to expect."""
    made = _topology(topology)
    if toml:
        click.echo(text_of(topology), nl=False)
        return
    rows = _path_rows(made)
    if as_json:
        for row in rows:
            _print_json(row)
        return
    table = Table("from", "to", "by", box=box.SIMPLE)
    for title in ("delay ms", "jitter ms", "loss %", "Mbit/s", "ping ms"):
        table.add_column(title, justify="right")
    for row in rows:
        table.add_row(
            row["from"],
            row["to"],
            ", ".join(row["by"]) or "-",
            f"{row['delay_ms']:g}",
            f"{row['jitter_ms']:g}",
            f"{100 * row['loss']:g}",
            f"{row['mbit']:g}" if row["mbit"] else "-",
            f"{row['ping_ms']:.1f}",
        )
    console().print(table)
    click.echo("A ping is one of 1024 bytes, there and back, while nobody else sends.")


@wan.command()
@TOPOLOGY
@SEED
@AS_JSON
def up(topology: str, seed: int, as_json: bool) -> None:
    """Run until Ctrl-C; Enter prints what the links have counted."""
    with _emulation(topology, seed) as emulation:
        if as_json:
            _print_json({"hosts": _host_rows(emulation)})
        else:
            _print_hosts(emulation)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            _serve_requests(emulation, as_json)
        except KeyboardInterrupt:
            _print_counts(emulation.counts(), as_json, console())


@wan.command(context_settings={"ignore_unknown_options": True})
@TOPOLOGY
@click.option("--at", "host", required=True, help="At which host.")
@click.option("--counts", is_flag=True, help="What links have counted, to standard error.")
@SEED
@AS_JSON
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(
    topology: str, host: str, counts: bool, seed: int, as_json: bool, command: tuple[str, ...]
) -> None:
    """Run one command at a host, and end when it ends.

    In the command, {HOST} stands for that host's address.
    """
    with _emulation(topology, seed) as emulation:
        process = emulation.popen(host, [_with_addresses(word, emulation) for word in command])
        try:
            code = process.wait()
        except KeyboardInterrupt:
            code = process.wait()  # it has had the Ctrl-C too
        if counts:
            _print_counts(emulation.counts(), as_json, Console(stderr=True, highlight=False))
    sys.exit(code if code >= 0 else 128 - code)


@wan.command()
@TOPOLOGY
@click.argument("source")
@click.argument("target")
@click.option("--count", type=click.IntRange(1, 10_000), default=20, show_default=True)
@click.option(
    "--interval", type=click.FloatRange(1.0), default=50.0, show_default=True, help="Milliseconds."
)
@click.option(
    "--size", type=click.IntRange(0, 1472), default=1024, show_default=True, help="Bytes."
)
@SEED
@AS_JSON
def ping(
    topology: str,
    source: str,
    target: str,
    count: int,
    interval: float,
    size: int,
    seed: int,
    as_json: bool,
) -> None:
    """Measure the round trip between two hosts."""
    with _emulation(topology, seed) as emulation:
        command = echo_command(emulation.address(target), count, interval, size)
        said, _ = emulation.popen(source, command, stdout=subprocess.PIPE).communicate()
    echoes = msgspec.json.decode(said, type=Echoes)
    if as_json:
        _print_json(echoes)
    else:
        click.echo(f"{source} to {target}: {echoes.received} of {echoes.sent} came back")
        if echoes.received:
            click.echo(
                f"min {echoes.min_ms:.2f}  mean {echoes.mean_ms:.2f}  max {echoes.max_ms:.2f}  "
                f"deviation {echoes.deviation_ms:.2f} ms"
            )
    sys.exit(0 if echoes.received else 1)


def _topology(name: str) -> Topology:
    try:
        return topology_of(name)
    except AntiphonError as error:
        raise click.UsageError(str(error)) from error


@contextmanager
def _emulation(name: str, seed: int) -> Iterator[Emulation]:
    """What is wrong with the request, before or while it runs, is told as wrong usage."""
    topology = _topology(name)
    try:
        require_programs(lambda text: click.echo(text, err=True))
        with Emulation(topology, seed) as emulation:
            yield emulation
    except AntiphonError as error:
        raise click.UsageError(str(error)) from error


def _serve_requests(emulation: Emulation, as_json: bool) -> None:
    """Until Ctrl-C. Without a terminal there is no Enter."""
    for _ in sys.stdin:
        _print_counts(emulation.counts(), as_json, console())
    signal.pause()


def _with_addresses(word: str, emulation: Emulation) -> str:
    for host in emulation.hosts:
        word = word.replace(f"{{{host.name}}}", host.address)
    return word


def _path_rows(topology: Topology) -> list[Row]:
    return [
        {
            "from": start,
            "to": end,
            "by": path.via,
            "delay_ms": round(path.delay_ms, 3),
            "jitter_ms": round(path.jitter_ms, 3),
            "loss": round(path.loss, 6),
            "mbit": path.mbit,
            "ping_ms": round(ping_ms(topology, start, end), 2),
        }
        for (start, end), path in paths(topology).items()
    ]


def _host_rows(emulation: Emulation) -> list[Row]:
    return [
        {
            "name": host.name,
            "site": host.site,
            "address": host.address,
            "namespace": emulation.namespace(host.name),
        }
        for host in emulation.hosts
    ]


def _print_hosts(emulation: Emulation) -> None:
    table = Table("host", "site", "address", "namespace", box=box.SIMPLE)
    rows = _host_rows(emulation)
    for row in rows:
        table.add_row(*row.values())
    console().print(table)
    click.echo(f"To run a command at {rows[0]['name']}:")
    click.echo(f"  {' '.join(emulation.inside(rows[0]['name']))} COMMAND")
    click.echo("Enter shows what the links have counted, Ctrl-C ends it.")


def _print_counts(counts: Counts, as_json: bool, where: Console) -> None:
    """Of the links that were used."""
    if as_json:
        where.print(msgspec.json.encode(counts).decode(), soft_wrap=True)
        return
    table = Table("link", box=box.SIMPLE)
    for title in ("packets", "MB", "lost", "dropped", "reordered"):
        table.add_column(title, justify="right")
    for start, end, one in counts.links:
        if one.packets or one.dropped:
            numbers = (one.lost, one.dropped, one.reordered)
            table.add_row(
                link_name(start, end),
                str(one.packets),
                f"{one.bytes / 1e6:.3f}",
                *map(str, numbers),
            )
    where.print(table)
    late = (
        f"{counts.late_us / 1000:.2f} ms late on average, {counts.late_us_max / 1000:.2f} at most"
    )
    where.print(f"{counts.arrived} packets arrived, {late}")
    if counts.strays:
        where.print(f"{counts.strays} packets were for no host")
    if counts.overruns:
        where.print(f"{counts.overruns} packets were lost because this machine is too slow")


def _print_json(value: Any) -> None:
    click.echo(msgspec.json.encode(value).decode())
