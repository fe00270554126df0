"""The section about a campaign: what became of its runs, by each value of each axis."""

from typing import Any

from antiphon.pipeline.measure.shown import SERVICES
from antiphon.pipeline.report.drawing import COLOURS, SERVICE_COLOURS, drawing, plain_numbers
from antiphon.pipeline.report.page import Page, cell_text
from antiphon.pipeline.small import Rows

MERGE = ("merge_p50_ms", "merge_p95_ms", "merge_max_ms")


def add_campaign(page: Page, outcomes: Rows, latencies: Rows) -> None:
    section = page.section("The campaign")
    cells = _cells(outcomes)
    runs = sum(row["runs"] for row in cells)
    broken = sum(row["violations"] for row in cells)
    stuck = sum(row["stuck"] for row in cells)
    words = f"{runs:,} simulations: {broken} broke a promise, {stuck} did not come to rest."
    section.verdict(not broken and not stuck, words)
    section.cards(
        {
            "simulations": cell_text(runs),
            "events": cell_text(sum(row["events"] for row in cells)),
            "messages": cell_text(sum(row["messages"] for row in cells)),
        }
    )
    for axis in sorted({axis for axis in map(axis_of, outcomes) if axis}):
        rows = _along(outcomes, axis)
        if len(rows) > 1:
            section.figure(
                _merging(rows, axis), f"From the last disturbance to one configuration, by {axis}."
            )
        times = _along(latencies, axis)
        if len({row["part"] for row in times}) > 1:
            section.figure(
                _late(times, axis),
                f"From multicast to each receiver, by {axis}; p50 and p99 (dotted).",
            )
    section.table(outcomes, "Outcomes")
    section.table(latencies, "Latencies, in simulated time", folded=True)


def axis_of(row: dict[str, Any]) -> str:
    """`network.loss` of network.loss=0.01; nothing of a cell with several."""
    part = str(row["part"])
    return part.partition("=")[0] if part.count("=") == 1 else ""


def _cells(outcomes: Rows) -> Rows:
    """Each run once: lines of whole cells, which name the most axes."""
    most = max((str(row["part"]).count("=") for row in outcomes), default=0)
    return [row for row in outcomes if str(row["part"]).count("=") == most]


def _along(rows: Rows, axis: str) -> Rows:
    return sorted((row for row in rows if axis_of(row) == axis), key=lambda row: _value(row)[:2])


def _value(row: dict[str, Any]) -> tuple[float, str]:
    text = str(row["part"]).partition("=")[2]
    try:
        return float(text), text
    except ValueError:
        return 0.0, text


def _merging(rows: Rows, axis: str) -> str:
    with drawing(10.5, 3.2) as made:
        axes = made.axes
        labels = [_value(row)[1] for row in rows]
        for place, (name, colour) in enumerate(zip(MERGE, COLOURS, strict=False)):
            at = [x + (place - 1) * 0.26 for x in range(len(rows))]
            values = [row[name] or 0.0 for row in rows]
            axes.bar(at, values, 0.24, color=colour, label=name.split("_")[1])
        axes.set_xticks(range(len(rows)), labels)
        axes.set_xlabel(axis)
        axes.set_ylabel("ms to merge")
        axes.grid(axis="x", visible=False)
        axes.legend(ncols=3, loc="lower right", bbox_to_anchor=(1, 1.0), fontsize=9)
    return made.svg


def _late(rows: Rows, axis: str) -> str:
    with drawing(10.5, 3.6) as made:
        axes = made.axes
        parts = list(dict.fromkeys(_value(row)[1] for row in rows))
        for service in SERVICES:
            mine = [row for row in rows if row["service"] in (service, SERVICES.index(service))]
            at = [parts.index(_value(row)[1]) for row in mine]
            colour = SERVICE_COLOURS[service]
            for name, style in (("p50_us", "-"), ("p99_us", ":")):
                label = service if name == "p50_us" else None
                values = [row[name] / 1000 for row in mine]
                axes.plot(at, values, style, marker="o", markersize=4, color=colour, label=label)
        axes.set_xticks(range(len(parts)), parts)
        axes.set_yscale("log")
        plain_numbers(axes.yaxis)
        axes.set_xlabel(axis)
        axes.set_ylabel("ms")
        axes.legend(ncols=6, loc="lower left", bbox_to_anchor=(0, 1.0), fontsize=9)
    return made.svg
