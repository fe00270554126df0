"""`report`: from tables of figures to one page.

What the page has depends on what is there: figures of a run (measures/…), a campaign (outcomes,
latencies), and what a bench has printed.
"""

from collections.abc import Sequence
from pathlib import Path

from antiphon.core.errors import UsageError
from antiphon.pipeline.measure.shown import MEASURES, NAMES
from antiphon.pipeline.report.campaign_page import add_campaign
from antiphon.pipeline.report.comparison_page import add_comparison, read_experiments
from antiphon.pipeline.report.page import Page
from antiphon.pipeline.report.run_page import add_runs
from antiphon.pipeline.small import read

OUTCOMES, LATENCIES = "outcomes", "latencies"


def report(places: Sequence[Path], benches: Sequence[Path], title: str) -> Page:
    page = Page(title, "Made by antiphon pipeline report")
    for place in places:
        known = len(page.sections)
        if (place / MEASURES).exists():
            found = {name: read(place / MEASURES / name) for name in NAMES}
            [about] = found.pop("about")
            add_runs(page, found, about["window_s"])
        if (place / OUTCOMES).exists():
            add_campaign(page, *(read(place / name) for name in (OUTCOMES, LATENCIES)))
        if len(page.sections) == known:
            what = f"{place} has neither measures nor outcomes"
            raise UsageError("no_tables", what, "run antiphon pipeline measure or campaign first")
    experiments = [one for path in benches for one in read_experiments(path)]
    if experiments:
        add_comparison(page, experiments)
    return page
