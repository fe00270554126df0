"""Groups in and out of Structured Streaming, with real daemons."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from antiphon.client import blocking
from antiphon.core.errors import ConfigError
from antiphon.core.offsets import ORIGIN
from antiphon.core.service import Service
from antiphon.pipeline.stream import register
from antiphon.pipeline.stream.copy import Copy, outcome, start
from antiphon.tools.cluster import LocalCluster
from tests.real.kept import KEEP
from tests.real.waiting import until

pytestmark = pytest.mark.xdist_group("spark")

PATIENCE_S = 120.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with LocalCluster(3, tmp_path_factory.mktemp("stream"), extra=KEEP) as running:
        running.await_merge(PATIENCE_S)
        yield running


def say(addresses: list[str], group: str, numbers: range) -> None:
    """Each number once, whatever happens to the daemons meanwhile."""
    with blocking.connect(addresses, failover=True) as session:
        for number in numbers:
            session.multicast(group, b"%d" % number, key=("test", number))
        session.multicast(session.private_group, b"", service=Service.SAFE)
        assert session.receive(timeout=PATIENCE_S) is not None


def payloads(address: str, group: str) -> list[bytes]:
    with blocking.connect(address) as session:
        log = session.log(group)
        return [one.payload for one in log.messages(log.earliest())]


def options(cluster: LocalCluster, group: str, **more: str) -> dict[str, str]:
    return {"connect": ",".join(cluster.addresses), "group": group, **more}


def test_a_log_is_a_table(spark: SparkSession, cluster: LocalCluster) -> None:
    say(cluster.addresses[:1], "kept.table", range(2_000))
    register(spark)
    told = options(cluster, "kept.table", rowsPerPartition="700")
    until(lambda: len(payloads(cluster.addresses[0], "kept.table")) == 2_000, PATIENCE_S)
    rows = spark.read.format("antiphon").options(**told).load()
    found = rows.collect()  # in the log's order; a busy machine may make a branch of several parts
    assert [int(row.payload) for row in found] == list(range(2_000))
    assert [(row.producer, row.key) for row in found[:2]] == [("test", 0), ("test", 1)]
    assert {row.group for row in found} == {"kept.table"}
    assert {row.service for row in found} == {"agreed"}
    first = f'{{"kept.table": "{found[1_989].branch}:{found[1_989].sequence}"}}'
    late = spark.read.format("antiphon").options(**told, startingOffsets=first).load()
    assert late.count() == 10


def test_rows_of_a_table_are_sent_once(spark: SparkSession, cluster: LocalCluster) -> None:
    register(spark)
    rows = spark.range(500).selectExpr("cast(id as string) as payload", "'kept.sent' as group")
    told = {"connect": cluster.addresses[1]}
    rows.coalesce(1).write.format("antiphon").options(**told).mode("append").save()
    until(lambda: len(payloads(cluster.addresses[2], "kept.sent")) == 500, PATIENCE_S)
    assert [int(one) for one in payloads(cluster.addresses[2], "kept.sent")] == list(range(500))


def test_what_fell_out_ends_the_query_and_is_named(
    spark: SparkSession, cluster: LocalCluster
) -> None:
    with blocking.connect(cluster.addresses[0]) as session:
        for number in range(200):
            session.multicast("small", b"%4d" % number * 250)
        log = session.log("small")
        until(lambda: log.latest().sequence == 200, PATIENCE_S)
        branch = log.latest().branch
    register(spark)
    told = options(cluster, "small", startingOffsets=f'{{"small": "{branch}:3"}}', timeout="1")
    rows = spark.readStream.format("antiphon")
    query = rows.options(**told).load().writeStream.format("noop").start()
    with pytest.raises(StreamingQueryException, match="4 to"):
        query.awaitTermination(PATIENCE_S)
    with pytest.raises(ConfigError, match="trimmed: 'small': 4 to"):
        outcome(query)


def test_what_cannot_be_is_told(spark: SparkSession, tmp_path: Path) -> None:
    nowhere = {"connect": "9@localhost", "group": "g"}
    with pytest.raises(ConfigError, match="checkpoint"):
        start(spark, Copy(nowhere, to_group="other"))
    with pytest.raises(ConfigError, match="columns are"):
        start(spark, Copy(nowhere, select=("no_such",), checkpoint=tmp_path))
    with pytest.raises(ConfigError, match="colour"):
        start(spark, Copy({**nowhere, "colour": "red"}))


class Pipe:
    """kept.in, through SQL, to kept.out."""

    def __init__(self, spark: SparkSession, cluster: LocalCluster, folder: Path) -> None:
        self._spark = spark
        self._cluster = cluster
        self._folder = folder / "checkpoint"
        self.query = self._begin()

    def _begin(self) -> StreamingQuery:
        copy = Copy(
            options(self._cluster, "kept.in"),
            ("concat(cast(payload as string), '!') as payload",),
            "cast(payload as string) not like '%7'",
            to_group="kept.out",
            checkpoint=self._folder,
        )
        return start(self._spark, copy)

    def restart(self) -> None:
        """In the middle, and as if it had crashed before it noted its last batch."""
        self.query.stop()
        commits = [path for path in (self._folder / "commits").iterdir() if path.name.isdecimal()]
        if commits:
            last = max(commits, key=lambda path: int(path.name))
            last.unlink()
            last.with_name(f".{last.name}.crc").unlink(missing_ok=True)
        self.query = self._begin()

    def await_rows(self, address: str, numbers: range) -> None:
        expected = [b"%d!" % number for number in numbers if number % 10 != 7]
        until(partial(self._has, address, expected), PATIENCE_S)

    def _has(self, address: str, expected: list[bytes]) -> bool:
        error = self.query.exception()
        if error is not None:
            # A busy machine: Spark gives up a worker that starts slowly. One restart more.
            assert "failed to connect back" in str(error), error
            self.query = self._begin()
        found = payloads(address, "kept.out")
        assert found == expected[: len(found)], "each once and in order"
        return len(found) == len(expected)


def cut(cluster: LocalCluster, *sides: list[str]) -> None:
    for daemon in cluster.daemons:
        side = next((names for names in sides if daemon.name in names), None)
        with blocking.connect(daemon.address) as session:
            session.query("partition", **({} if side is None else {"with": side}))


def members(address: str) -> int:
    with blocking.connect(address) as session:
        return len(session.query("status")["members"])


def test_each_once_and_in_order_through_crash_restart_split_and_merge(
    spark: SparkSession, tmp_path: Path
) -> None:
    """K1, K2 and K3 from end to end: source, transformation, sink, with a daemon killed, the query
    restarted in the middle, a split and a merge."""
    with LocalCluster(3, tmp_path, extra=KEEP) as cluster:
        cluster.await_merge(PATIENCE_S)
        one, two, three = cluster.daemons
        home = [one.address, two.address]
        say(home, "kept.in", range(50))
        pipe = Pipe(spark, cluster, tmp_path)
        pipe.await_rows(two.address, range(50))

        cluster.kill("one")
        say(home, "kept.in", range(100))
        pipe.restart()
        pipe.await_rows(two.address, range(100))
        cluster.start(["one"])
        cluster.await_merge(PATIENCE_S)

        cut(cluster, ["one", "two"], ["three"])
        until(lambda: members(two.address) == 2 and members(three.address) == 1, PATIENCE_S)
        say([two.address], "kept.in", range(150))
        say([three.address], "kept.other", range(1))
        pipe.restart()
        pipe.await_rows(two.address, range(150))
        cut(cluster)
        cluster.await_merge(PATIENCE_S)
        say([three.address], "kept.in", range(200))
        pipe.await_rows(two.address, range(200))
        pipe.query.stop()
        with blocking.connect(two.address) as session:
            log = session.log("kept.out")
            assert log.earliest() == ORIGIN, "nothing fell out, so nothing was passed over"
