"""`antiphon fuzz`: every decoder, and nodes that run, under random and mutated input.

A decoder may answer with a message, which must encode back to the very same bytes, or with
DecodeError. A node may drop a packet, or believe it; it must neither raise nor break the
invariants of its machines. Inputs come from the seed alone, whatever the number of processes.
"""

import os
import sys
import traceback
from collections import Counter
from functools import partial
from random import Random
from time import perf_counter, process_time

import click
import msgspec
from rich import box
from rich.console import Console
from rich.table import Table

from antiphon.core.errors import DecodeError
from antiphon.sim.pool import over
from antiphon.tools.fuzz_inputs import mutated, samples
from antiphon.tools.fuzz_nodes import ONE_SITE, TWO_SITES, LiveNodes
from antiphon.tools.fuzz_targets import TARGETS, Target

CHUNK = 50_000
NODE = "node"
NODE_SHARE = 200
"""One input in so many goes to a node as a whole."""

STEPS_PER_WORLD = 100
ACCEPTED = "accepted"
FINDINGS_KEPT = 20


class Finding(msgspec.Struct, frozen=True):
    target: str
    what: str
    raw: bytes
    """The input, or the last of several for a node."""

    where: str

    def __str__(self) -> str:
        return f"{self.target}: {self.what}\n  input: {self.raw.hex()}\n{self.where}"


class Report(msgspec.Struct):
    inputs: int = 0
    seconds: float = 0.0
    """Processor time of all processes together."""

    counts: dict[str, Counter[str]] = {}
    """By target, then by outcome: accepted, taken, or the reason of a refusal."""

    findings: list[Finding] = []

    def add(self, other: "Report") -> None:
        self.inputs += other.inputs
        self.seconds += other.seconds
        for target, outcomes in other.counts.items():
            self.counts.setdefault(target, Counter()).update(outcomes)
        self.merge(other.findings)

    def find(self, target: str, what: str, raw: bytes, where: str = "") -> None:
        self.merge([Finding(target, what, raw, where)])

    def merge(self, findings: list[Finding]) -> None:
        """Each kind of finding once."""
        known = {(finding.target, finding.what) for finding in self.findings}
        for finding in findings:
            if (finding.target, finding.what) not in known and len(known) < FINDINGS_KEPT:
                known.add((finding.target, finding.what))
                self.findings.append(finding)


def run(count: int, seed: int, jobs: int = 1) -> Report:
    """So many inputs, in chunks that do not depend on each other."""
    total = Report()
    for report in over(range(0, count, CHUNK), partial(_run_chunk, seed, count), jobs):
        total.add(report)
    return total


def _run_chunk(seed: int, count: int, first: int) -> Report:
    size = min(CHUNK, count - first)
    rng = Random(f"fuzz {seed} {first}")
    samples()
    began = process_time()
    report = Report()
    nodes = size // NODE_SHARE
    feed_decoders(report, rng, size - nodes)
    feed_nodes(report, rng, nodes)
    report.seconds = process_time() - began
    return report


def feed_decoders(report: Report, rng: Random, count: int) -> None:
    targets = [(name, TARGETS[name], samples()[name]) for name in TARGETS]
    for name in TARGETS:
        report.counts.setdefault(name, Counter())
    for index in range(count):
        name, target, chosen = targets[index % len(targets)]
        raw = mutated(rng, chosen, chosen[int(rng.random() * len(chosen))])
        report.counts[name][_outcome(report, name, target, raw)] += 1
    report.inputs += count


def _outcome(report: Report, name: str, target: Target, raw: bytes) -> str:
    try:
        again = target(raw)
    except DecodeError as error:
        return error.reason
    except Exception as error:
        report.find(name, _last_line(error), raw)
        return type(error).__name__
    if again != raw:
        report.find(name, "it encodes to other bytes than it came from", raw)
        return "changed"
    return ACCEPTED


def _last_line(error: Exception) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {os.path.basename(place.filename)}:{place.lineno}: {error}"


def feed_nodes(report: Report, rng: Random, count: int) -> None:
    """Packets of running daemons, spoiled on their way."""

    def spoil(packets: list[bytes]) -> bytes:
        return mutated(rng, packets, packets[-1])

    fed = 0
    while fed < count:
        sites = rng.choice((ONE_SITE, TWO_SITES))
        live = LiveNodes(rng.getrandbits(32), spoil, sites, tcp=rng.random() < 0.5)
        faults: list[tuple[str, str]] = []
        steps = 0
        while not faults and steps < STEPS_PER_WORLD and fed + live.inputs < count:
            live.go_on()
            steps += 1
            faults = live.faults()
        for what, where in faults:
            report.find(NODE, what, live.last, where)
        fed += live.inputs
        report.counts.setdefault(NODE, Counter()).update(live.outcomes)
    report.inputs += fed


@click.command()
@click.option("--count", type=click.IntRange(min=1), default=200_000, help="How many inputs.")
@click.option("--seed", type=click.IntRange(min=0), default=1, help="Where they come from.")
@click.option("--jobs", type=click.IntRange(min=1), help="Processes; as many as cores if not said.")
@click.option("--json", "as_json", is_flag=True, help="End with one line of JSON.")
def fuzz(count: int, seed: int, jobs: int | None, as_json: bool) -> None:
    """Feed every decoder, and running nodes, with random and mutated bytes.

    \b
    antiphon fuzz --count 5000000 --seed 1
    """
    began = perf_counter()
    report = run(count, seed, jobs or os.cpu_count() or 1)
    print_report(report)
    figures = {
        "inputs": report.inputs,
        "findings": len(report.findings),
        "seconds": round(perf_counter() - began, 1),
        "inputs_per_second_per_core": round(report.inputs / max(report.seconds, 1e-9)),
    }
    if as_json:
        click.echo(msgspec.json.encode(figures))
    else:
        click.echo("  ".join(f"{name}: {value:,}" for name, value in figures.items()))
    sys.exit(1 if report.findings else 0)


def print_report(report: Report) -> None:
    console = Console(highlight=False)
    table = Table("target", "outcome", box=box.SIMPLE)
    table.add_column("inputs", justify="right")
    for target, outcomes in sorted(report.counts.items()):
        for outcome, times in outcomes.most_common():
            table.add_row(target, outcome, f"{times:,}")
            target = ""
    console.print(table)
    for finding in report.findings:
        console.print(str(finding), markup=False, soft_wrap=True)
