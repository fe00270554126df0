"""Figures of recorded runs, against plain Python over the same rows, and against stories of
which every figure is known."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from antiphon.core.ids import ConfigId, DaemonId, Incarnation, Member, SessionId
from antiphon.core.trace import Kind, Record
from antiphon.pipeline.measure.changes import changes, configurations
from antiphon.pipeline.measure.facts import prepare
from antiphon.pipeline.measure.latency import latency
from antiphon.pipeline.measure.measure import figures
from antiphon.pipeline.measure.shown import NAMES, SERVICES, split_by, tables_of
from antiphon.pipeline.measure.traffic import traffic
from antiphon.pipeline.measure.work import counts, links, overhead, rounds
from antiphon.pipeline.tables import to_table
from antiphon.records.schema import rows_to_batch
from antiphon.records.segment import Heading
from antiphon.sim.sites_swarm import draw_sites
from antiphon.sim.trial import play

pytestmark = pytest.mark.xdist_group("spark")

LIFE = Incarnation(9)
ONE, TWO = DaemonId(1), DaemonId(2)
SENDER = SessionId(ONE, LIFE, 1)
CONFIG = ConfigId(3, ONE, LIFE, 1)


def table(spark: SparkSession, *written: tuple[Heading, Sequence[Record]]) -> DataFrame:
    batches = [to_table(rows_to_batch(rows, heading), heading, 0) for heading, rows in written]
    return spark.createDataFrame(pa.Table.from_batches(batches))


def by_daemon(name: str) -> Heading:
    return Heading("r", "daemon", name, boot="b")


def row(kind: Kind, time: int, node: int = ONE, session: int = -1, **columns: Any) -> Record:
    return Record(kind, time, DaemonId(node), LIFE, session, **columns)


def message(kind: Kind, time: int, first: int, count: int, **columns: Any) -> Record:
    usual = {"origin": SENDER, "service": 4, "groups": ("g",), "size": 50 * count}
    return row(kind, time, first=first, count=count, **{**usual, **columns})


def listed(found: DataFrame) -> list[dict[str, Any]]:
    return [one.asDict(recursive=True) for one in found.collect()]


def test_latency_is_from_the_call_to_each_member(spark: SparkSession) -> None:
    """Ranges are cut differently at each place, and a client counts before its daemon."""
    members = (Member(ONE, LIFE), Member(TWO, LIFE))
    sender = [
        message(Kind.SUBMIT, 1_000, 1, 4, session=1),
        message(Kind.SUBMIT, 2_000, 5, 1, session=1, size=5_000),
    ]
    one = [
        row(Kind.START, 0, detail="west"),
        row(Kind.INSTALL, 1, config=CONFIG, members=members),
        message(Kind.SUBMIT, 1_500, 1, 4, session=1),
        message(Kind.SEND, 1_600, 1, 4, config=CONFIG),
        message(Kind.DELIVER, 2_000, 1, 4, config=CONFIG),
        message(Kind.DELIVER, 3_000, 5, 1, config=CONFIG),
    ]
    two = [
        row(Kind.START, 0, TWO, detail="east"),
        message(Kind.DELIVER, 5_000, 1, 4, node=TWO, config=CONFIG),
        message(Kind.HAND, 4_000, 1, 3, node=TWO, session=7),
        message(Kind.HAND, 6_000, 4, 1, node=TWO, session=7),
        message(Kind.HAND, 12_000, 5, 1, node=TWO, session=7),
        message(Kind.HAND, 12_500, 9, 1, node=TWO, session=7),  # nobody tells when it was sent
    ]
    client = Heading("run", "client", "c", boot="b")
    rows = table(spark, (client, sender), (by_daemon("d1"), one), (by_daemon("d2"), two))
    found = listed(latency(prepare(rows)))
    whole = {line["stage"]: line for line in split_by(found, "stage")}
    assert whole["handed"]["messages"] == 5
    assert [whole["handed"][name] for name in ("p50", "p90", "max")] == [3.0, 8.0, 10.0]
    assert (whole["stamped"]["messages"], whole["stamped"]["max"]) == (4, 0.6)
    assert (whole["delivered"]["messages"], whole["delivered"]["max"]) == (9, 4.0)
    assert (whole["stable"]["messages"], whole["stable"]["p50"]) == (4, 4.0)  # 5 is not held by d2
    [way] = [one for one in split_by(found, "stage", "from_site", "to_site") if one["p50"] == 3.0]
    assert (way["from_site"], way["to_site"], way["messages"]) == ("west", "east", 5)
    sizes = split_by(found, "stage", "service", "size")
    assert [one["size"] for one in sizes if one["stage"] == "handed"] == ["to 100 B", "to 10 kB"]


def test_figures_are_those_of_the_trace(spark: SparkSession) -> None:
    """A simulated run of several sites, under faults."""
    run, _ = play(draw_sites(3))
    found = {
        name: listed(part)
        for name, part in figures(
            spark, prepare(table(spark, (Heading("s3", "sim", "s3"), run.records)))
        ).items()
    }
    begun: dict[tuple[SessionId, bool, int], int] = {}
    late: dict[str, list[int]] = {}
    handed: Counter[str] = Counter()
    for one in run.records:
        numbers = range(one.first, one.first + one.count)
        if one.detail == "change":
            continue
        if one.kind is Kind.SUBMIT:
            begun |= {(one.origin, one.service == 0, number): one.time for number in numbers}
        elif one.kind is Kind.HAND:
            service = SERVICES[one.service]
            handed[service] += one.count
            late.setdefault(service, []).extend(
                one.time - begun[one.origin, one.service == 0, number] for number in numbers
            )
    lines = [one for one in split_by(found["latency"], "stage", "service")]
    lines = [one for one in lines if one["stage"] == "handed"]
    assert {one["service"]: one["messages"] for one in lines} == {
        service: len(times) for service, times in late.items()
    }
    for one in lines:
        times = sorted(late[one["service"]])
        assert one["max"] == pytest.approx(times[-1] / 1000, rel=0.005)
        assert one["p50"] == pytest.approx(median(times) / 1000, rel=0.005)
    told = split_by(found["traffic"], "service")
    assert {one["service"]: one["handed"] for one in told if one["handed"]} == handed
    installs = [one for one in run.records if one.kind is Kind.INSTALL and any(one.base)]
    assert len(found["changes"]) == len(installs)
    assert {one["evidence"] for one in found["changes"]} == {one.detail for one in installs}
    assert tuple(found) == NAMES
    assert len(found["events"]) == sum(one.kind is Kind.FAULT for one in run.records)
    assert set(tables_of(found)) >= {"latency_ms_by_service", "links", "rounds", "configurations"}


def median(times: list[int]) -> float:
    middle = len(times) // 2
    return times[middle] if len(times) % 2 else (times[middle - 1] + times[middle]) / 2


def test_rates_are_of_windows(spark: SparkSession) -> None:
    rows = [
        row(Kind.START, 0),
        message(Kind.SUBMIT, 1_500_000, 1, 10, session=1),
        message(Kind.HAND, 1_600_000, 1, 10, session=1),
        message(Kind.HAND, 3_100_000, 1, 10, session=2, groups=("#x#d1",)),
    ]
    found = listed(traffic(prepare(table(spark, (by_daemon("d1"), rows)))))
    [whole] = split_by(found)
    assert (whole["submitted"], whole["handed"], whole["handed_bytes"]) == (10, 20, 1_000)
    assert (whole["submitted_per_s"], whole["handed_per_s"]) == (3.3, 6.7)  # three seconds of it
    assert [one["handed_per_s"] for one in split_by(found, "window")] == [10.0, 10.0]
    assert {one["group"] for one in split_by(found, "group")} == {"g", "(private)"}


def test_what_daemons_did_is_added_up(spark: SparkSession) -> None:
    far = "link_ack=1 object_repeats=2 objects=8 round_trip_us=5000"
    rows = [
        row(Kind.START, 0, detail="west"),
        row(Kind.COUNTS, 1_000_000, value=1_000_000, detail="submitted=2/100 token=9/90 visits=8"),
        row(Kind.COUNTS, 2_000_000, value=500_000, detail="data=10/300 repeats=1 visits=2"),
        row(Kind.COUNTS, 2_000_000, value=500_000, detail="propose=1/50 recovery_data=2/20"),
        row(Kind.COUNTS, 2_000_000, value=500_000, peer=2, detail=far),
    ]
    other = [row(Kind.START, 0, TWO, detail="east")]
    facts = prepare(table(spark, (by_daemon("d1"), rows), (by_daemon("d2"), other)))
    told = counts(facts).persist()
    [line] = listed(rounds(told))
    assert (line["daemon"], line["visits"], line["round_ms"]) == ("d1", 10, 150.0)
    assert (line["token_repeats"], line["repeats"], line["repeated_share"]) == (0, 1, 0.1)
    assert (line["recovery_packets"], line["recovery_bytes"]) == (2, 20)
    spent = {one["purpose"]: one["per_payload_byte"] for one in listed(overhead(told))}
    assert spent == {"token": 0.9, "messages in a site": 3.0, "changes": 0.5, "recovery": 0.2}
    [link] = listed(links(told, facts))
    assert (link["from_site"], link["to_site"], link["to_daemon"]) == ("west", "east", "d2")
    assert (link["repeated_share"], link["round_trip_ms"], link["acks"]) == (0.25, 5.0, 1)


def test_a_change_has_phases_and_evidence(spark: SparkSession) -> None:
    def enter(time: int, state: str) -> Record:
        return row(Kind.ENTER, time, reason=state)

    rows = [
        enter(0, "operational"),
        row(Kind.INSTALL, 0, config=CONFIG),
        row(Kind.TROUBLE, 10_000, reason="token_loss"),
        enter(10_000, "gather"),
        row(Kind.ATTEMPT, 12_000),
        enter(12_000, "collect"),
        row(Kind.ABORT, 13_000),
        enter(13_000, "gather"),
        enter(15_000, "collect"),
        enter(16_000, "recover"),
        enter(18_500, "ready"),
        enter(20_000, "operational"),
        row(
            Kind.INSTALL,
            20_000,
            config=CONFIG._replace(epoch=4),
            base=CONFIG,
            members=(Member(ONE, LIFE),),
            detail="2 is gone",
        ),
    ]
    facts = prepare(table(spark, (by_daemon("d1"), rows)))
    [line] = listed(changes(facts))
    phases = [line[f"{state}_ms"] for state in ("gather", "collect", "recover", "ready")]
    assert (line["change_ms"], phases) == (10.0, [4.0, 2.0, 2.5, 1.5])
    assert (line["attempts"], line["aborts"], line["troubles"]) == (1, 1, ["token_loss"])
    [whole] = listed(configurations(changes(facts)))
    assert (whole["config"], whole["members"], whole["evidence"]) == ("4.1", 1, "2 is gone")
