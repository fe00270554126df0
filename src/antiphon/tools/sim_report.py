"""What `antiphon sim` prints about outcomes."""

import statistics
from time import perf_counter

import click
import msgspec

from antiphon.core.machine import SECOND
from antiphon.sim.trial import Outcome

COUNTEREXAMPLE_LINES = 6
FAILURES_NAMED_MAX = 20


class Tally:
    """The sum of many outcomes."""

    def __init__(self) -> None:
        self.began = perf_counter()
        self.seeds = 0
        self.violations = 0
        """Seeds with a promise other than liveness broken."""

        self.stuck = 0
        self.failed: dict[int, list[str]] = {}
        self.messages = 0
        self.configurations = 0
        self.transitional_deliveries = 0
        self.recoveries_aborted = 0
        self.busy_seconds = 0.0
        self._events: list[int] = []
        self._configurations: list[int] = []

    def add(self, outcome: Outcome) -> None:
        self.seeds += 1
        self.violations += bool(outcome.safety)
        self.stuck += outcome.stuck
        if outcome.failed:
            self.failed[outcome.seed] = outcome.promises
        self.messages += outcome.messages
        self.configurations += outcome.configurations
        self.transitional_deliveries += outcome.transitional_deliveries
        self.recoveries_aborted += outcome.recoveries_aborted
        self.busy_seconds += outcome.seconds
        self._events.append(outcome.events)
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
            "messages": self.messages,
            "configurations": self.configurations,
            "transitional_deliveries": self.transitional_deliveries,
            "recoveries_aborted": self.recoveries_aborted,
            "seconds": round(perf_counter() - self.began, 1),
            "median_events": statistics.median(self._events) if self.seeds else 0,
            "median_configurations": statistics.median(self._configurations) if self.seeds else 0,
        }


def print_failure(outcome: Outcome) -> None:
    """Which promises a seed breaks, how it begins, and how to see it again."""
    names = ", ".join(outcome.promises) or "no end"
    click.echo(f"seed {outcome.seed}: {names}")
    if outcome.violations:
        first = outcome.violations[0]
        told = "\n".join(first.text.splitlines()[-COUNTEREXAMPLE_LINES:])
        click.echo(f"  {first.promise} at {first.time / SECOND:.6f} {first.process}: {told}")
    click.echo(f"  antiphon sim --seed {outcome.seed} --timeline")


def print_tally(tally: Tally, as_json: bool) -> None:
    figures = tally.figures()
    for name, value in figures.items():
        click.echo(f"{name.replace('_', ' '):<24} {value:>14,}")
    if as_json:
        click.echo(msgspec.json.encode(figures))


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
