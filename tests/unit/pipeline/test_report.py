"""The page: what it says, and that it needs nothing beside it."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from antiphon.core.errors import UsageError
from antiphon.pipeline.report.campaign_page import add_campaign, axis_of
from antiphon.pipeline.report.comparison_page import (
    Table,
    add_comparison,
    drawn_columns,
    read_experiments,
    unique,
)
from antiphon.pipeline.report.drawing import VARIABLES
from antiphon.pipeline.report.page import Page, cell_text
from antiphon.pipeline.report.run_page import add_runs

SPREAD = {"p50": 1.0, "p90": 2.0, "p99": 30.0, "p99_9": 40.0, "max": 50.0, "messages": 9}
NO_SPLIT = dict.fromkeys(
    ("stage", "service", "size", "group", "from_site", "to_site", "from_daemon", "to_daemon")
)


def latency(by: str, **told: Any) -> dict[str, Any]:
    return {"history": "all", "by": by, **NO_SPLIT, "window": None, **told, **SPREAD}


def flow(by: str, **told: Any) -> dict[str, Any]:
    names = ("service", "group", "size", "site", "daemon", "window")
    figures = {"submitted": 4, "handed": 8, "submitted_bytes": 40, "handed_bytes": 80}
    rates = {"submitted_per_s": 2.0, "handed_per_s": 4.0, "handed_mbit_per_s": 0.1}
    return {"history": "all", "by": by, **dict.fromkeys(names), **told, **figures, **rates}


def run_figures() -> dict[str, list[dict[str, Any]]]:
    ways = [("west", "west"), ("west", "east")]
    return {
        "latency": [
            *(latency("service, stage", stage="handed", service=one) for one in ("fifo", "agreed")),
            latency("service, stage", stage="stable", service="agreed"),
            *(
                latency("from_site, stage, to_site", stage="handed", from_site=one, to_site=other)
                for one, other in ways
            ),
            *(
                latency("service, stage, window", stage="handed", service="agreed", window=window)
                for window in (3, 4)
            ),
        ],
        "traffic": [
            flow(""),
            flow("service", service="agreed"),
            *(flow("service, window", service="agreed", window=window) for window in (3, 4)),
            *(flow("window", window=window) for window in (3, 4)),
        ],
        "rounds": [
            {"history": "all", "site": "west", "daemon": "one", "visits": 7, "submitted": 4}
        ],
        "overhead": [
            {
                "history": "all",
                "purpose": "token",
                "packets": 3,
                "bytes": 90,
                "per_payload_byte": 2.25,
            }
        ],
        "links": [],
        "changes": [],
        "configurations": [
            {
                **{"history": "all", "config": "2.1", "first_at_s": 3.5, "last_at_s": 3.6},
                **{"members": 4, "change_ms": 120.0, "attempts": 1, "aborts": 0},
                **{"gather_ms": 90.0, "collect_ms": 10.0, "recover_ms": 15.0, "ready_ms": 5.0},
                **{"troubles": ["token_loss"], "evidence": "two is gone <unheard>"},
            }
        ],
        "events": [{"history": "all", "at_s": 3.4, "what": "kill -9 of daemon two"}],
    }


def test_a_run_is_told_with_plots_and_nothing_from_elsewhere() -> None:
    page = Page("A run", "of a test")
    add_runs(page, run_figures(), 1.0)
    html = page.html()
    titles = [one.title for one in page.sections]
    assert titles == ["The run", "Latency", "Changes of the configuration", "What it took"]
    assert html.count("<svg") == 6
    assert "kill -9 of daemon two" in html and "two is gone &lt;unheard&gt;" in html
    assert not re.search(r'(src|href)="(?!#)', html.replace("xlink:href", "")), "a page of its own"
    assert "@import" not in html and "url(http" not in html
    assert not [colour for colour in VARIABLES if colour in html]


def test_several_runs_stand_apart_and_too_many_are_refused() -> None:
    found = run_figures()
    others = {
        name: [*rows, *({**row, "history": "s2"} for row in rows)] for name, rows in found.items()
    }
    page = Page("Runs", "")
    add_runs(page, others, 1.0)
    assert [one.title for one in page.sections[::5]] == ["all", "s2"]
    many = {
        name: [{**row, "history": f"s{number}"} for row in rows for number in range(9)]
        for name, rows in found.items()
    }
    with pytest.raises(UsageError, match="9 runs"):
        add_runs(Page("Runs", ""), many, 1.0)


def outcome(part: str, violations: int = 0) -> dict[str, Any]:
    merge = {"merge_p50_ms": 3.0, "merge_p95_ms": 9.0, "merge_max_ms": 11.0}
    counts = {"runs": 5, "violations": violations, "stuck": 0, "events": 90, "messages": 20}
    return {"part": part, **counts, **merge}


@pytest.mark.parametrize("violations", [0, 2])
def test_a_campaign_has_a_verdict_and_a_plot_for_each_axis(violations: int) -> None:
    axes = ["network.loss=0", "network.loss=0.1"]
    rows = [outcome(axes[0]), outcome(axes[1], violations)]
    late = [
        {"part": part, "service": "agreed", "deliveries": 9, "p50_us": 900, "p99_us": 2_000}
        for part in axes
    ]
    page = Page("A campaign", "")
    add_campaign(page, rows, late)
    html = page.html()
    assert f"10 simulations: {violations} broke a promise" in html
    assert ('class="verdict broken"' in html) == bool(violations)
    assert html.count("<svg") == 2
    assert axis_of({"part": "network.loss=0 daemons=3"}) == ""


def test_runs_of_a_grid_are_counted_once() -> None:
    rows = [outcome("a=1 b=1"), outcome("a=1 b=2"), outcome("a=1"), outcome("b=1"), outcome("b=2")]
    page = Page("A campaign", "")
    add_campaign(page, rows, [])
    assert "10 simulations" in page.html()


def test_the_papers_numbers_stand_beside_ours(tmp_path: Path) -> None:
    table = {
        "title": "Table 1",
        "columns": [
            "source",
            "tree paper",
            "tree ours",
            "tree ratio",
            "tree / fan-out paper",
            "ours",
        ],
        "rows": [["cnds", 560.7, 550.1, 0.98, 0.84, 0.9]],
    }
    statements = [
        {"rows": "SP-207", "text": "it holds", "holds": True, "numbers": "0.98"},
        {"rows": "", "text": "it does not", "holds": False, "numbers": "1.49"},
    ]
    told = {"experiment": "table1", "tables": [table], "statements": statements}
    path = tmp_path / "wan.json"
    path.write_bytes(b"words of the bench\n" + msgspec.json.encode(told) + b"\n")
    page = Page("Papers", "")
    add_comparison(page, read_experiments(path))
    html = page.html()
    assert "1 of 2 statements hold." in html and "goal of our own" in html
    assert html.count("<svg") == 1 and "SP-207" in html
    assert drawn_columns(msgspec.convert(table, Table)) == [1, 2]
    assert unique(["loss", "kbit/s", "%", "fixed", "%"])[-1] == "% (fixed)"
    path.write_text('{"experiment": 3}')
    with pytest.raises(UsageError, match="bench wan --json"):
        read_experiments(path)


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (12_345, "12,345"), (0.1234, "0.123"), (12.346, "12.35"), (2345.6, "2,346")],
)
def test_numbers_have_the_digits_they_deserve(value: float | None, text: str) -> None:
    assert cell_text(value) == text
