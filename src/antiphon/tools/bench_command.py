"""`antiphon bench`: measure a cluster, and check every message while measuring."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from secrets import token_hex
from typing import Any

import click
import msgspec
from rich import box
from rich.console import Console
from rich.table import Table

from antiphon.core.errors import AntiphonError
from antiphon.core.service import Service
from antiphon.pipeline.session import spark_session
from antiphon.tools.bench.growth.command import growth
from antiphon.tools.bench.membership import run_membership
from antiphon.tools.bench.order import Line, run_order
from antiphon.tools.bench.peers.compare import FULL, SHORT, Comparison, run_peers
from antiphon.tools.bench.peers.repeats import Repeats
from antiphon.tools.bench.peers.times import Saturated, run_times
from antiphon.tools.bench.plan import API, CLIENTS, Plan
from antiphon.tools.bench.reception import BenchFailed
from antiphon.tools.bench.steps import SIZES, STEPS, measure_steps
from antiphon.tools.bench.target import Target, own_daemons, running_daemons
from antiphon.tools.bench.traffic import Figures, Say, run_traffic
from antiphon.tools.bench.verify import run_verify
from antiphon.tools.bench.versus import CASES, PAIRS_LEAST, run_check
from antiphon.tools.bench.wan.command import wan
from antiphon.tools.tables import console, figures_table, rows_table

SERVICES = [service.name.lower() for service in Service]
DAEMONS = click.option(
    "--daemons", type=click.IntRange(1, 16), default=3, show_default=True, help="On loopback."
)
SITES = click.option(
    "--sites",
    type=click.IntRange(1, 16),
    default=1,
    show_default=True,
    help="The daemons are given to so many sites in turn.",
)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print the last line only.")


def traffic_options(seconds: float) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """What flood, ping and verify have in common."""
    options = [
        click.option("--senders", type=click.IntRange(1, 64), help="Processes that send."),
        click.option(
            "--receivers", type=click.IntRange(1, 200), help="One per daemon if not said."
        ),
        click.option("--groups", type=click.IntRange(1, 8192), default=1, show_default=True),
        click.option("--size", type=click.IntRange(16, 1 << 24), default=100, show_default=True),
        click.option("--seconds", type=click.FloatRange(0.1), default=seconds, show_default=True),
        click.option("--warmup", type=click.FloatRange(0), default=1.0, show_default=True),
        click.option("--api", type=click.Choice(API), default="asyncio", show_default=True),
        click.option("--await-each", is_flag=True, help="The loop turns after every message."),
        click.option("--receive-each", is_flag=True, help="Receivers take one event at a time."),
        AS_JSON,
    ]

    def add(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


SERVICE = click.option(
    "--service", type=click.Choice(SERVICES), default="agreed", show_default=True
)
TRAFFIC_DAEMONS = click.option(
    "--daemons",
    type=click.IntRange(1, 16),
    help="On loopback; 3 if not said, and 1 with --client spread.",
)
CLIENT = click.option(
    "--client",
    type=click.Choice(CLIENTS),
    default="native",
    show_default=True,
    help="The protocol that senders and receivers speak.",
)
ENCRYPTED = click.option("--encrypted", is_flag=True, help="Own daemons have a key.")
CONNECT = click.option(
    "--connect",
    "addresses",
    multiple=True,
    metavar="ADDRESS",
    help="A daemon that runs, instead of own ones; can be repeated.",
)


@click.group()
def bench() -> None:
    """Measure a cluster; every message is checked, byte by byte.

    Clients are processes of their own. The last line is one object of JSON.

    \b
    Examples:
      antiphon bench flood --seconds 5
      antiphon bench ping --service safe
      antiphon bench flood --client spread
      antiphon bench flood --connect 4803@localhost --size 1000
      antiphon bench flood --sites 3
      antiphon bench membership --repeat 20
      antiphon bench order
      antiphon bench verify
      antiphon bench stream --rows 500000
      antiphon bench wan --only table3
      antiphon bench steps
      antiphon bench peers
      antiphon bench check HEAD~1
      antiphon bench growth --only groups

    \b
    Exit codes:
      0  fine
      1  a message was wrong or missing, or a promise was broken
      2  wrong usage
    """


bench.add_command(wan)
bench.add_command(growth)


@bench.command()
@TRAFFIC_DAEMONS
@SITES
@CONNECT
@SERVICE
@CLIENT
@ENCRYPTED
@traffic_options(seconds=10.0)
def flood(
    daemons: int | None, sites: int, addresses: tuple[str, ...], service: str, **options: Any
) -> None:
    """As many messages as flow control permits."""
    _run_traffic(daemons, sites, addresses, [service], options)


@bench.command()
@TRAFFIC_DAEMONS
@SITES
@CONNECT
@SERVICE
@CLIENT
@ENCRYPTED
@click.option(
    "--rate",
    type=click.FloatRange(0.1, 100_000),
    default=100.0,
    show_default=True,
    help="Messages a second of each sender.",
)
@traffic_options(seconds=10.0)
def ping(
    daemons: int | None,
    sites: int,
    addresses: tuple[str, ...],
    service: str,
    rate: float,
    **options: Any,
) -> None:
    """Latency at a steady rate: one way to all receivers, and to one of them and back."""
    _run_traffic(daemons, sites, addresses, [service], options | {"rate": rate})


@bench.command()
@DAEMONS
@SITES
@click.option("--repeat", type=click.IntRange(1), default=20, show_default=True)
@AS_JSON
def membership(daemons: int, sites: int, repeat: int, as_json: bool) -> None:
    """How long until all clients have the new view.

    A client joins and leaves, daemons are split and healed, a daemon is killed and restarted.
    """
    if daemons < 2:
        raise click.UsageError("one daemon alone has nobody to lose; use --daemons 2 or more")
    with _outcome(as_json) as (say, show):
        with own_daemons(daemons, sites=sites) as (_, cluster):
            show(run_membership(cluster, repeat, say) | {"sites": sites})


@bench.command()
@click.option(
    "--daemons", type=click.IntRange(2, 16), default=3, show_default=True, help="On loopback."
)
@click.option("--size", type=click.IntRange(16, 1 << 24), default=1000, show_default=True)
@click.option("--seconds", type=click.FloatRange(0.1), default=3.0, show_default=True)
@click.option("--repeat", type=click.IntRange(1), default=3, show_default=True)
@AS_JSON
def order(daemons: int, size: int, seconds: float, repeat: int, as_json: bool) -> None:
    """A ring against a site for each daemon, which order by stamps alone.

    Idle, all senders busy, and one sender busy; agreed messages, by turns.
    """
    with _outcome(as_json) as (say, _):
        lines, load = run_order(daemons, size, seconds, repeat, say)
        if not as_json:
            Console(highlight=False).print(_orders(lines))
        click.echo(msgspec.json.encode({"lines": lines, "load_average": load}).decode())


@bench.command()
@DAEMONS
@SITES
@click.option(
    "--service",
    "services",
    type=click.Choice(SERVICES),
    multiple=True,
    help="Of the senders in turn; all six if not said.",
)
@traffic_options(seconds=3.0)
def verify(daemons: int, sites: int, services: tuple[str, ...], **options: Any) -> None:
    """Flood with everything recorded, and judge the records."""
    services = services or tuple(SERVICES)
    options["senders"] = options["senders"] or len(services)
    as_json = options.pop("as_json")
    plan = _plan([*services], daemons, options)
    with _outcome(as_json) as (say, show):
        found, violations = run_verify(plan, daemons, sites, say)
        for violation in violations:
            click.echo(f"{violation.promise} {violation.process}: {violation.text}", err=True)
        show(found)
        if violations or found["failure"] or found["rows_lost"] or found["torn"]:
            sys.exit(1)


@bench.command()
@DAEMONS
@click.option("--rows", type=click.IntRange(1), default=2_000_000, show_default=True)
@click.option("--size", type=click.IntRange(16, 1 << 24), default=100, show_default=True)
@click.option("--repeat", type=click.IntRange(1), default=3, show_default=True)
@click.option("--trips", type=click.IntRange(1), default=60, show_default=True)
@click.option(
    "--rate",
    type=click.FloatRange(0.01, 100),
    default=1.0,
    show_default=True,
    help="Trips a second, or fewer: there is one at a time.",
)
@AS_JSON
def stream(daemons: int, as_json: bool, **options: Any) -> None:
    """Rows a second out of a kept group's log into Spark; the trip of a message through Spark.

    Needs Spark.
    """
    from antiphon.tools.bench.stream import KEPT, StreamPlan, run_stream

    plan = StreamPlan(**options)
    quiet = {"spark.ui.showConsoleProgress": "false"}
    with _outcome(as_json) as (say, show), own_daemons(daemons, extra=KEPT) as (target, _):
        with spark_session("bench stream", extra=quiet) as spark:
            show(run_stream(spark, target.addresses, plan, say))


@bench.command()
@click.option("--full", is_flag=True, help="Safe messages and three senders, too.")
@click.option("--runs", type=click.IntRange(1), help="Of every rate; 3 if not said, 5 with --full.")
@click.option("--seconds", type=click.FloatRange(0.5), default=3.0, show_default=True)
@AS_JSON
def peers(full: bool, runs: int | None, seconds: float, as_json: bool) -> None:
    """Our rates and times against the bars set by the C systems, with Corosync measured by turns.

    NATS and ZeroMQ are measured beside them, if they can be had. Needs root; installs Corosync and
    NATS by apt if they are missing.
    """
    with _outcome(as_json) as (say, _):
        runs = runs or (5 if full else 3)
        repeats = Repeats(partial(click.echo, err=True))
        found = run_peers(FULL if full else SHORT, runs, seconds, say, repeats)
        saturated = [
            Saturated(line.daemons, line.size, line.ours)
            for line in found.lines
            if (line.service, line.senders, line.client) == ("agreed", 1, "asyncio")
            and not line.encrypted
        ]
        times = run_times(saturated, seconds, runs, say, repeats)
        if not as_json:
            console().print(rows_table("messages a second", _rows(found.lines)))
            console().print(rows_table("others, messages a second", _systems(found)))
            held = [
                row | {"holds": one.holds} for row, one in zip(_rows(times), times, strict=True)
            ]
            console().print(rows_table("times", held))
        for name, why in found.without.items():
            click.echo(f"without {name}: {why}", err=True)
        told = msgspec.structs.asdict(found) | {"times": times, "repeated": repeats.count}
        click.echo(msgspec.json.encode(told).decode())


def _systems(found: Comparison) -> list[dict[str, Any]]:
    """A row for each of the others, a column for each size."""
    sizes = dict.fromkeys(line.size for line in found.lines)
    return [
        {"system": name} | {f"{size:,} bytes": rates.get(size) for size in sizes}
        for name, rates in found.systems.items()
    ]


@bench.command()
@click.argument("base", default="HEAD")
@click.option("--pairs", type=click.IntRange(PAIRS_LEAST), default=PAIRS_LEAST, show_default=True)
@click.option("--seconds", type=click.FloatRange(0.5), default=2.0, show_default=True)
@AS_JSON
def check(base: str, pairs: int, seconds: float, as_json: bool) -> None:
    """This tree against the commit BASE, by turns: ratios of their rates, with quartiles."""
    with _outcome(as_json) as (say, _):
        ratios = run_check(base, CASES, pairs, seconds, say)
        if not as_json:
            console().print(rows_table(f"rates by those of {base}", _rows(ratios)))
        click.echo(msgspec.json.encode(ratios).decode())


@bench.command()
@click.option(
    "--only", multiple=True, type=click.Choice([step.name for step in STEPS]), help="This step."
)
@click.option("--size", "sizes", multiple=True, type=click.IntRange(1, 1 << 16), default=SIZES)
@click.option(
    "--rest-ms", type=click.FloatRange(0, 1_000), default=0.0, help="Sleep before each time."
)
@AS_JSON
def steps(only: tuple[str, ...], sizes: tuple[int, ...], rest_ms: float, as_json: bool) -> None:
    """What single steps of a message's way cost, without sockets: microseconds of processor."""
    found = list(measure_steps(only, sizes, rest_ms / 1_000))
    if not as_json:
        console().print(rows_table("steps", _rows(found)))
    click.echo(msgspec.json.encode(found).decode())


def _rows(found: Sequence[msgspec.Struct]) -> list[dict[str, Any]]:
    return [msgspec.structs.asdict(one) for one in found]


def _run_traffic(
    daemons: int | None,
    sites: int,
    addresses: tuple[str, ...],
    services: list[str],
    options: dict[str, Any],
) -> None:
    as_json, encrypted = options.pop("as_json"), options.pop("encrypted")
    if addresses and encrypted:
        raise click.UsageError("daemons that run encrypt or do not; leave --encrypted out")
    count = daemons or (1 if options["client"] == "spread" else 3)
    plan = _plan(services, len(addresses) or count, options)
    chosen = _target(count, sites, addresses, plan.client, encrypted)
    with _outcome(as_json) as (say, show), chosen as target:
        where = {"daemons": len(target.addresses), "sites": sites, "encrypted": encrypted}
        show(run_traffic(plan, target, say) | where)


def _plan(services: list[str], daemons: int, options: dict[str, Any]) -> Plan:
    chosen = {name: value for name, value in options.items() if value is not None}
    chosen.setdefault("receivers", daemons)
    try:
        return Plan(
            services=tuple(Service[name.upper()] for name in services),
            prefix=f"bench-{token_hex(3)}",
            **chosen,
        )
    except AntiphonError as error:
        raise click.UsageError(str(error)) from None


@contextmanager
def _target(
    daemons: int, sites: int, addresses: tuple[str, ...], client: str, encrypted: bool
) -> Iterator[Target]:
    if addresses and client == "spread":
        yield Target([*addresses], [])  # perhaps no daemon of ours, which could tell its process
    elif addresses:
        yield running_daemons(addresses)
    else:
        with own_daemons(daemons, sites=sites, encrypted=encrypted) as (target, _):
            yield target


@contextmanager
def _outcome(as_json: bool) -> Iterator[tuple[Say, Callable[[Figures], None]]]:
    """A line that tells how far it is, on a terminal; then the figures, or why there are none."""
    console = Console(stderr=True, highlight=False)

    def show(found: Figures) -> None:
        if not as_json:
            Console(highlight=False).print(figures_table(found))
        click.echo(msgspec.json.encode(found).decode())

    try:
        with console.status("starting daemons") as status:
            yield status.update, show
    except BenchFailed as error:
        click.echo(f"antiphon bench: {error}", err=True)
        sys.exit(1)
    except AntiphonError as error:
        raise click.UsageError(str(error)) from None


def _orders(lines: list[Line]) -> Table:
    table = Table(box=box.SIMPLE)
    for heading in ("load", "ordering"):
        table.add_column(heading)
    for heading in ("messages/s", "latency p50 ms", "p99 ms"):
        table.add_column(heading, justify="right")
    for line in lines:
        times = (f"{taken / 1000:.2f}" for taken in (line.latency_p50_us, line.latency_p99_us))
        table.add_row(line.load, line.ordering, f"{line.messages_per_second:,.0f}", *times)
    return table
