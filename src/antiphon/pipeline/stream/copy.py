"""One streaming query: groups, a transformation, and a group, files or the screen."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon.core.errors import ConfigError
from antiphon.pipeline.failed_query import reason_of
from antiphon.pipeline.stream import register
from antiphon.pipeline.stream.options import read_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

CONSOLE_ROWS = 20


@dataclass(frozen=True, slots=True)
class Copy:
    source: Mapping[str, str]
    """Options of `format("antiphon")`."""

    select: tuple[str, ...] = ()
    """SQL expressions; none: all columns."""

    where: str = ""
    to_group: str = ""
    to_parquet: Path | None = None
    """Neither: the screen."""

    checkpoint: Path | None = None
    once: bool = False
    """End with what is there."""


def start(spark: "SparkSession", copy: Copy) -> "StreamingQuery":
    """ConfigError for what cannot be."""
    from pyspark.errors import AnalysisException, ParseException

    read_options(copy.source)
    if copy.checkpoint is None and (copy.to_group or copy.to_parquet):
        what = "a query that writes somewhere must remember how far it came"
        raise ConfigError("checkpoint", what, "name a folder")
    register(spark)
    rows = spark.readStream.format("antiphon").options(**copy.source).load()
    try:
        if copy.where:
            rows = rows.where(copy.where)
        if copy.select:
            rows = rows.selectExpr(*copy.select)
    except (AnalysisException, ParseException) as error:
        what = str(error).splitlines()[0]
        raise ConfigError("select", what, f"columns are {', '.join(rows.columns)}") from None
    if copy.to_group:
        # One task, for rows of several have no order among each other.
        writing = rows.coalesce(1).writeStream.format("antiphon").options(**_sink(copy))
    elif copy.to_parquet:
        writing = rows.writeStream.format("parquet").option("path", str(copy.to_parquet))
    else:
        writing = rows.writeStream.format("console").option("numRows", CONSOLE_ROWS)
    if copy.checkpoint:
        writing = writing.option("checkpointLocation", str(copy.checkpoint))
    trigger = {"availableNow": True} if copy.once else {"processingTime": "0 seconds"}
    return writing.trigger(**trigger).start()


def _sink(copy: Copy) -> dict[str, str]:
    kept = {name: copy.source[name] for name in ("connect", "token") if name in copy.source}
    return {**kept, "group": copy.to_group}


def outcome(query: "StreamingQuery") -> dict[str, Any]:
    """What a query that has ended did; ConfigError with its own words if it failed."""
    error = query.exception()
    if error is not None:
        raise ConfigError("stream", reason_of(str(error)), "see the range or daemon that it names")
    progress = query.recentProgress
    last = progress[-1] if progress else None
    return {
        "rows": sum(one["numInputRows"] for one in progress),
        "batches": len({one["batchId"] for one in progress if one["numInputRows"]}),
        "end": "" if last is None else str(last["sources"][0]["endOffset"]),
    }
