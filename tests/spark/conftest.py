"""One Spark session for all tests of a process: it takes longer to start than they to run."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from antiphon.pipeline.session import spark_session

QUICK = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.showConsoleProgress": "false",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All on one worker of xdist, which then has the only session."""
    for item in items:
        if "tests/spark/" in item.path.as_posix():
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with spark_session("tests", "local[2]", "2g", QUICK) as session:
        yield session
