"""Logs of kept groups at real daemons: the same from each, through a crash, a split and a merge."""

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import antiphon
from antiphon import LogGap, Offset, Service
from antiphon.client import blocking
from antiphon.client.errors import QueryFailed
from antiphon.core.errors import ConfigError, UsageError
from antiphon.core.offsets import ORIGIN
from antiphon.daemon.store import Store
from antiphon.tools.cluster import LocalCluster
from antiphon.wire.body import pack_body
from antiphon.wire.client import pack_multicast
from tests.real.kept import KEEP
from tests.real.stage import LESS_PATIENT
from tests.real.waiting import until

GUARDED = """
[[access]]
group = "kept.secret"
who = ["*"]
may = ["send"]
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    folder = tmp_path_factory.mktemp("logs")
    with LocalCluster(3, folder, extra=LESS_PATIENT + KEEP + GUARDED) as running:
        running.await_merge()
        yield running


def read(address: str, group: str, after: Offset = ORIGIN) -> list[tuple[Offset, bytes]]:
    with blocking.connect(address) as session:
        return [(one.offset, one.payload) for one in session.log(group).messages(after)]


def has_rows(address: str, group: str, rows: int) -> bool:
    return len(read(address, group)) >= rows


def await_rows(cluster: LocalCluster, group: str, rows: int) -> None:
    for daemon in cluster.daemons:
        if daemon.alive:
            until(partial(has_rows, daemon.address, group, rows))


def test_all_daemons_give_the_same(cluster: LocalCluster) -> None:
    """K1, and what a message is."""
    with blocking.connect(cluster.addresses[0], name="ann") as session:
        for number in range(500):
            session.multicast("kept.a", b"%d" % number, kind=number % 7)
        session.multicast("kept.a", b"safe", service=Service.SAFE)
        session.multicast("kept.a", b"causal", service=Service.CAUSAL)
        session.multicast(["other", "kept.a"], b"both")
    await_rows(cluster, "kept.a", 502)
    logs = [read(address, "kept.a") for address in cluster.addresses]
    assert logs[0] == logs[1] == logs[2]
    assert [payload for _, payload in logs[0]] == [
        *(b"%d" % number for number in range(500)),
        b"safe",
        b"both",
    ]
    with blocking.connect(cluster.addresses[1]) as session:
        log = session.log("kept.a")
        assert (log.earliest(), log.latest()) == (ORIGIN, logs[0][-1][0])
        some = list(log.messages(logs[0][99][0], until=logs[0][102][0]))
        assert [(one.payload, one.kind, one.sender) for one in some] == [
            (b"100", 2, "ann"),
            (b"101", 3, "ann"),
            (b"102", 4, "ann"),
        ]
        reach = log.after(logs[0][9][0], rows=5)
        assert [(one.first, one.last) for one in reach.ranges] == [(11, 15)]


def test_an_asyncio_session_follows_a_log(cluster: LocalCluster) -> None:
    async def follow() -> list[bytes]:
        found: list[bytes] = []
        async with await antiphon.connect(cluster.addresses[2]) as session:
            log = session.log("kept.b")
            assert await log.latest() == await log.earliest() == ORIGIN
            async with asyncio.timeout(20):
                await session.multicast("kept.b", b"first")
                async for message in log.follow(ORIGIN):
                    found.append(message.payload)
                    if len(found) == 3:
                        return found
                    await session.multicast("kept.b", b"next")
        return found

    assert asyncio.run(follow()) == [b"first", b"next", b"next"]


def test_what_fell_out_is_named(cluster: LocalCluster) -> None:
    with blocking.connect(cluster.addresses[0]) as session:
        for number in range(200):
            session.multicast("small", b"%4d" % number * 250)
        log = session.log("small")
        until(lambda: log.latest().sequence == 200)
        with pytest.raises(LogGap) as caught:
            log.after(Offset(log.latest().branch, 3))
        gap = caught.value
        assert (gap.code, gap.first) == ("trimmed", 4)
        assert gap.resume == log.earliest() == Offset(gap.branch, gap.last)
        left = list(log.messages(gap.resume))
        assert [one.payload[:4] for one in left][-1] == b" 199"
        assert len(left) == 200 - gap.last < 100


def test_a_keyed_message_is_delivered_once_from_wherever_it_is_sent(cluster: LocalCluster) -> None:
    """K3."""
    for address in (*cluster.addresses, cluster.addresses[0]):
        with blocking.connect(address) as session:
            for number in range(40):
                session.multicast("kept.c", b"%d" % number, key=("query", number))
    with blocking.connect(cluster.addresses[0]) as session:
        for number in (38, 41, 41, 40, 45, 46):
            session.multicast("kept.c", b"%d" % number, key=("query", number))
        session.multicast("kept.c", b"end")
    await_rows(cluster, "kept.c", 44)
    with blocking.connect(cluster.addresses[1]) as session:
        told = [(one.payload, one.key) for one in session.log("kept.c").messages(ORIGIN)]
    numbers = [*range(40), 41, 45, 46]
    assert told == [*((b"%d" % one, ("query", one)) for one in numbers), (b"end", None)]


def test_who_may_not_join_may_not_read_and_what_is_not_kept_is_not_there(
    cluster: LocalCluster,
) -> None:
    with blocking.connect(cluster.addresses[0]) as session:
        for group, code in (("kept.secret", "not_allowed"), ("other", "not_kept")):
            with pytest.raises(QueryFailed, match=code):
                session.log(group).earliest()
        with pytest.raises(QueryFailed, match="bad_offset"):
            session.log("kept.a").after("here")
        with pytest.raises(QueryFailed, match="bad_argument"):
            session.query("log_read", group="kept.a")


@pytest.mark.parametrize(
    ("groups", "service", "key"),
    [
        ("kept.a", Service.CAUSAL, ("p", 1)),
        (["kept.a", "kept.b"], Service.AGREED, ("p", 1)),
        ("#s#1", Service.AGREED, ("p", 1)),
        ("kept.a", Service.AGREED, ("", 1)),
        ("kept.a", Service.AGREED, ("p" * 101, 1)),
        ("kept.a", Service.AGREED, ("p", -1)),
    ],
)
def test_what_cannot_be_keyed_is_refused(
    cluster: LocalCluster, groups: str | list[str], service: Service, key: tuple[str, int]
) -> None:
    with blocking.connect(cluster.addresses[0]) as session:
        with pytest.raises(UsageError) as caught:
            session.multicast(groups, b"x", service=service, key=key)
        assert caught.value.code == "bad_key"


def test_through_a_crash_a_split_and_a_merge(tmp_path: Path) -> None:
    """Every message is in a branch, and a reader is told of what is not on its way."""
    with LocalCluster(3, tmp_path, extra=KEEP + GUARDED) as cluster:
        cluster.await_merge()
        one, two, three = cluster.daemons
        say(one.address, b"all")
        await_rows(cluster, "kept.a", 1)
        start = read(one.address, "kept.a")[-1][0]
        cluster.kill("three")
        until(partial(has_members, one.address, 2))
        say(one.address, b"without three")
        cluster.start(["three"])
        cluster.await_merge()
        with pytest.raises(LogGap) as away:
            read(three.address, "kept.a", start)
        assert (away.value.code, away.value.branch) == ("missing", start.branch)
        say(three.address, b"again all")
        await_rows_after(one.address, start, [b"without three", b"again all"])
        middle = read(one.address, "kept.a", start)[-1][0]
        await_rows_after(three.address, away.value.resume, [b"again all"])

        cut(cluster, ["one", "two"], ["three"])
        say(one.address, b"left")
        say(three.address, b"right")
        await_rows_after(three.address, middle, [b"right"])
        await_rows_after(two.address, middle, [b"left"])
        right = read(three.address, "kept.a", middle)[-1][0]
        cut(cluster)
        cluster.await_merge()
        say(two.address, b"common")
        for daemon, seen in ((one, b"left"), (two, b"left"), (three, b"right")):
            await_rows_after(daemon.address, middle, [seen, b"common"])
        with blocking.connect(one.address) as session:
            reach = session.log("kept.a").after(middle)
            assert reach.others == (right,)
            assert [read_one.payload for read_one in session.log("kept.a").messages(right)] == [
                b"common"
            ]
        with pytest.raises(LogGap) as other:
            read(one.address, "kept.a", Offset(right.branch, 0))
        assert (other.value.code, other.value.first, other.value.last) == ("missing", 1, 1)


def say(address: str, text: bytes) -> None:
    """Returns when the message is on its way to all."""
    with blocking.connect(address) as session:
        session.multicast("kept.a", text)
        session.multicast(session.private_group, b"", service=Service.SAFE)
        assert session.receive(timeout=20) is not None


def has_members(address: str, count: int) -> bool:
    with blocking.connect(address) as session:
        return len(session.query("status")["members"]) == count


def await_rows_after(address: str, after: Offset, expected: list[bytes]) -> None:
    until(lambda: [payload for _, payload in read(address, "kept.a", after)] == expected)


def cut(cluster: LocalCluster, *sides: list[str]) -> None:
    """Each side hears itself only; without sides all hear all."""
    for daemon in cluster.daemons:
        side = next((names for names in sides if daemon.name in names), None)
        with blocking.connect(daemon.address) as session:
            session.query("partition", **({} if side is None else {"with": side}))
    for names in sides:
        for name in names:
            until(partial(has_members, cluster.daemon(name).address, len(names)))


def test_a_store_that_cannot_be_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ConfigError, match="store.directory"):
        Store(tmp_path / "file" / "one").prepare()


def test_a_body_that_is_keyed_but_weak_is_refused_by_the_daemon(cluster: LocalCluster) -> None:
    with blocking.connect(cluster.addresses[0], name="raw") as session:
        body = pack_body((("kept.a",),), (0,), (0,), (b"x",), "raw", False, "p", 1)
        session._pipe.core._urgent.append(pack_multicast(Service.FIFO, 1, [body], False))
        session._pipe.flush()
        refusal = session.receive(timeout=10)
        assert refusal is not None and getattr(refusal, "code", "") == "bad_key"
