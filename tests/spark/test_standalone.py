"""Jobs on a real Spark master with two workers, one of which is killed on the way."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.sql import SparkSession

from antiphon.pipeline.synthetic import BREAKS, Plant, write_tables
from antiphon.pipeline.verify.job import verify
from antiphon.sim.grid import Scenario
from antiphon.sim.trial import play
from tests.spark.standalone import QUICK, Standalone, standalone

pytestmark = pytest.mark.xdist_group("spark processes")

SHORT = """\
daemons 3
workload rate=10 until=4s
at 1s crash 2
quiet 2s
until 5s
"""
HERE = [
    *("--conf=spark.driver.host=127.0.0.1", "--conf=spark.driver.bindAddress=127.0.0.1"),
    *(f"--conf=spark.{who}.extraJavaOptions={QUICK}" for who in ("driver", "executor")),
]
PATIENCE_SECONDS = 240
SEEDS = range(40)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with standalone(tmp_path_factory.mktemp("cluster")) as found:
        yield found


def start(log: Path, job: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "antiphon", "pipeline", job, *arguments]
    command += ["--json", "--memory", "1g", *HERE]
    with log.open("w") as file:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=file, text=True)


def answer(process: subprocess.Popen[str], log: Path, code: int = 0) -> Any:
    try:
        said, _ = process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        process.kill()
    assert process.returncode == code, log.read_text()
    return msgspec.json.decode(said)


def await_finished(process: subprocess.Popen[str], has_finished: Callable[[], bool]) -> None:
    """Some tasks are done, and others run or wait."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not has_finished():
        assert process.poll() is None and time.monotonic() < deadline, "no task was finished"
        time.sleep(0.05)


def test_a_campaign_survives_a_worker(cluster: Standalone, tmp_path: Path) -> None:
    script, into, log = tmp_path / "short.txt", tmp_path / "campaign", tmp_path / "log"
    script.write_text(SHORT)
    seeds = ("--seeds", f"0:{len(SEEDS)}", "--into", str(into), "--master", cluster.master)
    process = start(log, "campaign", str(script), *seeds)
    await_finished(process, lambda: any(into.glob("runs/*/wave=*/_temporary/0/task_*")))
    cluster.kill_worker(0)
    told = answer(process, log)
    assert told["runs"] == len(SEEDS)
    assert told["failed"] == 0
    here = [play(Scenario(SHORT).trial((), seed))[1] for seed in SEEDS]
    (cell,) = told["outcomes"]
    assert cell["events"] == sum(one.events for one in here)
    assert cell["messages"] == sum(one.messages for one in here)


def test_a_verdict_survives_a_worker(
    cluster: Standalone, spark: SparkSession, tmp_path: Path
) -> None:
    """The same answer as here: what is planted, in the same words."""
    tables, log = tmp_path / "tables", tmp_path / "log"
    write_tables(tables, 60_000, plants=(Plant.SWAP, Plant.DUPLICATE), groups=4)
    cluster.start_worker()
    process = start(log, "verify", str(tables), "--master", cluster.master)
    await_finished(process, lambda: cluster.finished_tasks(-1) >= 3)
    cluster.kill_worker(-1)
    told = answer(process, log, code=1)
    here = [row.text for row in verify(spark, tables).findings.collect()]
    assert sorted(one["text"] for one in told["findings"]) == sorted(here)
    assert {one["promise"] for one in told["findings"]} == BREAKS[Plant.SWAP] | {"D1"}
