"""Paths of record files as a stream: what Spark calls. The planner lists folders on the driver."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StructType

from antiphon.pipeline.follow.files import Met, between, meet, nothing
from antiphon.pipeline.ingest import find_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMAT = "antiphon-record-files"
PLACES = "places"


def stream_files(spark: "SparkSession", places: Iterable[Path]) -> "DataFrame":
    spark.dataSource.register(RecordFiles)
    told = json.dumps([str(place.absolute()) for place in places])
    return spark.readStream.format(FORMAT).option(PLACES, told).load()


@dataclass
class Paths(InputPartition):
    paths: list[str]


class RecordFiles(DataSource):
    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return "path string"

    def streamReader(self, schema: StructType) -> "PathReader":  # noqa: N802  Spark's name
        return PathReader([Path(place) for place in json.loads(self.options[PLACES])])


class PathReader(DataSourceStreamReader):
    def __init__(self, places: Sequence[Path]) -> None:
        self._places = places

    def initialOffset(self) -> Met:  # noqa: N802  Spark's name
        return nothing()

    def latestOffset(self, start: Met, limit: ReadLimit) -> Met:  # noqa: N802  Spark's name
        return meet(start, find_files(self._places))

    def partitions(self, start: Met, end: Met) -> Sequence[Paths]:
        return [Paths([*between(start, end)])]

    def read(self, partition: InputPartition) -> Iterator[tuple[str]]:
        assert isinstance(partition, Paths)
        for path in partition.paths:
            yield (path,)
