"""Which figures people are shown, and in which order: no Spark, rows in and rows out."""

from collections.abc import Iterable, Mapping
from typing import Any

from antiphon.pipeline.small import Rows

Row = Mapping[str, Any]

MEASURES = "measures"
NAMES = (
    *("latency", "traffic", "rounds", "overhead", "links", "changes", "configurations"),
    *("events", "about"),
)
"""Tables of figures, and the folder that they are in."""

STAGES = ("stamped", "delivered", "stable", "handed")
SERVICES = ("unreliable", "reliable", "fifo", "causal", "agreed", "safe")
SIZES = ("to 100 B", "to 1 kB", "to 10 kB", "to 100 kB", "over 100 kB")
SPREAD = ("p50", "p90", "p99", "p99_9", "max")
CONFIGURATION = ("first_at_s", "members", "change_ms", "attempts", "aborts", "evidence")
EVIDENCE_CHARACTERS = 160
PAIRS_MAX = 40


def split_by(rows: Iterable[Row], *names: str) -> Rows:
    """The lines of a table that are split by exactly these columns, in a sensible order."""
    by = ", ".join(sorted(names))
    chosen = [dict(row) for row in rows if row["by"] == by]
    return sorted(chosen, key=lambda row: [_place(name, row[name]) for name in names])


def _place(name: str, value: Any) -> tuple[int, Any]:
    known = {"stage": STAGES, "service": SERVICES, "size": SIZES}.get(name, ())
    return (known.index(value), "") if value in known else (len(known), value or "")


def only(rows: Iterable[Row], *columns: str) -> Rows:
    return [{name: row[name] for name in columns} for row in rows]


def handed(rows: Iterable[Row]) -> Rows:
    return [dict(row) for row in rows if row["stage"] == "handed"]


def tables_of(found: Mapping[str, Rows]) -> dict[str, Rows]:
    """Title and lines of each; what is empty is left out."""
    several = len({row["history"] for row in found["traffic"]}) > 1
    first = ("history",) if several else ()
    latency, traffic = found["latency"], found["traffic"]
    rates = ("submitted", "handed", "submitted_per_s", "handed_per_s", "handed_mbit_per_s")
    spread = ("messages", *SPREAD)
    tables = {
        "latency_ms_by_service": only(
            split_by(latency, "stage", "service"), *first, "stage", "service", *spread
        ),
        "latency_ms_by_way": only(
            handed(split_by(latency, "stage", "from_site", "to_site")),
            *first,
            *("from_site", "to_site"),
            *spread,
        ),
        "latency_ms_by_size": only(
            handed(split_by(latency, "stage", "service", "size")),
            *first,
            *("service", "size"),
            *spread,
        ),
        "latency_ms_by_group": only(
            handed(split_by(latency, "stage", "group"))[:PAIRS_MAX], *first, "group", *spread
        ),
        "traffic_by_service": only(split_by(traffic, "service"), *first, "service", *rates),
        "traffic_by_daemon": only(
            split_by(traffic, "site", "daemon")[:PAIRS_MAX], *first, "site", "daemon", *rates
        ),
        "rounds": _without(found["rounds"], several),
        "overhead": _without(found["overhead"], several),
        "links": _without(found["links"], several),
        "configurations": [
            {**row, "evidence": _cut(row["evidence"])}
            for row in only(found["configurations"], *first, *CONFIGURATION)
        ],
    }
    return {name: rows for name, rows in tables.items() if rows}


def _without(rows: Rows, several: bool) -> Rows:
    hidden = () if several else ("history",)
    return [{name: row[name] for name in row if name not in hidden} for row in rows]


def _cut(text: str) -> str:
    return text if len(text) <= EVIDENCE_CHARACTERS else text[: EVIDENCE_CHARACTERS - 1] + "…"
