"""A campaign on a real Spark master with two workers, one of which is killed on the way."""

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from antiphon.sim.grid import Scenario
from antiphon.sim.trial import play
from tests.spark.standalone import standalone

SHORT = """\
daemons 3
workload rate=10 until=4s
at 1s crash 2
quiet 2s
until 5s
"""
HERE = ["--conf=spark.driver.host=127.0.0.1", "--conf=spark.driver.bindAddress=127.0.0.1"]
PATIENCE_SECONDS = 240
SEEDS = range(40)


def start(script: Path, into: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "antiphon", "pipeline", "campaign", str(script)]
    command += [
        "--seeds",
        f"0:{len(SEEDS)}",
        "--into",
        str(into),
        "--json",
        "--memory",
        "1g",
        *arguments,
    ]
    with into.with_suffix(".log").open("w") as log:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)


def answer(process: subprocess.Popen[str], log: Path) -> Any:
    try:
        said, _ = process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        process.kill()
    assert process.returncode == 0, log.read_text()
    return msgspec.json.decode(said)


def await_a_finished_task(process: subprocess.Popen[str], into: Path) -> None:
    """Its result is kept, and most of the others run or wait."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not list(into.glob("runs/*/wave=*/_temporary/0/task_*")):
        assert process.poll() is None and time.monotonic() < deadline, "no task was finished"
        time.sleep(0.05)


def test_a_campaign_survives_a_worker(tmp_path: Path) -> None:
    script, into = tmp_path / "short.txt", tmp_path / "campaign"
    script.write_text(SHORT)
    with standalone(tmp_path) as cluster:
        process = start(script, into, "--master", cluster.master, *HERE)
        await_a_finished_task(process, into)
        cluster.kill_worker(0)
        told = answer(process, into.with_suffix(".log"))
    assert told["runs"] == len(SEEDS)
    assert told["failed"] == 0
    here = [play(Scenario(SHORT).trial((), seed))[1] for seed in SEEDS]
    (cell,) = told["outcomes"]
    assert cell["events"] == sum(one.events for one in here)
    assert cell["messages"] == sum(one.messages for one in here)
