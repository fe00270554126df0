"""`antiphon sim demo`: a group forms, splits and merges, told by two of its clients."""

import sys

import click
from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from antiphon.core.trace import Kind
from antiphon.sim.demo import EYES, PROMISES, Demo, Entry, seconds, tell

STYLES = {"message": "", "late": "yellow", "view": "cyan", "transition": "yellow"}


@click.command()
def demo() -> None:
    """See a group form, split and merge, with the verdict of the judges."""
    told = tell()
    console = Console(highlight=False)
    console.print(_introduction(told))
    console.print(_configurations(told))
    console.print(_diaries(told))
    console.print(_verdict(told))
    sys.exit(1 if told.outcome.failed else 0)


def _introduction(told: Demo) -> Panel:
    faults = [record for record in told.records if record.kind is Kind.FAULT]
    lines = [
        f"{told.trial.script.daemons} daemons, one client at each, in the group 'chat'.",
        *(f"{seconds(fault.time)} s  {fault.reason.split(' ', 2)[2]}" for fault in faults),
        "The same node that ships, in a simulated network; the same each time.",
    ]
    return Panel("\n".join(lines), title="A partition and a merge", expand=False)


def _configurations(told: Demo) -> Table:
    table = Table(title="Configurations of the daemons", box=box.SIMPLE, title_justify="left")
    table.add_column("at s", justify="right")
    table.add_column("members")
    table.add_column("why", overflow="fold")
    for record in told.installs():
        members = " ".join(str(member.daemon) for member in record.members)
        table.add_row(seconds(record.time), members, record.detail)
    return table


def _diaries(told: Demo) -> Table:
    table = Table(
        title="What two clients were told, the same messages side by side",
        box=box.SIMPLE,
        title_justify="left",
        caption="~ in the transitional view, to those who came along",
        caption_justify="left",
    )
    for daemon in EYES:
        table.add_column("at s", justify="right")
        table.add_column(f"at daemon {daemon}", overflow="fold")
    for pair in told.side_by_side():
        table.add_row(*(cell for entry in pair for cell in _cells(entry)))
    return table


def _cells(entry: Entry | None) -> tuple[Text, Text]:
    if entry is None:
        return Text(""), Text("")
    style = STYLES[entry.kind]
    mark = "~ " if entry.kind == "late" else ""
    return Text(seconds(entry.time), style), Text(mark + entry.text, style)


def _verdict(told: Demo) -> Table:
    broken: dict[str, int] = {}
    for found in told.outcome.violations:
        broken[found.promise] = broken.get(found.promise, 0) + 1
    table = Table(title="Verdict of the judges", box=box.SIMPLE, title_justify="left")
    for heading in ("promise", "", "verdict"):
        table.add_column(heading)
    for promise in {**PROMISES, **broken}:
        times = broken.get(promise, 0)
        verdict = Text(f"broken {times} times", "red") if times else Text("kept", "green")
        table.add_row(promise, PROMISES.get(promise, ""), verdict)
    return table
