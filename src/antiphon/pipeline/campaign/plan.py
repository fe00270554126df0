"""What a campaign plays, and one run of it: this is what executors do."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from importlib import import_module
from typing import Any, NamedTuple

from antiphon.core.errors import UsageError
from antiphon.records.segment import Heading
from antiphon.records.whole import whole_segment
from antiphon.sim.figures import figures
from antiphon.sim.grid import Cell, Scenario, label
from antiphon.sim.trial import Planter, play

SCHEMA = (
    "cell string, axes map<string,string>, seed long, name string, failed boolean, "
    "violated boolean, stuck boolean, promises array<string>, events long, "
    "messages long, configurations long, transitional long, aborted long, seconds double, "
    "merge_us long, latency array<struct<service:string,bucket:int,count:long>>, "
    "script string, trace binary"
)
TRACES_PER_TASK = 3
"""A bug that breaks every run is seen from a few; the others can be replayed."""


class Item(NamedTuple):
    """One simulation: a place of the grid, and a seed."""

    cell: int
    seed: int


@dataclass(frozen=True, slots=True)
class Plan:
    scenario: Scenario
    cells: Sequence[Cell]
    seeds: range
    mutant: str = ""
    """Planted in every node, to see that campaigns find something."""

    def items(self) -> Iterator[Item]:
        """The first seed in every cell, then the second: stopped early it shows all of the
        grid."""
        return (Item(cell, seed) for seed in self.seeds for cell in range(len(self.cells)))

    def check(self) -> None:
        """Each cell can be played; else ConfigError names what cannot."""
        self.planter()
        for cell in self.cells:
            self.scenario.trial(cell, self.seeds[0])

    def planter(self) -> Planter | None:
        if not self.mutant:
            return None
        known = import_module("antiphon.sim.mutants").MUTANTS
        if self.mutant not in known:
            what = f"there is no mutant {self.mutant!r}"
            raise UsageError("no_mutant", what, "see antiphon sim mutants --help")
        plant: Planter = known[self.mutant].plant
        return plant

    @property
    def name(self) -> str:
        """Runs of the same scenario have one, whatever their cells and seeds."""
        told = repr((self.scenario, self.mutant)).encode()
        return blake2b(told, digest_size=6).hexdigest()

    def name_of(self, cell: Cell, seed: int) -> str:
        """Of a run; it can be that of a file."""
        told = f"{self.name} {label(cell)}".encode()
        return f"{blake2b(told, digest_size=6).hexdigest()}.{seed}"


def play_all(plan: Plan, items: Sequence[Item]) -> Iterator[dict[str, Any]]:
    """The rows of these items, in their order."""
    plant = plan.planter()
    traces = 0
    for item in items:
        row = _play(plan, item, plant, traces < TRACES_PER_TASK)
        traces += row["trace"] is not None
        yield row


def _play(plan: Plan, item: Item, plant: Planter | None, with_trace: bool) -> dict[str, Any]:
    cell = plan.cells[item.cell]
    trial = plan.scenario.trial(cell, item.seed)
    played, outcome = play(trial, plant)
    found = figures(played.records)
    name = plan.name_of(cell, item.seed)
    told = outcome.failed and with_trace
    heading = Heading(run=name, source="sim", name="sim")
    return {
        "cell": label(cell),
        "axes": dict(cell),
        "seed": item.seed,
        "name": name,
        "failed": outcome.failed,
        "violated": bool(outcome.safety),
        "stuck": outcome.stuck,
        "promises": outcome.promises,
        "events": outcome.events,
        "messages": outcome.messages,
        "configurations": outcome.configurations,
        "transitional": outcome.transitional_deliveries,
        "aborted": outcome.recoveries_aborted,
        "seconds": outcome.seconds,
        "merge_us": found.merge_us,
        "latency": [
            {"service": service, "bucket": number, "count": count}
            for (service, number), count in sorted(found.latencies.items())
        ],
        "script": str(trial) if outcome.failed else None,
        "trace": whole_segment(played.records, heading) if told else None,
    }
