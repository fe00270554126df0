"""What a chaos run amounts to: its records judged, counted and shown."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from antiphon.check import Violation, judge
from antiphon.core.machine import SECOND
from antiphon.core.service import Service
from antiphon.core.trace import Kind, Record
from antiphon.records.gather import CHANGE, gather
from antiphon.records.reader import Notes
from antiphon.records.segment import SEGMENT
from antiphon.records.writer import DISK_FULL, IO_ERROR, OVERFLOW
from antiphon.tools.chaos.run import Deeds

LOSSES = (DISK_FULL, IO_ERROR, OVERFLOW)
SHOWN_MAX = 10


@dataclass(slots=True)
class Verdict:
    faults: Counter[str]
    unexpected: list[str]
    violations: list[Violation]
    sent: Counter[str]
    """Messages that clients submitted, by service."""

    received: Counter[str]
    """Messages that clients were handed."""

    sessions: int
    views: int
    configurations: int
    rows: int
    lost: int
    """Rows that are missing, so that nobody can tell."""

    troubles: list[str]
    """Of daemons when all should have been quiet."""

    @property
    def failed(self) -> bool:
        return bool(self.violations or self.unexpected or self.lost or not self.sent)

    def figures(self) -> dict[str, Any]:
        """One flat object."""
        figures: dict[str, Any] = {"faults": self.faults.total()}
        figures |= {f"faults_{kind}": count for kind, count in sorted(self.faults.items())}
        figures["messages"] = self.sent.total()
        figures |= {f"messages_{one.name.lower()}": self.sent[one.name] for one in Service}
        figures["received"] = self.received.total()
        for name in ("sessions", "views", "configurations", "rows", "lost"):
            figures[name] = getattr(self, name)
        figures["unexpected_ends"] = len(self.unexpected)
        figures["violations"] = len(self.violations)
        figures["promises"] = sorted({found.promise for found in self.violations})
        return figures


def reach_verdict(records: Path, deeds: Deeds) -> Verdict:
    notes = Notes()
    rows = gather([records], notes)
    torn = sum(path.endswith(SEGMENT) for path in notes.torn)
    dropped = sum(row.value for row in rows if row.kind is Kind.DROP and row.reason in LOSSES)
    return Verdict(
        deeds.faults,
        deeds.unexpected,
        judge(rows),
        _messages(rows, Kind.SUBMIT),
        _messages(rows, Kind.HAND),
        sessions=sum(row.kind is Kind.OPEN for row in rows),
        views=len({(row.groups, row.views[0]) for row in rows if row.kind is Kind.VIEW}),
        configurations=len({row.config for row in rows if row.kind is Kind.INSTALL}),
        rows=len(rows),
        lost=dropped + torn,
        troubles=_troubles(rows),
    )


def _troubles(rows: Iterable[Record]) -> list[str]:
    found: list[Record] = []
    for row in sorted(rows, key=lambda row: row.time):
        if row.kind is Kind.QUIET:
            found = []
        elif row.kind is Kind.TROUBLE:
            found.append(row)
    return [f"trouble at {row.time / SECOND:.6f} of {row.node}: {row.reason}" for row in found]


def _messages(rows: Iterable[Record], kind: Kind) -> Counter[str]:
    counts: Counter[str] = Counter()
    for row in rows:
        if row.kind is kind and row.detail != CHANGE:
            counts[Service(row.service).name] += row.count
    return counts


def print_verdict(verdict: Verdict) -> None:
    console = Console(highlight=False)
    table = Table(box=box.SIMPLE, show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, value in verdict.figures().items():
        shown = " ".join(value) if isinstance(value, list) else f"{value:,}"
        table.add_row(name.replace("_", " "), shown)
    console.print(table)
    for text in (*verdict.unexpected, *(verdict.troubles if verdict.failed else ())):
        console.print(text, markup=False)
    for found in verdict.violations[:SHOWN_MAX]:
        text = f"{found.promise} at {found.time / SECOND:.6f} {found.process}: {found.text}"
        console.print(text, markup=False, soft_wrap=True)
    if len(verdict.violations) > SHOWN_MAX:
        console.print(f"and {len(verdict.violations) - SHOWN_MAX} more")
