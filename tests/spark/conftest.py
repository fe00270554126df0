"""One Spark session for all tests of a process: it takes longer to start than they to run. Files
name the group `spark`, so that xdist gives them all to one process; those whose jobs are processes
of their own, `spark processes`, for another."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from antiphon.pipeline.session import spark_session

QUICK = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
    # Tables of a few rows: code that is made for them, and plans that are made anew after each
    # stage, take longer than the rows. Jobs that are processes of their own run with both.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with spark_session("tests", "local[2]", "2g", QUICK) as session:
        yield session
