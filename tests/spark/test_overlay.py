"""Ways between sites, from records and from a table."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from antiphon.core.errors import UsageError
from antiphon.pipeline.ingest import ingest
from antiphon.pipeline.overlay.ways import measured_ways
from antiphon.records.segment import SEGMENT, Heading, SegmentName
from antiphon.records.whole import whole_segment
from antiphon.sim.trial import parse_trial, play

pytestmark = pytest.mark.xdist_group("spark")

THREE_SITES = """\
daemons 6
sites 1 2 | 3 4 | 5 6
wan site1 - site2 latency=10ms jitter=0us
wan site1 - site3 latency=30ms jitter=0us
wan site2 - site3 latency=30ms jitter=0us loss=0.2
workload rate=20 until=6s
until 7s
"""


def test_ways_are_read_from_records(spark: SparkSession, tmp_path: Path) -> None:
    played, _ = play(parse_trial(THREE_SITES))
    heading = Heading(run="three", source="sim", name="sim")
    path = SegmentName("sim", "three", 0).path(tmp_path, SEGMENT)
    path.write_bytes(whole_segment(played.records, heading))
    ingest(spark, [tmp_path], tmp_path / "tables")
    found = {(one.source, one.target): one for one in measured_ways(spark, tmp_path / "tables")}
    near, far, lossy = (
        found[f"site{one}", f"site{other}"] for one, other in ((1, 2), (1, 3), (2, 3))
    )
    assert 20_000 <= near.round_trip_us <= 30_000
    assert 60_000 <= far.round_trip_us <= 75_000
    assert near.loss < 0.02
    assert 0.1 < lossy.loss < 0.35
    assert near.weight < far.weight < lossy.weight


def test_ways_are_read_from_a_table(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "pings.csv"
    table.write_text("source,target,round_trip_us,loss\na,b,900,0\na,b,1000,0.1\na,b,5000,0.2\n")
    (way,) = measured_ways(spark, table)
    assert (way.source, way.target, way.round_trip_us, way.samples) == ("a", "b", 1000, 3)
    assert way.loss == pytest.approx(0.1)
    table.write_text("source,target,round_trip_us,loss\n")
    with pytest.raises(UsageError, match="no way between sites"):
        measured_ways(spark, table)
