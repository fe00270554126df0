"""Traces of many writers become one that the judges can read."""

from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import pytest

from antiphon.check import judge
from antiphon.core.service import Service
from antiphon.core.trace import DAEMON, Kind, Record
from antiphon.records.gather import TOLD_BY_CLIENTS, gather
from antiphon.records.writer import SegmentWriter
from antiphon.sim.swarm import draw
from antiphon.sim.trial import play
from tests.unit.check.story import Pair

LAG_US = 700_000
"""How long after their daemon these clients look at their news: long enough for seed 11 to be
misjudged (S6) if their rows stood at their own time."""


def write(directory: Path, name: str, source: str, rows: Iterable[Record]) -> None:
    out = SegmentWriter(directory, name, source, "r", clock=lambda: 0, wall=lambda: 0)
    for row in rows:
        out.add(row)
    out.close()


def client_row(row: Record) -> Record:
    """As a client tells it: requests a little before its daemon, news long after it."""
    if row.kind in (Kind.HAND, Kind.VIEW, Kind.SIGNAL, Kind.LEFT):
        return msgspec.structs.replace(row, time=row.time + LAG_US)
    return msgspec.structs.replace(row, time=max(0, row.time - 1))


def is_told(row: Record) -> bool:
    told = row.session != DAEMON and row.kind in TOLD_BY_CLIENTS
    return told and row.detail != "change"


def scatter(
    directory: Path, rows: list[Record], tell: Callable[[Record], Record | None] = client_row
) -> None:
    """Each daemon's rows to a file of its own, and what sessions saw to files of theirs too."""
    writers: dict[tuple[str, str], list[Record]] = {}
    for row in rows:
        source = "daemon" if row.node else "sim"
        writers.setdefault((f"d{row.node}", source), []).append(row)
        told = tell(row) if is_told(row) else None
        if told is not None:
            name = f"c{row.node}.{row.incarnation}.{row.session}"
            writers.setdefault((name, "client"), []).append(told)
    for (name, source), kept in writers.items():
        in_time = sorted(kept, key=lambda row: row.time) if source == "client" else kept
        write(directory / name, name, source, in_time)


@pytest.mark.parametrize("seed", [3, 7, 11])
def test_a_run_in_many_files_is_judged_like_the_run(tmp_path: Path, seed: int) -> None:
    played, _ = play(draw(seed))
    assert judge(played.records) == []
    scatter(tmp_path, played.records)
    rows = gather([tmp_path])
    assert judge(rows) == []
    hands = [row for row in rows if row.kind is Kind.HAND]
    assert len(hands) == sum(row.kind is Kind.HAND for row in played.records)
    lags = {row.time for row in hands} - {
        row.time for row in played.records if row.kind is Kind.HAND
    }
    assert lags, "they are the clients' rows"


def test_a_run_without_client_files_is_judged_by_the_daemons(tmp_path: Path) -> None:
    played, _ = play(draw(7))
    scatter(tmp_path, played.records, tell=lambda row: None)
    rows = gather([tmp_path])
    assert len(rows) == len(played.records)
    assert judge(rows) == []


def test_a_message_that_the_client_never_took_is_missed(tmp_path: Path) -> None:
    pair = Pair()
    pair.say(Service.AGREED)
    lost = pair.say(Service.AGREED)
    pair.go_on()
    assert pair.broken() == []

    def tell(row: Record) -> Record | None:
        is_lost = row.kind is Kind.HAND and row.first == lost.first and row.node == 2
        return None if is_lost else row

    scatter(tmp_path, pair.records, tell)
    assert "D4" in {found.promise for found in judge(gather([tmp_path]))}


def test_news_in_another_order_are_found(tmp_path: Path) -> None:
    pair = Pair()
    one, two = pair.say(Service.AGREED), pair.say(Service.AGREED)
    times = {row.first: row.time for row in pair.records if row.kind is Kind.HAND and row.node == 2}

    def tell(row: Record) -> Record:
        if row.kind is Kind.HAND and row.node == 2:
            other = two.first if row.first == one.first else one.first
            return msgspec.structs.replace(row, time=times[other])
        return row

    scatter(tmp_path, pair.records, tell)
    assert "S3" in {found.promise for found in judge(gather([tmp_path]))}


def test_a_killed_client_is_told_on_by_its_daemon(tmp_path: Path) -> None:
    """Its last submit is in no file of its own; its daemon saw it, and saw it end."""
    pair = Pair()
    pair.say(Service.AGREED)
    cut = pair.time
    pair.say(Service.AGREED)
    pair.close(pair.ann, reason="gone")
    pair.change("g", pair.bob)
    rows = pair.records
    scatter(tmp_path, rows, lambda row: row if row.node == 2 or row.time <= cut else None)
    gathered = gather([tmp_path])
    assert sum(row.kind is Kind.SUBMIT for row in gathered) == 2
    closes = [row for row in gathered if row.kind is Kind.CLOSE]
    assert [row.reason for row in closes] == ["gone"]


def test_a_submit_that_a_living_client_denies_is_not_believed(tmp_path: Path) -> None:
    pair = Pair()
    forged = pair.say(Service.AGREED)
    pair.close(pair.ann)
    scatter(
        tmp_path,
        pair.records,
        lambda row: None if row.kind is Kind.SUBMIT and row.first == forged.first else row,
    )
    assert "D1" in {found.promise for found in judge(gather([tmp_path]), ended=False)}


def test_the_end_of_a_session_is_told_by_who_saw_it_first(tmp_path: Path) -> None:
    for client_saw, reason in ((9, "slow"), (3, "closed")):
        here = tmp_path / reason
        close = Record(Kind.CLOSE, 5, 1, 1, 1, reason="slow", value=4, limit=4)
        write(here, "d1", "daemon", [Record(Kind.START, 1, 1, 1), close])
        write(here, "c1", "client", [Record(Kind.CLOSE, client_saw, 1, 1, 1, reason="closed")])
        closes = [row.reason for row in gather([here]) if row.kind is Kind.CLOSE]
        assert closes == [reason]


def test_a_change_stands_before_what_the_client_sent_after_it(tmp_path: Path) -> None:
    """The client goes on sending before its daemon has seen the join."""
    origin = (1, 1, 1)
    change = Record(Kind.SUBMIT, 20, *origin, first=1, count=1, service=4, detail="change")
    sent = Record(Kind.SUBMIT, 11, *origin, first=2, count=1, service=4, groups=("g",))
    late = msgspec.structs.replace(sent, time=21)
    write(tmp_path, "d1", "daemon", [change, late])
    write(tmp_path, "c1", "client", [Record(Kind.JOIN, 10, *origin, groups=("g",)), sent])
    assert [(row.kind, row.time) for row in gather([tmp_path])] == [
        (Kind.JOIN, 10),
        (Kind.SUBMIT, 20),
        (Kind.SUBMIT, 11),
    ]


def kinds_and_numbers(rows: list[Record]) -> list[tuple[Kind, int]]:
    return [(row.kind, row.first) for row in rows]


def test_a_join_stands_where_the_client_made_it_though_it_writes_it_later(tmp_path: Path) -> None:
    """The client knows its number, and writes it, only when the view has come."""
    origin = (1, 1, 1)
    join = Record(Kind.JOIN, 20, *origin, groups=("g",))
    change = Record(Kind.SUBMIT, 20, *origin, first=1, count=1, service=4, detail="change")
    view = Record(Kind.VIEW, 21, *origin, groups=("g",), views=(None, None))
    write(tmp_path, "d1", "daemon", [join, change, view])
    at = msgspec.structs.replace
    write(tmp_path, "c1", "client", [at(view, time=30), at(join, time=10), at(change, time=10)])
    rows = gather([tmp_path])
    assert kinds_and_numbers(rows) == [(Kind.JOIN, 0), (Kind.SUBMIT, 1), (Kind.VIEW, 0)]
    assert [row.time for row in rows] == [10, 20, 30]


def test_what_a_client_sent_after_its_daemon_cut_it_off_was_never_taken(tmp_path: Path) -> None:
    """The end has a number at the daemon, which the client goes on to use."""
    origin = (1, 1, 1)
    sent = Record(Kind.SUBMIT, 10, *origin, first=1, count=5, service=4, groups=("g",))
    late = msgspec.structs.replace(sent, time=21, first=6)
    close = Record(Kind.CLOSE, 20, *origin, reason="slow")
    end = Record(Kind.SUBMIT, 20, *origin, first=6, count=1, service=4, detail="change")
    write(tmp_path, "d1", "daemon", [sent, close, end])
    write(tmp_path, "c1", "client", [sent, late, msgspec.structs.replace(close, time=25)])
    told = [(Kind.SUBMIT, 1), (Kind.CLOSE, 0), (Kind.SUBMIT, 6)]
    assert kinds_and_numbers(gather([tmp_path])) == told


def test_a_join_under_way_when_the_client_was_killed_is_told_by_the_daemon(tmp_path: Path) -> None:
    """Its own row waited for its number; other rows of the client are later."""
    origin = (1, 1, 1)
    join = Record(Kind.JOIN, 10, *origin, groups=("g",))
    again = msgspec.structs.replace(join, time=20)
    hand = Record(Kind.HAND, 30, *origin, first=1, count=1, service=4, groups=("f",))
    write(tmp_path, "d1", "daemon", [join, again, hand])
    write(tmp_path, "c1", "client", [join, msgspec.structs.replace(hand, time=31)])
    joins = [row.time for row in gather([tmp_path]) if row.kind is Kind.JOIN]
    assert joins == [10, 20]
