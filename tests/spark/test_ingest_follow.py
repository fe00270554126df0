"""Following takes what ingest would have taken, once, whatever comes between its batches."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from antiphon.pipeline.follow.job import CHECKPOINT, Follow, follow
from antiphon.pipeline.ingest import Ingested, ingest, records
from tests.spark.test_ingest import begin, row, times, write

pytestmark = pytest.mark.xdist_group("spark")

EVERY_S = 0.2
Step = Callable[[], object]


class Story:
    """Steps that come one behind each batch; it ends with the batch behind the last one."""

    def __init__(self, spark: SparkSession, source: Path, tables: Path) -> None:
        self._spark = spark
        self._what = Follow((source,), tables, EVERY_S)
        self._steps: list[Step] = []
        self.batches: list[Ingested] = []

    def play(self, *steps: Step) -> list[Ingested]:
        self._steps, self.batches = [*steps], []
        last = len(steps) + 1
        follow(self._spark, self._what, self._told, lambda: len(self.batches) >= last)
        return self.batches

    def _told(self, batch: int, counts: Ingested) -> None:
        if self._steps:
            self._steps.pop(0)()
        self.batches.append(counts)


def taken(batches: Sequence[Ingested]) -> list[int]:
    return [batch["segments"] for batch in batches]


def test_files_are_taken_as_they_come(spark: SparkSession, tmp_path: Path) -> None:
    """A late one with a lower number among them, and one that is still written."""
    source, tables, late = tmp_path / "records", tmp_path / "tables", tmp_path / "late"
    writer = begin(source, [row(number) for number in range(7)])
    late.mkdir()
    shutil.move(source / "d1-r1-00000001.arrow", late)
    story = Story(spark, source, tables)
    batches = story.play(
        lambda: shutil.move(late / "d1-r1-00000001.arrow", source),
        lambda: write(source, [row(number) for number in range(10, 14)], name="d2"),
        lambda: writer.close(),
    )
    assert taken(batches) == [1, 1, 2, 1]
    assert [batch["open_rows"] for batch in batches] == [1, 1, 1, 0]
    ingest(spark, [source], tmp_path / "at_once")
    assert rows(spark, tables) == rows(spark, tmp_path / "at_once")
    assert len(rows(spark, tables)) == 11


def rows(spark: SparkSession, tables: Path) -> list[str]:
    return sorted(map(repr, records(spark, tables).collect()))


def test_it_goes_on_where_it_was(spark: SparkSession, tmp_path: Path) -> None:
    """Also when its last batch was not noted, and an ingest came between."""
    source, tables = tmp_path / "records", tmp_path / "tables"
    write(source, [row(number) for number in range(3)])
    story = Story(spark, source, tables)
    assert taken(story.play()) == [1]
    for noted in ("0", ".0.crc"):  # perhaps it was stopped before that
        (tables / CHECKPOINT / "commits" / noted).unlink(missing_ok=True)
    write(source, [row(number) for number in range(10, 13)], name="d2")
    assert ingest(spark, [source], tables)["segments"] == 1
    write(source, [row(number) for number in range(20, 23)], name="d3")
    again, new = story.play(lambda: None)
    assert (again["segments"], again["known"]) == (0, 1)
    assert (new["segments"], new["known"]) == (1, 1)
    assert times(spark, tables) == [0, 1, 2, 10, 11, 12, 20, 21, 22]


def test_a_batch_that_failed_is_done_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, tables = tmp_path / "records", tmp_path / "tables"
    write(source, [row(number) for number in range(3)])

    def dies(*_: object) -> None:
        raise OSError("the disk is full")

    story = Story(spark, source, tables)
    with monkeypatch.context() as patch:
        patch.setattr("antiphon.pipeline.ingest._tell", dies)
        with pytest.raises(OSError, match="disk is full"):
            story.play()
    write(source, [row(number) for number in range(10, 13)], name="d2")
    assert taken(story.play(lambda: None)) == [1, 1]
    assert times(spark, tables) == [0, 1, 2, 10, 11, 12]


def test_it_ends_when_nothing_comes(spark: SparkSession, tmp_path: Path) -> None:
    source, tables = tmp_path / "records", tmp_path / "tables"
    write(source, [row(number) for number in range(3)])
    told: list[int] = []
    what = Follow((source,), tables, EVERY_S, until_idle=0.5)
    follow(spark, what, lambda batch, counts: told.append(counts["rows"]))
    follow(spark, what, lambda batch, counts: told.append(counts["rows"]))
    assert told == [3], "and nothing is done if nothing is new"
