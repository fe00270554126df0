"""Jobs on a real Spark master with two workers, one of which is killed on the way.

Their driver is a process of its own, as a process has only one session, and the same for both:
it takes longer to start than they to run.
"""

import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from antiphon.pipeline.campaign.plan import Plan
from antiphon.pipeline.campaign.summary import outcomes
from antiphon.pipeline.campaign.waves import play_campaign
from antiphon.pipeline.session import SMALL, cores, spark_session
from antiphon.pipeline.synthetic import BREAKS, Plant, write_tables
from antiphon.pipeline.verify.job import verify
from antiphon.sim.grid import Scenario, cells
from antiphon.sim.trial import play
from tests.spark.standalone import Standalone, java_options, standalone

pytestmark = pytest.mark.xdist_group("spark processes")

SHORT = """\
daemons 3
workload rate=10 until=2s
at 500ms crash 2
quiet 1s
until 3s
"""
HERE = {
    **SMALL,
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.extraJavaOptions": java_options(),
}
PATIENCE_S = 240
SEEDS = range(16)


class Driver:
    """In its process: the session, and the jobs."""

    kept = ExitStack()
    spark: SparkSession

    @classmethod
    def start(cls, master: str) -> None:
        cls.spark = cls.kept.enter_context(spark_session("tests", master, "1g", HERE))

    @classmethod
    def stop(cls) -> None:
        cls.kept.close()

    @classmethod
    def campaign(cls, into: Path) -> tuple[int, int, int, int, int]:
        plan = Plan(Scenario(SHORT), cells([]), SEEDS)
        here = cores(cls.spark.sparkContext.master)
        runs = play_campaign(cls.spark, plan, into, here, lambda *_: None)
        (cell,) = outcomes(runs).collect()
        return cell.runs, cell.violations, cell.stuck, cell.events, cell.messages

    @classmethod
    def verdict(cls, tables: Path) -> list[tuple[str, str]]:
        found = verify(cls.spark, tables).findings.collect()
        return sorted((row.promise, row.text) for row in found)

    @classmethod
    def use_all_workers(cls) -> None:
        cls.spark.range(0, 8, 1, 8).count()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with standalone(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture(scope="module")
def driver(cluster: Standalone) -> Iterator[ProcessPoolExecutor]:
    anew = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, anew, Driver.start, (cluster.master,)) as process:
        yield process
        process.submit(Driver.stop).result(PATIENCE_S)


def await_in(job: Future[object], seen: Callable[[], bool]) -> None:
    """While some tasks of the job are done, and others run or wait."""
    deadline = time.monotonic() + PATIENCE_S
    while not seen():
        assert not job.done() and time.monotonic() < deadline, "it was not seen in time"
        time.sleep(0.05)
    assert not job.done()


def test_a_campaign_survives_a_worker(
    cluster: Standalone, driver: ProcessPoolExecutor, tmp_path: Path
) -> None:
    job = driver.submit(Driver.campaign, tmp_path)
    await_in(job, lambda: any(tmp_path.glob("runs/*/wave=*/_temporary/0/task_*")))
    cluster.kill_worker(0)
    here = [play(Scenario(SHORT).trial((), seed))[1] for seed in SEEDS]
    events, messages = (sum(getattr(one, name) for one in here) for name in ("events", "messages"))
    assert job.result(PATIENCE_S) == (len(SEEDS), 0, 0, events, messages)


def test_a_verdict_survives_a_worker(
    cluster: Standalone, driver: ProcessPoolExecutor, tmp_path: Path
) -> None:
    """The same answer as when nothing happens: what is planted, in the same words."""
    write_tables(tmp_path, 30_000, plants=(Plant.SWAP, Plant.DUPLICATE), groups=4, daemons=6)
    cluster.start_worker()
    deadline = time.monotonic() + PATIENCE_S
    while not (known := cluster.finished_tasks(-1)):
        assert time.monotonic() < deadline, "the new worker takes no part"
        driver.submit(Driver.use_all_workers).result(PATIENCE_S)
    job = driver.submit(Driver.verdict, tmp_path)
    await_in(job, lambda: cluster.finished_tasks(-1) >= known + 3)
    cluster.kill_worker(-1)
    found = job.result(PATIENCE_S)
    assert {promise for promise, _ in found} == BREAKS[Plant.SWAP] | {"D1"}
    assert driver.submit(Driver.verdict, tmp_path).result(PATIENCE_S) == found
