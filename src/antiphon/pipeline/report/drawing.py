"""Drawings in SVG that take their colours and letters from the page they stand in.

Matplotlib draws with colours that mean nothing but a name; in the text of the drawing they are
replaced by the page's own, so that one drawing is right in light, in dark and in print.
"""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from antiphon.pipeline.report.page import STYLE

INK, SOFT, LINE, PAPER = "#010101", "#020202", "#030303", "#040404"
COLOURS = tuple(f"#0{number}0909" for number in range(1, 7))
VARIABLES = {
    INK: "var(--ink)",
    SOFT: "var(--soft)",
    LINE: "var(--line)",
    PAPER: "var(--paper)",
    **{colour: f"var(--c{number})" for number, colour in enumerate(COLOURS, 1)},
}
SERVICE_COLOURS = dict(
    zip(
        ("agreed", "safe", "causal", "fifo", "reliable", "unreliable"),
        (COLOURS[0], COLOURS[3], COLOURS[4], COLOURS[2], COLOURS[1], COLOURS[5]),
        strict=True,
    )
)
PIXELS_PER_INCH = 100
SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "antiphon",  # the same drawing, the same bytes
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": SOFT,
    "axes.edgecolor": LINE,
    "axes.titlecolor": INK,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "lines.linewidth": 1.6,
}


class Drawing:
    """Made by `drawing`; its SVG is there after the block."""

    figure: Any
    axes: Any
    svg: str = ""
    """For a page."""

    file: str = ""
    """The same as a file of its own."""


@contextmanager
def drawing(
    width: float, height: float, rows: int = 1, columns: int = 1, **options: Any
) -> Iterator[Drawing]:
    """Inches. `axes` is one, or an array of them."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    made = Drawing()
    with matplotlib.rc_context(SETTINGS):
        made.figure, made.axes = pyplot.subplots(
            rows, columns, figsize=(width, height), layout="constrained", **options
        )
        try:
            yield made
            text = io.StringIO()
            made.figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
        finally:
            pyplot.close(made.figure)
    made.svg = with_variables(text.getvalue(), round(width * PIXELS_PER_INCH))
    made.file = with_colours(text.getvalue())


def plain_numbers(axis: Any) -> None:
    """On a logarithmic scale: 1, 2, 5, 10 and so on, and no powers of ten."""
    from matplotlib.ticker import LogLocator

    axis.set_major_formatter("{x:,g}")
    axis.set_minor_locator(LogLocator(subs=(2, 5)))
    axis.set_minor_formatter("{x:,g}")
    axis.set_tick_params(which="minor", labelsize=8)


def with_colours(svg: str) -> str:
    """With a page's light colours, on paper."""
    light = dict(re.findall(r"(--\w+): (#\w+)", STYLE.read_text().partition("}")[0]))
    for colour, variable in VARIABLES.items():
        svg = svg.replace(colour, light[variable.removeprefix("var(").removesuffix(")")])
    paper = f'<rect width="100%" height="100%" fill="{light["--paper"]}"/>'
    return re.sub(r"(<svg [^>]*>)", rf"\1\n {paper}", svg, count=1)


def with_variables(svg: str, width: int) -> str:
    """From the opening of the element on, with the page's colours and its font."""
    svg = svg[svg.index("<svg") :]
    for colour, variable in VARIABLES.items():
        svg = svg.replace(colour, variable)
    svg = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", svg)
    svg = re.sub(r"font: (bold|700) ([\d.]+)px [^;\"]*", r"font-weight: 600; font-size: \2px", svg)
    size = rf'<svg style="max-width: {width}px" \1'
    return re.sub(r'<svg ([^>]*?)width="[^"]*" height="[^"]*"', size, svg, count=1)
