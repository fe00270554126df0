"""`bench verify`: a flood that everybody records, and the verdict of the judges."""

import tempfile
from pathlib import Path

import msgspec

from antiphon.check import Violation, judge
from antiphon.core.trace import Kind
from antiphon.records.gather import gather
from antiphon.records.reader import Notes
from antiphon.tools.bench.plan import Plan
from antiphon.tools.bench.reception import BenchFailed
from antiphon.tools.bench.target import own_daemons
from antiphon.tools.bench.traffic import Figures, Say, run_traffic

LOSSES = ("disk_full", "records_io", "records_overflow")


def run_verify(plan: Plan, daemons: int, sites: int, say: Say) -> tuple[Figures, list[Violation]]:
    """Clients and daemons record everything; both are judged together."""
    with tempfile.TemporaryDirectory(prefix="antiphon-verify-") as made:
        directory = Path(made)
        plan = msgspec.structs.replace(plan, records=str(directory / "clients"))
        found: Figures = {}
        failure = ""
        with own_daemons(daemons, "all", directory, sites=sites) as (target, _):
            try:
                found = run_traffic(plan, target, say)
            except BenchFailed as error:
                failure = str(error)  # promises hold then too, so it is judged all the same
        say("judging")
        notes = Notes()
        rows = gather([directory / "records", directory / "clients"], notes)
    violations = judge(rows, ended=not failure)
    lost = sum(row.value for row in rows if row.kind is Kind.DROP and row.reason in LOSSES)
    verdict: Figures = {
        "violations": len(violations),
        "failure": failure,
        "rows": len(rows),
        "rows_lost": lost,
        "torn": len(notes.torn),
        "daemons": daemons,
        "sites": sites,
    }
    return verdict | found, violations
