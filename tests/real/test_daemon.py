"""A daemon as a process: starts, refuses to start, serves, drains and stops."""

import asyncio
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import antiphon
from antiphon import Message, Service, View
from antiphon.tools.cluster import LocalCluster
from tests.real.stage import (
    PATIENCE_S,
    PATIENT,
    closed,
    edit,
    message,
    messages,
    run,
    start_again,
    together,
    until,
)

DRAINED = 5_000
TOKEN_LOSS_S = 10.0
SURE_OF_THE_TOKEN = f'[timeouts]\ntoken_loss = "{TOKEN_LOSS_S:.0f}s"\nhear = "2s"\n'
"""A survivor that stood still on a busy machine gives the others `hear` to find it again before it
proposes anything: that is to stay well below the time in which a lost token is noticed."""


def assert_refused(tried: subprocess.CompletedProcess[str], *words: str) -> None:
    """One line that says why, and the exit code of a daemon that could not start."""
    said = tried.stderr
    assert tried.returncode == 3, said
    assert said.count("\n") == 1 and said.startswith("antiphon daemon: "), said
    assert all(word in said for word in words), said


def test_a_second_start_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    async def main() -> None:
        async with await antiphon.connect(cluster.addresses) as session:
            await session.join("g")

    with LocalCluster(1, tmp_path) as cluster:
        assert_refused(start_again(cluster.config, "one"), "daemon.address", "already in use")
        run(main())
        assert cluster.daemons[0].socket.exists()


def test_a_client_port_in_use_is_refused(tmp_path: Path) -> None:
    cluster = LocalCluster(1, tmp_path)
    with socket.create_server(("127.0.0.1", cluster.daemons[0].client_port)):
        assert_refused(start_again(cluster.config, "one"), "daemon.clients", "already in use")


def test_a_daemon_without_assertions_is_refused(tmp_path: Path) -> None:
    cluster = LocalCluster(1, tmp_path)
    assert_refused(start_again(cluster.config, "one", "-O"), "assertions are off")


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    cluster = LocalCluster(1, tmp_path)
    key = tmp_path / "cluster.key"
    key.write_text(f"current k1 {'ab' * 32}\n")
    key.chmod(0o644)
    edit(cluster, 'name = "local"', 'name = "local"\nkey_file = "cluster.key"')
    assert_refused(start_again(cluster.config, "one"), "chmod 600")


def test_a_log_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    cluster = LocalCluster(1, tmp_path, extra='[log]\nfile = "cluster.toml/log"\n')
    assert_refused(start_again(cluster.config, "one"), "log.file")


def test_a_socket_that_a_dead_daemon_left_is_in_nobodys_way(tmp_path: Path) -> None:
    async def main() -> None:
        await until(can_connect, "it serves at its socket")

    async def can_connect() -> bool:
        try:
            async with await antiphon.connect(str(left)) as session:
                return session.daemon == "one"
        except antiphon.Unreachable:
            return False  # the TCP port is opened first

    with LocalCluster(1, tmp_path) as cluster:
        left = cluster.daemons[0].socket
        run(main())
        cluster.kill("one")
        assert left.exists()
        cluster.start(["one"])
        run(main())
        assert cluster.stop() == [0]
        assert not left.exists()


def test_every_service_reaches_every_daemon(tmp_path: Path) -> None:
    """TR-75: each starts alone, then all are one. SP-04: by TCP and by Unix sockets."""

    async def main() -> None:
        addresses = [cluster.addresses[0], str(cluster.daemons[1].socket), cluster.addresses[2]]
        sessions = [await antiphon.connect(address) for address in addresses]
        for session in sessions:
            await together(session, 3)
            await session.join("g")
        for service in Service:
            await sessions[0].multicast("g", service.name.encode(), service=service)
        for session in sessions:
            got = await messages(session, len(Service))
            assert {one.payload for one in got} == {one.name.encode() for one in Service}
            await session.close()

    with LocalCluster(3, tmp_path, extra=PATIENT) as cluster:
        run(main())
        assert cluster.stop() == [0, 0, 0]


def test_a_stopping_daemon_sends_what_it_has_accepted(tmp_path: Path) -> None:
    """The other daemon stands still, so that nothing has left before the signal."""

    async def main() -> None:
        sender = await antiphon.connect(cluster.addresses[0])
        receiver = await antiphon.connect(cluster.addresses[1])
        await together(sender, 2)
        await receiver.join("g")
        cluster.signal("two", signal.SIGSTOP)
        for number in range(DRAINED):
            await sender.multicast("g", number.to_bytes(4) * 25)
        await until(lambda: is_taken(sender), "everything taken")
        await sender.query("status")  # it was read after everything before it
        cluster.signal("one", signal.SIGTERM)
        cluster.signal("two", signal.SIGCONT)
        assert await closed(sender) == "daemon_stopping"
        got = await messages(receiver, DRAINED)
        assert [int.from_bytes(one.payload[:4]) for one in got] == list(range(DRAINED))
        await receiver.close()

    async def is_taken(sender: antiphon.Session) -> bool:
        return not sender._core.outbox.size

    with LocalCluster(2, tmp_path, extra=PATIENT) as cluster:
        run(main())
        process = cluster.daemon("one").process
        assert process is not None and process.wait(PATIENCE_S) == 0


def test_a_daemon_that_stops_is_not_waited_for(tmp_path: Path) -> None:
    """It says so. Silence would be noticed only when these daemons miss the token."""

    async def main() -> None:
        survivors = [await antiphon.connect(cluster.addresses[place]) for place in (1, 2)]
        for session in survivors:
            await together(session, 3)
        began = time.monotonic()
        cluster.signal("one", signal.SIGTERM)
        for session in survivors:
            await together(session, 2)
        assert time.monotonic() - began < TOKEN_LOSS_S
        assert "view: {two, three}: one has left" in cluster.daemon("two").log.read_text()
        for session in survivors:
            await session.close()

    with LocalCluster(3, tmp_path, extra=SURE_OF_THE_TOKEN) as cluster:
        run(main())


def test_a_flooding_client_does_not_keep_a_daemon_from_stopping(tmp_path: Path) -> None:
    async def main() -> None:
        sender = await antiphon.connect(cluster.addresses[0])
        await sender.join("g")
        flood = asyncio.create_task(sender.feed("g", lambda: bytes(1000)))
        await message(sender)
        cluster.signal("one", signal.SIGTERM)
        assert await closed(sender) == "daemon_stopping"
        results = await asyncio.gather(flood, return_exceptions=True)
        assert isinstance(results[0], antiphon.Disconnected)

    with LocalCluster(1, tmp_path) as cluster:
        run(main())
        process = cluster.daemon("one").process
        assert process is not None and process.wait(PATIENCE_S) == 0


def test_an_operator_stops_a_daemon_by_a_query(tmp_path: Path) -> None:
    async def main() -> None:
        session = await antiphon.connect(cluster.addresses[0])
        assert await session.query("stop") == {"stopping": "one"}
        assert await closed(session) == "daemon_stopping"

    with LocalCluster(1, tmp_path) as cluster:
        run(main())
        process = cluster.daemon("one").process
        assert process is not None and process.wait(PATIENCE_S) == 0


def test_threads_share_a_blocking_session(tmp_path: Path) -> None:
    """SP-95."""
    each, threads = 500, 4

    with LocalCluster(2, tmp_path, extra=PATIENT) as cluster:
        cluster.await_merge()
        with (
            antiphon.blocking.connect(cluster.addresses[0]) as sender,
            antiphon.blocking.connect(cluster.addresses[1]) as receiver,
        ):
            assert isinstance(receiver.join("g", timeout=PATIENCE_S), View)

            def send(number: int) -> None:
                for count in range(each):
                    sender.multicast("g", f"{number} {count}".encode())

            working = [threading.Thread(target=send, args=(n,)) for n in range(threads)]
            for thread in working:
                thread.start()
            got: list[list[int]] = [[] for _ in range(threads)]
            while sum(map(len, got)) < each * threads:
                event = receiver.receive(timeout=PATIENCE_S)
                assert event is not None
                if isinstance(event, Message):
                    number, count = map(int, event.payload.split())
                    got[number].append(count)
            for thread in working:
                thread.join()
            assert got == [list(range(each))] * threads
