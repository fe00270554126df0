"""Each bench once, as short as can be, with real daemons and client processes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from antiphon.tools.bench.plan import Plan
from antiphon.tools.bench.target import own_daemons
from antiphon.tools.bench.traffic import run_traffic, silent
from antiphon.tools.loaded import loaded

SECONDS = ["--seconds", "0.3", "--warmup", "0.1"]
PROGRAM = "from antiphon.tools.bench_command import bench; bench()"


def run(*words: str) -> dict[str, Any]:
    """The last line of what a bench prints."""
    command = [sys.executable, "-c", PROGRAM, *words]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    found = json.loads(ran.stdout.splitlines()[-1])
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("api", ["asyncio", "blocking"])
def test_a_flood_arrives(api: str) -> None:
    # One daemon: a flood on a busy machine may make several lose each other.
    found = run("flood", "--daemons", "1", "--api", api, "--senders", "2", *SECONDS)
    assert found["messages_per_second"] > 0
    assert found["daemon_cpu_us_per_message"] > 0
    assert 0 < found["latency_p50_us"] <= found["latency_p99_us"]
    assert (found["lost"], found["senders"], found["api"]) == (0, 2, api)


def test_a_flood_goes_through_daemons_that_run() -> None:
    with own_daemons(1) as (target, _):
        found = run("flood", "--json", "--connect", *target.addresses, "--groups", "3", *SECONDS)
    assert found["messages_per_second"] > 0
    assert found["daemon_cpu_us_per_message"] is not None


@pytest.mark.parametrize("api", ["asyncio", "blocking"])
def test_pings_come_back(api: str) -> None:
    found = run("ping", "--daemons", "2", "--api", api, "--service", "safe", *SECONDS)
    assert 0 < found["latency_p50_us"] < found["round_trip_p50_us"]
    assert found["receivers"] == 2


def test_views_are_timed() -> None:
    found = run("membership", "--daemons", "2", "--repeat", "1")
    for drill in ("join", "leave", "split", "heal", "kill", "restart"):
        assert 0 < found[f"{drill}_median_ms"] <= found[f"{drill}_worst_ms"]


def test_a_flood_keeps_every_promise() -> None:
    found = run("verify", "--daemons", "1", *SECONDS)
    assert (found["violations"], found["rows_lost"], found["torn"]) == (0, 0, 0)
    assert found["rows"] > 100


def test_two_sites_keep_every_promise_too() -> None:
    found = run("verify", "--daemons", "2", "--sites", "2", *SECONDS)
    assert (found["violations"], found["rows_lost"], found["sites"]) == (0, 0, 2)


def test_a_ring_is_compared_with_stamps() -> None:
    """TR-57, TR-58, TR-60: the loads are there for both; which is faster is a bench's to say."""
    found = run("order", "--daemons", "2", "--seconds", "0.3", "--repeat", "1", "--json")
    lines = {(line["load"], line["ordering"]): line for line in found["lines"]}
    both = {
        (load, order) for load in ("idle", "even", "one-sided") for order in ("ring", "all-ack")
    }
    assert set(lines) == both
    assert all(line["messages_per_second"] > 0 for line in lines.values())
    # An idle site answers at once: a timer of the links would be seen here.
    assert lines["idle", "all-ack"]["latency_p50_us"] < 50_000


def test_a_pace_is_kept_and_thirds_are_measured() -> None:
    """Whether they are alike is for half an hour to say, on a machine that does nothing else."""
    _, found = loaded(3.0, daemons=1)
    assert 0 < found["pace"] < found["saturated"]
    assert found["carried"] > 0
    for third in ("first", "middle", "last"):
        assert found[f"kib_each_{third}"] > 1_000
        assert found[f"p99_ms_{third}"] > 0


def test_sessions_share_processes() -> None:
    plan = Plan(receivers=4, idle=3, per_process=2, seconds=0.3, warmup=0.1)
    with own_daemons(1) as (target, _):
        found = run_traffic(plan, target, silent)
    assert found["messages_per_second"] and found["lost"] == 0


def test_what_is_compared_within_few_per_cent_floods_by_turns() -> None:
    words = ("--only", "groups", "--most", "64", "--runs", "1", "--seconds", "0.5")
    found = run("growth", *words, "--json")
    [table] = found["tables"]
    assert [row[0] for row in table["rows"]] == ["1", "64"]
    assert all(row[1] > 0 and row[3] > row[1] for row in table["rows"]), "three receivers"


def test_growth_is_told_and_drawn(tmp_path: Path) -> None:
    plot = tmp_path / "made" / "growth.svg"
    words = ("--only", "daemons", "--most", "1", "--runs", "1", "--seconds", "0.3")
    found = run("growth", *words, "--plot", str(plot), "--json")
    assert found["experiment"] == "daemons"
    [table] = found["tables"]
    [row] = table["rows"]
    assert row[0] == "1" and row[1] > 0 and row[2] == 1.0
    assert "</svg>" in plot.read_text()
