"""Runs that failed, as files: a script to replay each, and the records of some.

failures/<run>.txt                a script; `antiphon sim run` plays it
failures/sim-<run>-….arrow        its records, as any other; `antiphon records judge` reads them
"""

from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame

from antiphon.pipeline.campaign.plan import Plan
from antiphon.records.segment import SEGMENT, SegmentName

FAILURES = "failures"
TOLD_MAX = 100


class Failure(NamedTuple):
    cell: str
    seed: int
    promises: list[str]
    replay: str
    """A command that plays it again."""


def keep_failures(runs: DataFrame, plan: Plan, into: Path) -> list[Failure]:
    """The first of them, in the order of seeds; what was written before is written again."""
    failed = runs.where("failed").orderBy("seed", "cell").limit(TOLD_MAX)
    found = failed.select("cell", "seed", "name", "promises", "script", "trace").collect()
    folder = into / FAILURES
    if found:
        folder.mkdir(parents=True, exist_ok=True)
    told = []
    for row in found:
        script = folder / f"{row.name}.txt"
        script.write_text(row.script)
        if row.trace is not None:
            SegmentName("sim", row.name, 0).path(folder, SEGMENT).write_bytes(row.trace)
        told.append(Failure(row.cell, row.seed, row.promises, _replay(plan, row.seed, script)))
    return told


def _replay(plan: Plan, seed: int, script: Path) -> str:
    drawn = plan.scenario.swarm and plan.cells == [()]
    sites = " --sites" * (plan.scenario.swarm == "sites")
    again = f"antiphon sim{sites} --seed {seed}" if drawn else f"antiphon sim run {script}"
    return again + (f" --mutant {plan.mutant}" if plan.mutant else "")
