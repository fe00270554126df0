"""The lines of `bench growth` as one drawing: a row for each experiment."""

from collections.abc import Mapping, Sequence
from typing import Any

from antiphon.pipeline.report.drawing import COLOURS, drawing
from antiphon.tools.bench.growth.experiment import Experiment, Panel
from antiphon.tools.bench.growth.lines import Line

PANELS = 2
"""Of every experiment."""

ROW_INCHES = 2.5


def draw(found: Mapping[str, Sequence[Line]], experiments: Mapping[str, Experiment]) -> str:
    """SVG, for a file of its own."""
    rows = len(found)
    with drawing(10.5, ROW_INCHES * rows, rows, PANELS, squeeze=False) as made:
        for axes, (name, lines) in zip(made.axes, found.items(), strict=True):
            for one, panel in zip(axes, experiments[name].panels, strict=True):
                _draw_panel(one, experiments[name], panel, lines)
    return made.file


def _draw_panel(axes: Any, experiment: Experiment, panel: Panel, lines: Sequence[Line]) -> None:
    shown = [line for line in lines if panel.series in (None, line.point.series)]
    # Side by side whatever they are: 1, 64, 1024 and 8192 are as far apart as off, views and all.
    labels = list(dict.fromkeys(str(line.point.at) for line in shown))
    every = list(dict.fromkeys(line.point.series for line in shown))
    for colour, series in zip(COLOURS[: len(every)], every, strict=True):
        values = {
            str(line.point.at): getattr(line, panel.of)
            for line in shown
            if line.point.series == series
        }
        places = [labels.index(label) for label in values]
        if all(isinstance(line.point.at, int) for line in shown):
            axes.plot(places, [*values.values()], color=colour, marker="o", label=series)
        else:
            axes.bar(places, [*values.values()], 0.5, color=colour)
    axes.set_xticks(range(len(labels)), labels)
    axes.set_ylim(0, 1.12 * axes.dataLim.y1)  # values that hardly differ have room above, too
    axes.yaxis.set_major_formatter("{x:,.9g}")  # never a power of ten
    axes.set_xlabel(experiment.grows)
    axes.set_title(f"{experiment.name}: {panel.title}")
    axes.grid(axis="x", visible=False)
    if len(every) > 1:
        axes.legend(fontsize=9)
