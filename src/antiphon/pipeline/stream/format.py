"""`format("antiphon")`: what Spark calls.

Reading, the planner lives in one process of the driver and keeps a session; each task has its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from antiphon.client.log import LogRange
from antiphon.core.errors import ConfigError
from antiphon.pipeline.stream.columns import SCHEMA
from antiphon.pipeline.stream.options import EARLIEST, LATEST, StreamOptions, read_options
from antiphon.pipeline.stream.plan import Offsets, Planner
from antiphon.pipeline.stream.sink import BatchSink, Sender, StreamSink
from antiphon.records.arrow import Batch


@dataclass
class Piece(InputPartition):
    """A group, a branch, and from where to where."""

    group: str
    wanted: LogRange


class AntiphonSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "antiphon"

    def schema(self) -> str:
        return SCHEMA

    def reader(self, schema: StructType) -> "LogReader":
        return LogReader(self._readable())

    def streamReader(self, schema: StructType) -> "LogStreamReader":  # noqa: N802  Spark's name
        return LogStreamReader(self._readable())

    def writer(self, schema: StructType, overwrite: bool) -> BatchSink:
        """Tasks of one job that are repeated send the same keys."""
        return BatchSink(Sender(self._options(), schema.names), f"job {uuid4()}")

    def streamWriter(  # noqa: N802  Spark's name
        self, schema: StructType, overwrite: bool
    ) -> StreamSink:
        return StreamSink(Sender(self._options(), schema.names))

    def _options(self) -> StreamOptions:
        return read_options(dict(self.options))

    def _readable(self) -> StreamOptions:
        options = self._options()
        if not options.groups:
            raise ConfigError(
                "group", "no group is named", "say group=NAME, or several with commas"
            )
        return options


class LogReader(DataSourceReader):
    """All that is there between two offsets, as a table."""

    def __init__(self, options: StreamOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[Piece]:
        planner = Planner(self._options)
        start = planner.ends(self._options.starting, EARLIEST)
        end = planner.ends(self._options.ending, LATEST)
        return [Piece(*piece) for piece in planner.pieces(start, end)]

    def read(self, partition: InputPartition) -> Iterator[Batch]:
        assert isinstance(partition, Piece)
        return Planner(self._options).read(partition.group, partition.wanted)


class LogStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: StreamOptions) -> None:
        self._options = options
        self._planner = Planner(options)
        self._target: Offsets | None = None
        """With `availableNow`: the end of the query."""

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802  Spark's name
        return self._planner.ends(self._options.starting, EARLIEST)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  Spark's name
        rows = self._options.max_rows
        return ReadMaxRows(rows) if rows else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  Spark's name
        self._target = self._planner.ends(LATEST, LATEST)

    def latestOffset(  # noqa: N802  Spark's name
        self, start: dict[str, Any], limit: ReadLimit
    ) -> dict[str, Any]:
        rows = limit.max_rows if isinstance(limit, ReadMaxRows) else 0
        return self._planner.latest(start, rows, self._target)

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802  Spark's name
        return self._planner.ends(LATEST, LATEST)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[Piece]:
        return [Piece(*piece) for piece in self._planner.pieces(start, end)]

    def read(self, partition: InputPartition) -> Iterator[Batch]:
        assert isinstance(partition, Piece)
        return self._planner.read(partition.group, partition.wanted)
