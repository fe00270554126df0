"""The bench of streams, as short as can be."""

import pytest
from pyspark.sql import SparkSession

from antiphon.tools.bench.stream import KEPT, StreamPlan, run_stream
from antiphon.tools.bench.target import own_daemons

pytestmark = pytest.mark.xdist_group("spark")


def test_rows_and_trips_are_timed(spark: SparkSession) -> None:
    plan = StreamPlan(rows=2_000, size=20, repeat=1, trips=2, rate=100.0, warmup=0)
    with own_daemons(1, extra=KEPT) as (target, _):
        found = run_stream(spark, target.addresses, plan, lambda _: None)
    assert found["rows_per_second"] > 0 and found["cpu_us_per_row"] > 0
    assert 0 < found["latency_p50_ms"] <= found["latency_p95_ms"] <= found["latency_most_ms"]
    assert (found["rows"], found["trips"], found["daemons"]) == (2_000, 2, 1)
