"""What `antiphon sim` prints about outcomes."""

import statistics
from time import perf_counter

import click
import msgspec
import rich.progress
from rich import box
from rich.console import Console
from rich.table import Table

from antiphon.core.machine import SECOND
from antiphon.sim.trial import Outcome
from antiphon.sim.unreached import Finding

COUNTEREXAMPLE_LINES = 6
FAILURES_TOLD_MAX = 20
FAILURES_NAMED_MAX = 100
FILE_WIDTH = 160


class Tally:
    """The sum of many outcomes."""

    def __init__(self) -> None:
        self.began = perf_counter()
        self.seeds = 0
        self.violations = 0
        """Seeds with a promise other than liveness broken."""

        self.stuck = 0
        self.failed: dict[int, Outcome] = {}
        self.configurations = 0
        self.transitional_deliveries = 0
        self.recoveries_aborted = 0
        self.busy_seconds = 0.0
        self._events: list[int] = []
        self._messages: list[int] = []
        self._configurations: list[int] = []

    def add(self, outcome: Outcome) -> None:
        self.seeds += 1
        self.violations += bool(outcome.safety)
        self.stuck += outcome.stuck
        if outcome.failed:
            self.failed[outcome.seed] = outcome
        self.configurations += outcome.configurations
        self.transitional_deliveries += outcome.transitional_deliveries
        self.recoveries_aborted += outcome.recoveries_aborted
        self.busy_seconds += outcome.seconds
        self._events.append(outcome.events)
        self._messages.append(outcome.messages)
        self._configurations.append(outcome.configurations)

    @property
    def events(self) -> int:
        return sum(self._events)

    def figures(self) -> dict[str, float]:
        return {
            "seeds": self.seeds,
            "violations": self.violations,
            "stuck": self.stuck,
            "events": self.events,
            "events_per_second": round(self.events / self.busy_seconds) if self.seeds else 0,
            "messages": sum(self._messages),
            "configurations": self.configurations,
            "transitional_deliveries": self.transitional_deliveries,
            "recoveries_aborted": self.recoveries_aborted,
            "seconds": round(perf_counter() - self.began, 1),
            "median_events": statistics.median(self._events) if self.seeds else 0,
            "median_configurations": statistics.median(self._configurations) if self.seeds else 0,
            "least_messages": min(self._messages, default=0),
        }


def wide_console() -> Console:
    """Into a file or a pipe lines may be long."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=FILE_WIDTH)


class Progress:
    """A bar on a terminal; failures as they come, everywhere."""

    def __init__(self, seeds: int) -> None:
        self._console = Console(highlight=False, soft_wrap=True)
        self._bar = rich.progress.Progress(
            rich.progress.TextColumn("{task.completed}/{task.total} seeds"),
            rich.progress.BarColumn(),
            rich.progress.TimeRemainingColumn(),
            rich.progress.TextColumn("{task.fields[found]}"),
            console=self._console,
            disable=not self._console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task("", total=seeds, found="")
        self._failures = 0

    def __enter__(self) -> "Progress":
        self._bar.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._bar.stop()

    def show(self, outcome: Outcome, tally: Tally) -> None:
        found = f"{tally.violations} violations, {tally.stuck} stuck"
        self._bar.update(self._task, advance=1, found=found)
        if not outcome.failed:
            return
        self._failures += 1
        if self._failures <= FAILURES_TOLD_MAX:
            self.say(failure_text(outcome))

    def say(self, text: str) -> None:
        self._console.print(text, markup=False)


def failure_text(outcome: Outcome) -> str:
    """Which promises a seed breaks, the first counterexample, and how to see it again."""
    lines = [f"seed {outcome.seed}: {', '.join(outcome.promises) or 'it does not end'}"]
    if outcome.violations:
        first = outcome.violations[0]
        lines.append(f"  {first.promise} at {first.time / SECOND:.6f}, {first.process}")
        lines += [f"    {text}" for text in first.text.splitlines()[-COUNTEREXAMPLE_LINES:]]
    lines.append(f"  replay: {replay_command(outcome)}")
    return "\n".join(lines)


def replay_command(outcome: Outcome) -> str:
    sites = "--sites " if outcome.sites > 1 else ""
    return f"antiphon sim {sites}--seed {outcome.seed} --timeline"


def print_tally(tally: Tally, as_json: bool) -> None:
    figures = tally.figures()
    console = wide_console()
    table = Table(box=box.SIMPLE, show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, value in figures.items():
        table.add_row(name.replace("_", " "), f"{value:,}")
    console.print(table)
    if tally.failed:
        failed = Table("seed", "promises", "replay", box=box.SIMPLE)
        for seed, outcome in sorted(tally.failed.items())[:FAILURES_NAMED_MAX]:
            promises = " ".join(outcome.promises) or "no end"
            failed.add_row(str(seed), promises, replay_command(outcome))
        console.print(failed)
        if len(tally.failed) > FAILURES_NAMED_MAX:
            console.print(f"and {len(tally.failed) - FAILURES_NAMED_MAX} more failed")
    if as_json:
        click.echo(msgspec.json.encode(figures))


def print_reach(rows: list[Finding]) -> int:
    """Every pair with its count; how many are not acceptable."""
    console = wide_console()
    table = Table("table", "state", "event or reason", box=box.SIMPLE)
    table.add_column("count", justify="right")
    table.add_column("note", overflow="fold")
    for row in rows:
        note = row.fault.upper() or row.explanation
        table.add_row(*row.pair, f"{row.times:,}", note, style="red" if row.fault else "")
    console.print(table)
    faults = sum(bool(row.fault) for row in rows)
    console.print(f"{len(rows)} pairs, {faults} of them not as they should be")
    return faults


def print_verdict(outcome: Outcome) -> None:
    click.echo(
        f"seed {outcome.seed}: {outcome.events:,} events, {outcome.messages} messages, "
        f"{outcome.configurations} configurations, {outcome.seconds:.2f} s"
    )
    if outcome.exhausted:
        click.echo("it did not come to an end: too many events")
    for found in outcome.violations:
        click.echo(f"{found.promise} at {found.time / SECOND:.6f} {found.process}: {found.text}")
    click.echo("FAILED" if outcome.failed else "every promise was kept")
