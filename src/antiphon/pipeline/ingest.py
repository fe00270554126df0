"""`ingest`: record files to tables, as often as one likes.

    records/run=…/part=…   rows of segments, each part written by one ingest
    open/ingest=…/run=…    rows of journals: segments in hand, written anew by every ingest
    segments/…             what became of each file, one row each

A segment is taken once, however often and late its file is met. A part is named by the segments
in it, and counts when the table of segments names it: an ingest that was interrupted does its
part again under the same name. Those that run at the same time take turns. Rows in hand of a
segment that was taken do not count.
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from antiphon.core.errors import UsageError
from antiphon.pipeline import small
from antiphon.pipeline.in_hand import newest, replace
from antiphon.pipeline.segments import (
    DUPLICATE,
    GONE,
    NEWER,
    TORN,
    Sighting,
    look,
    rows_of,
)
from antiphon.pipeline.tables import OPEN, RECORDS, SEGMENTS, segments_schema, table_schema
from antiphon.pipeline.turns import turn
from antiphon.records.arrow import Batch, load
from antiphon.records.segment import JOURNAL, SEGMENT

FILES_PER_TASK = 16
NEWER_COLUMNS: dict[str, bool | float | int | str] = {"size": 0}
"""That parts of an older version do not have, and what their rows mean."""

Identity = tuple[str, str, int]
"""Run, writer, number."""


class Ingested(dict[str, int]):
    """Counts: files and rows taken, and what was refused by its reason."""


def ingest(spark: SparkSession, sources: Iterable[Path], tables: Path) -> Ingested:
    """Take what is new."""
    return take(spark, find_files(sources), tables)


def take(spark: SparkSession, found: Sequence[Path], tables: Path) -> Ingested:
    """What is new in these files; their journals are all that is in hand."""
    with turn(tables):
        return _take(spark, found, tables)


def _take(spark: SparkSession, found: Sequence[Path], tables: Path) -> Ingested:
    known = told(tables)
    sightings = _look_at(spark, found)
    fresh, journals, refused = _choose(sightings, known)
    part = _name_of(fresh)
    if fresh:
        rows = _rows(spark, [one.path for one in fresh]).withColumn("part", F.lit(part))
        rows.write.mode("overwrite").partitionBy("run", "part").parquet(str(tables / RECORDS))
    (tables / OPEN).mkdir(exist_ok=True)
    _tell(tables, part, fresh, refused)
    replace(_rows(spark, [one.path for one in journals]) if journals else None, tables)
    counts = Ingested(
        files=len(found),
        segments=len(fresh),
        rows=sum(one.rows for one in fresh),
        open_segments=len(journals),
        open_rows=sum(one.rows for one in journals),
        known=sum(one.complete and _identity(one) in known.segments for one in sightings),
    )
    for one in refused:
        counts[one.state] = counts.get(one.state, 0) + 1
    return counts


def find_files(sources: Iterable[Path]) -> list[Path]:
    files: list[Path] = []
    for source in sources:
        if not source.exists():
            raise UsageError("no_records", f"there is no {source}", "name a directory of records")
        inside = sorted(source.rglob("*")) if source.is_dir() else [source]
        files += [path.absolute() for path in inside if path.suffix in (SEGMENT, JOURNAL)]
    return files


class Told(NamedTuple):
    """What earlier ingests have said."""

    segments: frozenset[Identity]
    refusals: frozenset[tuple[str, str]]
    """Paths, and what was wrong there."""


def told(tables: Path) -> Told:
    rows = small.read(tables / SEGMENTS) if (tables / SEGMENTS).exists() else []
    return Told(
        frozenset((row["run"], row["writer"], row["segment"]) for row in rows if row["part"]),
        frozenset((row["path"], row["state"]) for row in rows if not row["part"]),
    )


def records(spark: SparkSession, tables: Path) -> DataFrame:
    """All rows that count: of parts that were finished, and of segments in hand."""
    if not (tables / SEGMENTS).exists():
        remedy = "run antiphon pipeline ingest first"
        raise UsageError("no_tables", f"there are no tables in {tables}", remedy)
    schema = from_arrow_schema(table_schema())
    # First, so that a segment taken from now on is in both tables rather than in neither.
    in_hand = spark.read.schema(schema).parquet(str(newest(tables)))
    told = spark.read.schema(from_arrow_schema(segments_schema())).parquet(str(tables / SEGMENTS))
    taken = F.broadcast(told.where("part != ''").select("run", "writer", "segment"))
    in_hand = in_hand.join(taken, ["run", "writer", "segment"], "left_anti")
    parts = sorted({row["part"] for row in small.read(tables / SEGMENTS)} - {""})
    if not parts:
        return in_hand.select(schema.names)
    stored = spark.read.schema(schema.add("part", "string")).parquet(str(tables / RECORDS))
    rows = stored.where(F.col("part").isin(parts)).drop("part")
    return rows.unionByName(in_hand).fillna(NEWER_COLUMNS)


def _look_at(spark: SparkSession, files: Sequence[Path]) -> list[Sighting]:
    """On the executors: the files are read to their end."""
    if not files:
        return []
    tasks = max(1, len(files) // FILES_PER_TASK)
    seen = spark.sparkContext.parallelize([str(path) for path in files], tasks)
    return seen.map(lambda path: look(Path(path))).collect()


def _identity(one: Sighting) -> Identity:
    return one.run, one.writer, one.segment


def _choose(
    sightings: Sequence[Sighting], known: Told
) -> tuple[list[Sighting], list[Sighting], list[Sighting]]:
    """New segments, journals that have not become one, and what is refused."""
    fresh: dict[Identity, Sighting] = {}
    journals: dict[Identity, Sighting] = {}
    refused: list[Sighting] = []
    # Segments before journals, and of two copies the one that says more.
    for one in sorted(set(sightings), key=lambda one: (not one.complete, -one.rows, one.path)):
        identity = _identity(one)
        if one.state in (NEWER, GONE) or (one.state == TORN and not one.rows):
            refused.append(one)
        elif identity in known.segments:
            continue
        elif identity in fresh or identity in journals:
            refused.append(one._replace(state=DUPLICATE, reason="its segment was met before"))
        elif one.complete:
            fresh[identity] = one
        else:
            journals[identity] = one
    refused = [one for one in refused if (one.path, one.state) not in known.refusals]
    return (
        [fresh[key] for key in sorted(fresh)],
        [journals[key] for key in sorted(journals)],
        refused,
    )


def _name_of(segments: Sequence[Sighting]) -> str:
    digest = blake2b(digest_size=8)
    for one in segments:
        digest.update(repr(_identity(one)).encode())
    return digest.hexdigest()


def _rows(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    tasks = max(1, len(paths) // FILES_PER_TASK)

    def read(batches: Iterable[Any]) -> Iterator[Batch]:
        """In a Python worker."""
        for batch in batches:
            for place in batch.column("id").to_pylist():
                yield from rows_of(Path(paths[place]))

    return spark.range(0, len(paths), 1, tasks).mapInArrow(read, from_arrow_schema(table_schema()))


def _tell(tables: Path, part: str, fresh: Sequence[Sighting], refused: Sequence[Sighting]) -> None:
    """The last step: from here on the part counts."""
    lines = [(*one, part) for one in fresh] + [(*one, "") for one in refused]
    if lines or not (tables / SEGMENTS).exists():
        schema = segments_schema()
        rows = [dict(zip(schema.names, line, strict=True)) for line in lines]
        small.append(load().Table.from_pylist(rows, schema), tables / SEGMENTS)
