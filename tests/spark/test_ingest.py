"""Record files become tables once, whatever befell them."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from antiphon.core.errors import UsageError
from antiphon.core.ids import ConfigId, DaemonId, Incarnation, SessionId
from antiphon.core.trace import Kind, Record
from antiphon.pipeline.in_hand import KEPT_S
from antiphon.pipeline.ingest import ingest, records
from antiphon.pipeline.verify.files import find_pieces, read_piece
from antiphon.records.writer import SegmentLimits, SegmentWriter

pytestmark = pytest.mark.xdist_group("spark")

LARGE = 2**64 - 3
"""An id whose highest bit is set: Spark has no number for it, only the pattern."""


def row(number: int) -> Record:
    origin = SessionId(DaemonId(LARGE), Incarnation(7), 3)
    config = ConfigId(5, DaemonId(LARGE), Incarnation(1), 2)
    found = Record(Kind.HAND, number, DaemonId(LARGE), Incarnation(7))
    found.origin, found.config, found.first, found.count = origin, config, number, 1
    found.groups = ("news", "sport")
    return found


def begin(folder: Path, rows: Sequence[Record], name: str = "d1") -> SegmentWriter:
    """Segments of three rows; the last one is still in hand."""
    limits = SegmentLimits(batch_rows=3, segment_rows=3)
    out = SegmentWriter(folder, name, "daemon", "r1", clock=lambda: 0, limits=limits)
    for one in rows:
        out.add(one)
        out.maybe_rotate(0)
    out.spill(0)
    return out


def write(folder: Path, rows: Sequence[Record], name: str = "d1") -> None:
    begin(folder, rows, name).close()


def times(spark: SparkSession, tables: Path) -> list[int]:
    """As Spark reads the tables, and as verify reads their files."""
    found = sorted(row.time for row in records(spark, tables).select("time").collect())
    pieces = [columns for piece in find_pieces(tables) for columns in read_piece(piece)]
    assert sorted(time for one in pieces for time in one.longs("time").tolist()) == found
    return found


def test_rows_are_taken_once_and_exactly(spark: SparkSession, tmp_path: Path) -> None:
    source, tables = tmp_path / "records", tmp_path / "tables"
    write(source, [row(number) for number in range(7)])
    first = ingest(spark, [source], tables)
    again = ingest(spark, [source], tables)
    assert (first["segments"], first["rows"]) == (3, 7)
    assert (again["segments"], again["known"]) == (0, 3)
    assert times(spark, tables) == [*range(7)]
    found = records(spark, tables).where("time = 4").collect()[0]
    assert (found.run, found.writer, found.segment, found.row) == ("r1", "d1", 2, 1)
    assert found.node == found.origin.daemon == LARGE - 2**64
    assert (found.config.epoch, found.config.counter) == (5, 2)
    assert (found.kind, found.groups, found.profile) == ("hand", ["news", "sport"], "strong")


def test_late_segments_join_the_others(spark: SparkSession, tmp_path: Path) -> None:
    source, tables = tmp_path / "records", tmp_path / "tables"
    write(source, [row(number) for number in range(3)])
    ingest(spark, [source], tables)
    write(source, [row(number) for number in range(10, 13)], name="d2")
    late = ingest(spark, [source], tables)
    assert (late["segments"], late["known"]) == (1, 1)
    assert times(spark, tables) == [0, 1, 2, 10, 11, 12]


def test_what_is_still_written_counts_until_it_is_a_segment(
    spark: SparkSession, tmp_path: Path
) -> None:
    source, tables = tmp_path / "records", tmp_path / "tables"
    writer = begin(source, [row(number) for number in range(4)])
    seen = ingest(spark, [source], tables)
    assert (seen["rows"], seen["open_rows"]) == (3, 1)
    assert times(spark, tables) == [0, 1, 2, 3]
    writer.add(row(4))
    writer.close()
    seen = ingest(spark, [source], tables)
    assert (seen["rows"], seen["open_rows"]) == (2, 0)
    assert times(spark, tables) == [0, 1, 2, 3, 4]


def test_what_is_refused_is_told_once_and_why(spark: SparkSession, tmp_path: Path) -> None:
    source, tables = tmp_path / "records", tmp_path / "tables"
    write(source, [row(number) for number in range(6)])
    one, two = sorted(source.glob("*.arrow"))
    (tmp_path / "copy").mkdir()
    shutil.copy(one, tmp_path / "copy" / one.name)
    two.write_bytes(two.read_bytes()[:-100])
    newer = two.with_name("d1-r1-00000009.arrow")
    newer.write_bytes(one.read_bytes().replace(b'"schema":2', b'"schema":9'))
    places = [source, tmp_path / "copy"]
    found = ingest(spark, places, tables)
    assert (found["duplicate"], found["torn"], found["newer_schema"]) == (1, 1, 1)
    assert times(spark, tables) == [0, 1, 2]
    again = ingest(spark, places, tables)
    assert not {"duplicate", "torn", "newer_schema"} & set(again)
    told = spark.read.parquet(str(tables / "segments")).where("part = ''")
    assert {line.state for line in told.collect()} == {"duplicate", "torn", "newer_schema"}


def test_tables_of_an_older_version_have_the_defaults_of_newer_columns(
    spark: SparkSession, tmp_path: Path
) -> None:
    source, tables = tmp_path / "records", tmp_path / "tables"
    write(source, [row(number) for number in range(3)])
    ingest(spark, [source], tables)
    written = spark.read.parquet(str(tables / "records")).drop("size").localCheckpoint()
    written.write.mode("overwrite").partitionBy("run", "part").parquet(str(tables / "records"))
    write(source, [row(number) for number in range(10, 13)], name="d2")
    ingest(spark, [source], tables)
    found = records(spark, tables).select("time", "size").collect()
    assert sorted(found) == [(time, 0) for time in (0, 1, 2, 10, 11, 12)]


def test_an_interrupted_ingest_is_done_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, tables = tmp_path / "records", tmp_path / "tables"
    write(source, [row(number) for number in range(3)])

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("antiphon.pipeline.ingest._tell", dies)
        with pytest.raises(KeyboardInterrupt):
            ingest(spark, [source], tables)
    write(source, [row(number) for number in range(10, 13)], name="d2")
    ingest(spark, [source], tables)
    assert times(spark, tables) == [0, 1, 2, 10, 11, 12]


def test_no_such_place(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no .*nowhere"):
        ingest(spark, [tmp_path / "nowhere"], tmp_path)
    with pytest.raises(UsageError, match="pipeline ingest"):
        records(spark, tmp_path)


def test_rows_in_hand_of_a_segment_that_was_taken_do_not_count(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a reader finds it between the two steps of an ingest, or behind one that died there."""
    source, tables = tmp_path / "records", tmp_path / "tables"
    writer = begin(source, [row(number) for number in range(4)])
    ingest(spark, [source], tables)
    writer.close()
    monkeypatch.setattr("antiphon.pipeline.ingest.replace", lambda *_: None)
    assert ingest(spark, [source], tables)["rows"] == 1
    assert times(spark, tables) == [0, 1, 2, 3]


def test_who_reads_is_not_disturbed_by_an_ingest(spark: SparkSession, tmp_path: Path) -> None:
    source, tables = tmp_path / "records", tmp_path / "tables"
    writer = begin(source, [row(number) for number in range(4)])
    ingest(spark, [source], tables)
    found = records(spark, tables).select("time")
    writer.close()
    ingest(spark, [source], tables)
    assert sorted(row.time for row in found.collect()) == [0, 1, 2, 3]
    assert times(spark, tables) == [0, 1, 2, 3]


def test_rows_that_were_in_hand_are_removed_when_nobody_reads_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    source, tables = tmp_path / "records", tmp_path / "tables"
    writer = begin(source, [row(number) for number in range(4)])
    for _ in range(2):
        ingest(spark, [source], tables)
    first, second = sorted((tables / "open").iterdir())
    long_ago = second.stat().st_mtime - 2 * KEPT_S
    os.utime(second, (long_ago, long_ago))
    ingest(spark, [source], tables)
    assert not first.exists() and second.exists()
    assert times(spark, tables) == [0, 1, 2, 3]
    writer.close()
