"""A campaign is played in waves, each a Spark job whose rows are kept when it is over.

    runs/<plan>/wave=<number>/    a row for each run; complete where Spark left its mark

Stopped at any time, at most one wave is lost: the next start plays what has no row yet.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from antiphon.pipeline.campaign.plan import SCHEMA, Item, Plan, play_all
from antiphon.records.arrow import Batch, load
from antiphon.sim.grid import label

RUNS = "runs"
MARK = "_SUCCESS"
ITEMS_PER_TASK = 4
TASKS_PER_CORE = 4
"""Of a wave: more would be lost when it is stopped, fewer would leave cores without work at its
end."""

Progress = Callable[[int, int, int], None]
"""Told after each wave: runs that are over, of how many, and how many of them failed."""


def play_campaign(
    spark: SparkSession, plan: Plan, into: Path, cores: int, progress: Progress
) -> DataFrame:
    """Play what has not been played yet; all runs of the plan's cells and seeds."""
    plan.check()
    folder = into / RUNS / plan.name
    waves = _complete(folder)
    known = {(row.cell, row.seed) for row in _told(spark, waves).select("cell", "seed").collect()}
    names = [label(cell) for cell in plan.cells]
    items = [item for item in plan.items() if (names[item.cell], item.seed) not in known]
    over, failed = len(plan.cells) * len(plan.seeds) - len(items), 0
    every = over + len(items)
    progress(over, every, failed)
    for wave in _cut(items, cores * TASKS_PER_CORE * ITEMS_PER_TASK):
        path = folder / f"wave={len(waves):06}"
        _play(spark, plan, wave).write.mode("overwrite").parquet(str(path))
        waves.append(path)
        over += len(wave)
        failed += _told(spark, [path]).where("failed").count()
        progress(over, every, failed)
    wanted = spark.createDataFrame([(name,) for name in names], "cell string")
    seeds = plan.seeds
    runs = _told(spark, waves).where(f"seed >= {seeds.start} and seed < {seeds.stop}")
    return runs.join(wanted, "cell", "left_semi")


def _complete(folder: Path) -> list[Path]:
    """Waves in their order; what was interrupted is cleared away."""
    waves = sorted(folder.glob("wave=*"))
    whole = [wave for wave in waves if (wave / MARK).exists()]
    for wave in set(waves) - set(whole):
        shutil.rmtree(wave)
    return [wave.rename(folder / f"wave={at:06}") for at, wave in enumerate(whole)]


def _told(spark: SparkSession, waves: Sequence[Path]) -> DataFrame:
    return spark.read.schema(SCHEMA).parquet(*map(str, waves)) if waves else _none(spark)


def _none(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], SCHEMA)


def _cut(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    rest = iter(items)
    while wave := list(islice(rest, size)):
        yield wave


def _play(spark: SparkSession, plan: Plan, items: Sequence[Item]) -> DataFrame:
    schema = to_arrow_schema(_none(spark).schema)
    tasks = -(-len(items) // ITEMS_PER_TASK)

    def play(batches: Iterable[Any]) -> Iterator[Batch]:
        """In a Python worker."""
        for batch in batches:
            at = batch.column("id").to_pylist()
            rows = list(play_all(plan, [items[each] for each in at]))
            yield load().RecordBatch.from_pylist(rows, schema=schema)

    return spark.range(0, len(items), 1, tasks).mapInArrow(play, SCHEMA)
