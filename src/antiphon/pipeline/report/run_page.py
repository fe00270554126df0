"""The sections about one run."""

from typing import Any

from antiphon.core.errors import UsageError
from antiphon.pipeline.measure.shown import handed, only, split_by, tables_of
from antiphon.pipeline.report import run_plots
from antiphon.pipeline.report.page import Page, cell_text
from antiphon.pipeline.small import Rows

HISTORIES_MAX = 4
TITLES = {
    "latency_ms_by_service": "By stage and service, ms",
    "latency_ms_by_way": "By way, ms",
    "latency_ms_by_size": "By size of message, ms",
    "latency_ms_by_group": "By group, ms",
    "traffic_by_service": "By service",
    "traffic_by_daemon": "By daemon",
}


def add_runs(page: Page, found: dict[str, Rows], window_s: float) -> None:
    """Simulated runs have pages of their own."""
    histories = sorted({row["history"] for row in found["traffic"]})
    if len(histories) > HISTORIES_MAX:
        what = f"there are {len(histories)} runs in these figures"
        raise UsageError("too_many_runs", what, "measure one of them, with --run")
    for history in histories:
        mine = {
            name: [row for row in rows if row["history"] == history] for name, rows in found.items()
        }
        if len(histories) > 1:
            page.section(history)
        _add_run(page, mine, window_s)


def _add_run(page: Page, found: dict[str, Rows], window_s: float) -> None:
    tables = tables_of(found)
    _overview(page, found, window_s)
    _latency(page, found, tables)
    _changes(page, found)
    _work(page, found, tables)


def _overview(page: Page, found: dict[str, Rows], window_s: float) -> None:
    section = page.section("The run")
    [whole] = split_by(found["traffic"])[:1] or [{}]
    section.cards(
        {
            "messages submitted": cell_text(whole.get("submitted", 0)),
            "handed to members": cell_text(whole.get("handed", 0)),
            "handed per second": cell_text(whole.get("handed_per_s", 0.0)),
            "configurations": cell_text(len(found["configurations"])),
            **_medians(found),
        }
    )
    if split_by(found["traffic"], "window"):
        section.figure(
            run_plots.course(found, window_s),
            "Above: messages handed to members, by service. Below: how long they took. Broken "
            "lines: what was done to the cluster, numbered as below. Thin lines: configurations.",
        )
    events = [
        {"number": number, "at_s": event["at_s"], "what": event["what"]}
        for number, event in enumerate(found["events"], 1)
    ]
    section.table(events, "What was done")


def _medians(found: dict[str, Rows]) -> dict[str, str]:
    rows = handed(split_by(found["latency"], "stage", "service"))
    return {
        f"{row['service']}, median": f"{cell_text(row['p50'])} ms"
        for row in rows
        if row["service"] in ("agreed", "safe")
    }


def _latency(page: Page, found: dict[str, Rows], tables: dict[str, Rows]) -> None:
    section = page.section("Latency")
    section.text(
        "From the call of multicast on: until its daemon has given a message its place (stamped), "
        "until a daemon delivers it, until the last daemon of the configuration has (stable; only "
        "of messages that all of them delivered), and until a member of the group receives it "
        "(handed)."
    )
    by_service = split_by(found["latency"], "stage", "service")
    if rows := handed(by_service):
        title = "Handed to members, by service"
        section.figure(
            run_plots.ladder(rows, ["service"], title), "Percentiles, on a logarithmic scale."
        )
    agreed = [row for row in by_service if row["service"] in ("agreed", "safe")]
    if agreed:
        agreed.sort(key=lambda row: str(row["service"]))
        title = "Where the time of ordered messages goes"
        section.figure(
            run_plots.ladder(agreed, ["service", "stage"], title), "Stages of a message."
        )
    ways = handed(split_by(found["latency"], "stage", "from_site", "to_site"))
    if len(ways) > 1:
        section.figure(run_plots.ways(ways), "Median from site to site, ms; all services.")
    for name, title in TITLES.items():
        if name in tables and name.startswith("latency"):
            section.table(tables[name], title, folded=True)


def _changes(page: Page, found: dict[str, Rows]) -> None:
    if not found["configurations"]:
        return
    section = page.section("Changes of the configuration")
    section.text(
        "A daemon gathers who is there, collects what each holds, recovers what it lacks, and "
        "waits until all are ready; then the configuration is installed everywhere."
    )
    section.figure(run_plots.phases(found["configurations"]), "Each bar is a configuration.")
    columns = ("first_at_s", "members", "change_ms", "attempts", "aborts", "troubles", "evidence")
    section.table(only(found["configurations"], *columns), "Why, and who says so", folded=True)


def _work(page: Page, found: dict[str, Rows], tables: dict[str, Rows]) -> None:
    if not found["overhead"]:
        return
    section = page.section("What it took")
    section.figure(run_plots.spending(found["overhead"]), "A packet to many counts once.")
    for name, title in (("rounds", "Daemons"), ("links", "Links between sites")):
        if name in tables:
            section.table(_without_sums(tables[name]), title)
    for name in ("traffic_by_service", "traffic_by_daemon"):
        if name in tables:
            section.table(tables[name], f"Traffic: {TITLES[name].lower()}", folded=True)


def _without_sums(rows: Rows) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "submitted"} for row in rows]
