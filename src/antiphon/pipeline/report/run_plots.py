"""Plots of one run."""

from collections.abc import Sequence
from typing import Any

from antiphon.pipeline.measure.shown import SERVICES, handed, split_by
from antiphon.pipeline.report.drawing import (
    COLOURS,
    INK,
    LINE,
    SERVICE_COLOURS,
    SOFT,
    drawing,
    plain_numbers,
)
from antiphon.pipeline.small import Rows

PERCENTILES = ("p50", "p90", "p99", "p99_9")
PHASES = ("gather", "collect", "recover", "ready")
SHOWN_CHANGES = 24


def course(found: dict[str, Rows], window_s: float) -> str:
    """Traffic and latency second by second, with what befell the cluster."""
    traffic = split_by(found["traffic"], "window", "service")
    latency = [
        row
        for row in handed(split_by(found["latency"], "stage", "service", "window"))
        if row["service"] in ("agreed", "safe", "reliable")
    ]
    with drawing(10.5, 5.6, rows=2, sharex=True, height_ratios=(3, 3)) as made:
        upper, lower = made.axes
        windows = sorted({row["window"] for row in traffic})
        whole = range(windows[0], windows[-1] + 1) if windows else range(0)
        times = [window * window_s for window in whole]
        stacked = []
        for service in SERVICES:
            rates = {
                row["window"]: row["handed_per_s"] for row in traffic if row["service"] == service
            }
            stacked.append([rates.get(window, 0.0) for window in whole])
        colours = [SERVICE_COLOURS[service] for service in SERVICES]
        upper.stackplot(times, stacked, labels=SERVICES, colors=colours, step="post", alpha=0.85)
        upper.set_ylabel("messages handed per s")
        upper.legend(ncols=6, loc="lower left", bbox_to_anchor=(0, 1.0), fontsize=9)
        for service in ("reliable", "agreed", "safe"):
            rows = sorted(
                (row for row in latency if row["service"] == service),
                key=lambda row: row["window"],
            )
            at = [row["window"] * window_s for row in rows]
            colour = SERVICE_COLOURS[service]
            lower.plot(at, [row["p50"] for row in rows], color=colour, label=f"{service} p50")
            lower.plot(
                at,
                [row["p99"] for row in rows],
                color=colour,
                linewidth=1.0,
                linestyle=(0, (3, 1.5)),
                label=f"{service} p99",
            )
        lower.set_yscale("log")
        plain_numbers(lower.yaxis)
        lower.set_ylabel("ms to members")
        lower.set_xlabel("seconds since the beginning")
        lower.legend(ncols=6, loc="lower left", bbox_to_anchor=(0, 1.0), fontsize=9)
        _mark(made.axes, found["events"])
        for row in found["configurations"]:
            for axes in made.axes:
                axes.axvline(row["last_at_s"], color=SOFT, linewidth=0.7, alpha=0.5)
    return made.svg


def _mark(axes: Sequence[Any], events: Rows) -> None:
    """What was done, numbered; the list stands below the drawing."""
    for number, event in enumerate(events, 1):
        for one in axes:
            one.axvline(event["at_s"], color=INK, linewidth=1.1, linestyle="--")
        axes[0].annotate(
            str(number),
            (event["at_s"], 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(3, -11),
            textcoords="offset points",
            fontsize=9,
            fontweight="bold",
        )


def ladder(rows: Rows, names: Sequence[str], title: str) -> str:
    """Percentiles of each line as dots on a scale that bears a long tail."""
    with drawing(10.5, 0.9 + 0.36 * len(rows)) as made:
        axes = made.axes
        labels = [" ".join(str(row[name]) for name in names) for row in rows]
        for place, row in enumerate(rows):
            values = [max(row[name], 0.001) for name in PERCENTILES]
            axes.plot([values[0], values[-1]], [place, place], color=LINE, linewidth=4, zorder=1)
            for shade, (name, value) in enumerate(zip(PERCENTILES, values, strict=True)):
                axes.scatter(
                    value,
                    place,
                    s=64 - 13 * shade,
                    color=COLOURS[0],
                    alpha=1.0 - 0.2 * shade,
                    zorder=3,
                    label=name.replace("_", ".") if not place else None,
                )
        axes.set_yticks(range(len(rows)), labels)
        axes.invert_yaxis()
        axes.set_xscale("log")
        plain_numbers(axes.xaxis)
        axes.set_xlabel("ms")
        axes.set_title(title)
        axes.grid(axis="y", visible=False)
        axes.legend(ncols=4, loc="lower right", bbox_to_anchor=(1, 1.0), fontsize=9)
    return made.svg


def phases(rows: Rows) -> str:
    """How long each change of the cluster took, and where the time went."""
    rows = rows[-SHOWN_CHANGES:]
    with drawing(10.5, 1.1 + 0.3 * len(rows)) as made:
        axes = made.axes
        labels = [f"{row['first_at_s']:.1f} s, {row['members']} daemons" for row in rows]
        left = [0.0] * len(rows)
        for phase, colour in zip(PHASES, (COLOURS[5], *COLOURS[:3]), strict=True):
            widths = [row[f"{phase}_ms"] for row in rows]
            axes.barh(range(len(rows)), widths, left=left, color=colour, label=phase, height=0.66)
            left = [start + width for start, width in zip(left, widths, strict=True)]
        axes.set_yticks(range(len(rows)), labels)
        axes.invert_yaxis()
        axes.set_xlabel("ms, the longest of all daemons in each phase")
        axes.grid(axis="y", visible=False)
        axes.legend(ncols=4, loc="lower right", bbox_to_anchor=(1, 1.0), fontsize=9)
    return made.svg


def spending(rows: Rows) -> str:
    """Bytes on the network for each byte of a message, by what they are for."""
    rows = sorted(rows, key=lambda row: row["bytes"])
    with drawing(10.5, 0.8 + 0.34 * len(rows)) as made:
        axes = made.axes
        values = [row["per_payload_byte"] or 0.0 for row in rows]
        bars = axes.barh([row["purpose"] for row in rows], values, color=COLOURS[0], height=0.6)
        axes.bar_label(bars, fmt="%.3f", padding=4, fontsize=9)
        axes.set_xlabel("bytes sent by daemons for each byte of a client's message")
        axes.grid(axis="y", visible=False)
    return made.svg


def ways(rows: Rows) -> str:
    """From site to site: the median, in a grid."""
    sites = sorted({row["from_site"] for row in rows} | {row["to_site"] for row in rows})
    medians = {(row["from_site"], row["to_site"]): row["p50"] for row in rows}
    longest = max(medians.values())
    with drawing(1.6 + 1.25 * len(sites), 0.9 + 0.62 * len(sites)) as made:
        axes = made.axes
        for (start, end), value in medians.items():
            place = (sites.index(end) - 0.46, sites.index(start) - 0.42)
            share = 0.12 + 0.6 * value / longest if longest else 0.12
            axes.add_patch(_square(place, share))
            axes.text(
                sites.index(end), sites.index(start), f"{value:.1f}", ha="center", va="center"
            )
        axes.set_xlim(-0.5, len(sites) - 0.5)
        axes.set_ylim(len(sites) - 0.5, -0.5)
        axes.set_xticks(range(len(sites)), [f"to {site}" for site in sites])
        axes.set_yticks(range(len(sites)), [f"from {site}" for site in sites])
        axes.tick_params(length=0)
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
    return made.svg


def _square(place: tuple[float, float], share: float) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(place, 0.92, 0.84, color=COLOURS[0], alpha=share, linewidth=0)
