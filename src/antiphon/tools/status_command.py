"""`antiphon status`: what daemons say about themselves."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table

from antiphon.client.errors import SessionError
from antiphon.tools.reaching import (
    EXIT_UNREACHABLE,
    Access,
    Target,
    access_options,
    ask,
    print_json,
    run,
    targets_of,
    targets_options,
)
from antiphon.tools.tables import console

Answer = dict[str, Any]
"""A daemon's status, or `daemon` and `error`."""


@click.command()
@targets_options
@click.option("--watch", is_flag=True, help="Again and again, until Ctrl-C.")
@click.option("--interval", type=click.FloatRange(min=0.1), default=1.0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One object of JSON per daemon.")
@access_options
def status(
    addresses: tuple[str, ...],
    config: Path | None,
    watch: bool,
    interval: float,
    as_json: bool,
    access: Access,
) -> None:
    """Show the configuration a daemon is in, why, and what it counts; of several, a line each.

    \b
    Examples:
      antiphon status
      antiphon status --watch --connect 4803 --connect 4804
      antiphon status --config cluster.toml --json

    \b
    Exit codes:
      0  all answered
      2  wrong usage
      3  a daemon cannot be reached
    """
    try:
        sys.exit(run("status", _status(addresses, config, watch, interval, as_json, access)))
    except KeyboardInterrupt:
        return


async def _status(
    addresses: tuple[str, ...],
    config: Path | None,
    watch: bool,
    interval: float,
    as_json: bool,
    access: Access,
) -> int:
    targets = targets_of(addresses, config)
    terminal = console()
    if not watch:
        return _show(await _answers(targets, access), as_json, terminal)
    if as_json or not terminal.is_terminal:
        while True:
            _show(await _answers(targets, access), as_json, terminal)
            await asyncio.sleep(interval)
    with Live(console=terminal, auto_refresh=False) as live:
        while True:
            live.update(_picture(await _answers(targets, access)), refresh=True)
            await asyncio.sleep(interval)


async def _answers(targets: list[Target], access: Access) -> list[Answer]:
    return await asyncio.gather(*(_answer(target, access) for target in targets))


async def _answer(target: Target, access: Access) -> Answer:
    try:
        answer: Answer = await ask(target, access, "status")
    except SessionError as error:
        return {"daemon": str(target), "error": str(error), "code": error.code}
    return answer


def _show(answers: list[Answer], as_json: bool, terminal: Console) -> int:
    """The exit code."""
    failures = [answer for answer in answers if "error" in answer]
    if as_json:
        for answer in answers:
            print_json(answer)
    elif len(answers) > len(failures):
        terminal.print(_picture(answers))
    for failure in failures:
        click.echo(f"antiphon status: {failure['daemon']}: {failure['error']}", err=True)
    return EXIT_UNREACHABLE if failures else 0


def _picture(answers: list[Answer]) -> Table:
    if len(answers) == 1 and "error" not in answers[0]:
        return _details(answers[0])
    columns = ("daemon", "state", "with", "sessions", "groups", "up", "last change")
    table = Table(*columns, box=box.SIMPLE)
    for answer in answers:
        if "error" in answer:
            table.add_row(answer["daemon"], "unreachable", style="red")
            continue
        table.add_row(
            _placed(answer),
            _state(answer),
            _together(answer),
            str(answer["sessions"]),
            str(answer["groups"]),
            _duration(answer["uptime_seconds"]),
            answer["evidence"] or "start",
            style="" if _is_whole(answer) else "yellow",
        )
    return table


def _placed(answer: Answer) -> str:
    """With its site, if there are several."""
    name: str = answer["daemon"]
    sites = answer["sites"]
    return f"{name} ({sites[name]})" if len(set(sites.values())) > 1 else name


def _together(answer: Answer) -> str:
    """Segments apart, each with its site; the first of each leads it."""
    sites = answer["sites"]
    if len(set(sites.values())) < 2:
        return ", ".join(answer["members"])
    parts = [f"{sites.get(part[0], '?')}: {', '.join(part)}" for part in answer["segments"]]
    return " | ".join(parts)


def _is_whole(answer: Answer) -> bool:
    return set(answer["members"]) == set(answer["known_daemons"])


def _state(answer: Answer) -> str:
    cut = f", cut from {', '.join(answer['silenced'])}" if answer["silenced"] else ""
    return f"{answer['state']}{cut}"


def _details(answer: Answer) -> Table:
    absent = sorted(set(answer["known_daemons"]) - set(answer["members"]))
    rows = {
        "daemon": f"{_placed(answer)} (id {answer['id']}, process {answer['pid']})",
        "up": _duration(answer["uptime_seconds"]),
        "state": _state(answer),
        "configuration": _together(answer),
        **({"without": ", ".join(absent)} if absent else {}),
        "last change": answer["evidence"] or "start",
        **{f"link to {link['peer']}": _link(link) for link in answer["links"]},
        "sessions": str(answer["sessions"]),
        "groups": str(answer["groups"]),
        "offload": _on(answer["offload"]),
        "network": _counts(answer["network"]),
        "drops": _counts(answer["drops"]),
        "clients": _counts(answer["clients"]),
        "stalls": _counts(answer["stalls"]),
        "records": _records(answer["records"]),
    }
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, value in rows.items():
        table.add_row(name, value, style="yellow" if name == "without" else "")
    return table


def _link(link: dict[str, Any]) -> str:
    trip, rate = link["round_trip_ms"], link["rate_bits"]
    told = [
        link["kind"] if link["state"] == "up" else f"{link['kind']}, {link['state']}",
        "round trip not known yet" if trip is None else f"round trip {trip:.1f} ms",
        f"loss {100 * link['loss']:.1f} %",
        *([] if rate is None else [f"rate {rate / 1e6:.2f} Mbit/s"]),
        f"waiting {link['waiting_bytes']:,} bytes",
        f"not acknowledged {link['unacknowledged']:,}",
    ]
    return ", ".join(told)


def _on(offload: dict[str, bool]) -> str:
    return ", ".join(f"{name} {'on' if is_on else 'off'}" for name, is_on in offload.items())


def _counts(counts: dict[str, int]) -> str:
    told = (f"{name.replace('_', ' ')} {count:,}" for name, count in sorted(counts.items()))
    return ", ".join(told) or "none"


def _records(records: dict[str, Any]) -> str:
    if not records:
        return "off"
    return f"{records['written']:,} written, dropped: {_counts(records['dropped'])}"


def _duration(seconds: float) -> str:
    whole = int(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}"
