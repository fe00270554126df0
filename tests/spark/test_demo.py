"""The whole of it: daemons, clients, faults, records, tables, verdict, figures, page."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("spark processes")


def test_the_demo_shows_everything(tmp_path: Path) -> None:
    into = tmp_path / "demo"
    command = [sys.executable, "-m", "antiphon", "demo", "--into", str(into), "--json"]
    command += ["--seconds", "1", "--master", "local[2]"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
    told = json.loads(done.stdout)
    services = ("unreliable", "reliable", "fifo", "causal", "agreed", "safe")
    assert all(told[f"sent_{service}"] > 0 for service in services)
    assert told["failovers"] >= 1 and told["violations"] == []
    assert set(told["seconds"]) == {"start", "kill", "restart", "cut", "heal"}
    figures = told["figures"]
    [whole] = [one for one in figures["traffic"] if one["by"] == ""]
    assert whole["submitted"] == told["sent"] and whole["handed"] >= told["received"]
    ways = [one for one in figures["latency"] if one["by"] == "from_site, stage, to_site"]
    assert len({(one["from_site"], one["to_site"]) for one in ways}) == 9
    assert {2, 4, 5, 6} <= {one["members"] for one in figures["configurations"]}
    assert [one["what"].split()[0] for one in figures["events"]] == [
        *("kill", "start", "antiphon", "antiphon")
    ]
    assert {one["from_site"] for one in figures["links"]} == {"site1", "site2", "site3"}
    assert (into / "report.html").read_text().count("<svg") >= 6


def test_what_is_no_demo_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    command = [sys.executable, "-m", "antiphon", "demo", "--into", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, (tmp_path / "precious").read_text()) == (2, "mine")
