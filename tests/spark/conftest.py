"""One Spark session for all tests of a process: it takes longer to start than they to run. Files
name the group `spark`, so that xdist gives them all to one process; those whose jobs are processes
of their own, `spark processes`, for another."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from antiphon.pipeline.session import SMALL, spark_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with spark_session("tests", "local[2]", "2g", SMALL) as session:
        yield session
