"""A Spark session for our jobs: embedded in this process, or on any master.

Jobs are the same on both. Executors elsewhere get this package with the session; the other
packages they must have.
"""

import os
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon.core.errors import ConfigError
from antiphon.pipeline.java import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*]"
CONFIGURATION = {
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.python.filterPushdown.enabled": "true",
    # Spark asks Java three times for each column where in our code it was made; we do not.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.sources.partitionOverwriteMode": "dynamic",
}
SMALL = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.showConsoleProgress": "false",
}
"""For a minute of work on tables of some thousand rows: what the best compiler gains, code that
is made for each query, and plans that are made anew after each stage take longer than the rows."""


@contextmanager
def spark_session(
    job: str, master: str = LOCAL, memory: str = "4g", extra: Mapping[str, str] | None = None
) -> "Iterator[SparkSession]":
    """`with spark_session("verify") as spark:`; it ends with the block."""
    java = _prepare(master)
    from pyspark.sql import SparkSession

    from antiphon.pipeline.archive import archive_options

    builder = SparkSession.builder.appName(f"antiphon {job}").master(master)
    settings = {**CONFIGURATION, "spark.driver.memory": memory, **_tuned(master), **(extra or {})}
    logging = (Path(__file__).resolve().parent / "log4j2.properties").as_uri()
    settings["spark.driver.extraJavaOptions"] = " ".join(
        [
            f"-Dlog4j2.configurationFile={logging}",
            archive_options(java),
            settings.get("spark.driver.extraJavaOptions", ""),
        ]
    )
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        spark = builder.getOrCreate()
    except Exception as error:
        what = f"Spark did not start on {master}: {_first_line(error)}"
        raise ConfigError("master", what, "see that the master runs and can be reached") from error
    with tempfile.TemporaryDirectory(prefix="antiphon-ship-") as folder:
        try:
            if not is_local(master):
                _ship(spark, Path(folder))
            yield spark
        finally:
            spark.stop()


def is_local(master: str) -> bool:
    return master.startswith("local[") or master == "local"


def cores(master: str) -> int:
    """That a job on this master may count with when it cuts its work."""
    here = os.cpu_count() or 1
    if not is_local(master):
        return 2 * here
    within = master.partition("[")[2].rstrip("]").partition(",")[0]
    if within == "*":
        return here
    return int(within or 1)


def part_count(spark: "SparkSession") -> int:
    """To cut work into that is shuffled and kept: Spark joins small parts only of what it does
    not keep, and would start two hundred tasks for a handful of rows."""
    return 4 * spark.sparkContext.defaultParallelism


def _prepare(master: str) -> Path:
    """The home of Java."""
    if util.find_spec("pyspark") is None:
        raise ConfigError(
            "pyspark", "Spark is not installed", "run scripts/bootstrap spark, or pip install it"
        )
    java = find_java()
    os.environ["JAVA_HOME"] = str(java)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if is_local(master):
        # Nobody else has to find us, and the name of a host may lead nowhere.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    return java


def _tuned(master: str) -> dict[str, str]:
    """A shuffle into hundreds of parts is for clusters; here each costs more than it brings."""
    return {"spark.sql.shuffle.partitions": str(4 * cores(master))} if is_local(master) else {}


def _ship(spark: "SparkSession", folder: Path) -> None:
    """This package, to executors that do not have it. They fetch it from the folder when they
    start, which may be at any time."""
    package = Path(__file__).resolve().parent.parent
    archive = folder / "antiphon.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(package.rglob("*.py")):
            file.write(path, path.relative_to(package.parent))
    spark.sparkContext.addPyFile(str(archive))


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]
