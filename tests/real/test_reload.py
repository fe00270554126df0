"""A running daemon takes another file: daemons, limits, keys; and refuses one that is wrong."""

import asyncio
import itertools
import signal
from pathlib import Path

import pytest

import antiphon
from antiphon import Message, Session, View
from antiphon.daemon.secure.keyfile import create_keys, replace_keys
from antiphon.daemon.secure.keys import Key, KeyRing
from antiphon.tools.cluster import LocalCluster
from tests.real.stage import PATIENT, drops, edit, message, run, together, until

LAST = b"last"
AHEAD_MAX = 500
"""Messages that are sent and not received."""


class Load:
    """One session sends numbers until it is told to stop; another receives them all."""

    def __init__(self, sender: Session, receiver: Session) -> None:
        self.views: list[View] = []
        self.received = 0
        self._running = True
        self._ahead = asyncio.Semaphore(AHEAD_MAX)
        self._sender = sender
        self._receiver = receiver
        self._tasks = [asyncio.create_task(self._send()), asyncio.create_task(self._receive())]

    async def _send(self) -> None:
        for number in itertools.count():
            if not self._running:
                break
            await self._ahead.acquire()
            await self._sender.multicast("g", number.to_bytes(4) + bytes(200))
        await self._sender.multicast("g", LAST)

    async def _receive(self) -> None:
        """Each once and in order, or this fails."""
        while True:
            event = await self._receiver.receive()
            if isinstance(event, View):
                self.views.append(event)
            elif isinstance(event, Message):
                if event.payload == LAST:
                    return
                assert int.from_bytes(event.payload[:4]) == self.received
                self.received += 1
                self._ahead.release()

    async def some_more(self) -> None:
        """The load has gone on from here."""
        before = self.received

        async def holds() -> bool:
            return self.received >= before + 500 or self._tasks[1].done()

        await until(holds, "more messages")

    async def end(self) -> None:
        self._running = False
        await asyncio.gather(*self._tasks)


def views_in_log(cluster: LocalCluster, name: str) -> list[str]:
    lines = cluster.daemon(name).log.read_text().splitlines()
    return [line.partition("view: ")[2] for line in lines if " view: " in line]


def test_a_daemon_is_added_under_load(tmp_path: Path) -> None:
    async def main() -> None:
        sender = await antiphon.connect(cluster.addresses[0])
        receiver = await antiphon.connect(cluster.addresses[1])
        await together(sender, 2)
        await receiver.join("g")
        load = Load(sender, receiver)
        await load.some_more()
        before = {name: len(views_in_log(cluster, name)) for name in ("one", "two")}
        cluster.config.write_text(all_three)
        for name in before:
            cluster.signal(name, signal.SIGHUP)
        await load.some_more()
        await asyncio.to_thread(cluster.start, ["three"])
        await together(sender, 3)
        await load.some_more()
        async with await antiphon.connect(cluster.addresses[2]) as third:
            await third.join("g")
            await message(third)
        await load.end()
        for name, count in before.items():
            (joined,) = views_in_log(cluster, name)[count:]
            assert joined.startswith("{") and "three" in joined.partition("}")[0]
        mine = receiver.id
        assert all(mine in view.together for view in load.views[1:])
        await sender.close()
        await receiver.close()

    cluster = LocalCluster(3, tmp_path, extra=PATIENT)
    all_three = cluster.config.read_text()
    begin = all_three.index('[[daemon]]\nname = "three"')
    cluster.config.write_text(all_three[:begin] + all_three[all_three.index("[records]") :])
    try:
        cluster.start(["one", "two"])
        run(main())
    finally:
        cluster.stop()


def test_a_limit_changes_by_reload(tmp_path: Path) -> None:
    async def main() -> None:
        async with await antiphon.connect(cluster.addresses) as session:
            with pytest.raises(antiphon.Refused) as refused:
                await antiphon.connect(cluster.addresses)
            assert refused.value.code == "too_many_sessions"
            edit(cluster, "sessions = 1", "sessions = 2")
            assert await session.query("reload") == {"warnings": []}
            async with await antiphon.connect(cluster.addresses) as other:
                await other.join("g")

    with LocalCluster(1, tmp_path, extra="[limits]\nsessions = 1\n") as cluster:
        run(main())


def test_a_wrong_file_is_refused_and_everything_stays(tmp_path: Path) -> None:
    async def main() -> None:
        async with await antiphon.connect(cluster.addresses) as session:
            edit(cluster, "sessions = 1", "sessions = 0")
            with pytest.raises(antiphon.QueryFailed, match="sessions"):
                await session.query("reload")
            cluster.signal("one", signal.SIGHUP)
            await until(is_logged, "the refusal is in the log")
            with pytest.raises(antiphon.Refused) as refused:
                await antiphon.connect(cluster.addresses)
            assert refused.value.code == "too_many_sessions"

    async def is_logged() -> bool:
        return "reload: refused" in cluster.daemon("one").log.read_text()

    with LocalCluster(1, tmp_path, extra="[limits]\nsessions = 1\n") as cluster:
        run(main())


def test_keys_are_rotated_under_load(tmp_path: Path) -> None:
    async def main() -> None:
        sessions = [await antiphon.connect(address) for address in cluster.addresses]
        await together(sessions[0], 2)
        await sessions[1].join("g")
        load = Load(*sessions)
        views = views_in_log(cluster, "one")
        both = KeyRing(old).add(new)
        for keys in (both, both.promote("k2"), KeyRing(new)):
            replace_keys(file, keys)
            for session in sessions:
                await session.query("reload")
            await load.some_more()
        await load.end()
        assert views_in_log(cluster, "one") == views
        for session in sessions:
            assert "bad_seal" not in await drops(session)
            await session.close()

    old, new = Key("k1", b"1" * 32), Key("k2", b"2" * 32)
    cluster = LocalCluster(2, tmp_path, extra=PATIENT)
    file = tmp_path / "cluster.key"
    create_keys(file, KeyRing(old))
    edit(cluster, 'name = "local"', 'name = "local"\nkey_file = "cluster.key"')
    with cluster:
        run(main())
