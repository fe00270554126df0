"""Real daemons of sites that are joined by TCP: one order, through resets and slow readers."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Coroutine
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import antiphon
from antiphon import Service, Session
from antiphon.daemon.secure.keyfile import create_keys
from antiphon.daemon.secure.keys import Key, KeyRing
from antiphon.tools.cluster import LocalCluster
from tests.real.stage import edit, messages, run, together, until

PATIENT = (
    '[timeouts]\ntoken_loss = "10s"\nhear = "10s"\nhear_far = "10s"\nreport_life = "30s"\n'
    'blocked_window = "20s"\n'
)
"""Nobody dies here: neither a busy machine nor one that stands still is a reason to suspect."""

BURST = 100
PAYLOAD_BYTES = 1_000


def sites(directory: Path, daemons: int, count: int, hop: tuple[str, ...] = ()) -> LocalCluster:
    """Daemons are given to the sites in turn. Every two sites are joined by TCP, but for those
    in `hop`."""
    names = [f"site{number + 1}" for number in range(count)]
    edges = [
        f'[[edge]]\nbetween = ["{one}", "{two}"]\nlink = "tcp"\n'
        for one, two in combinations(names, 2)
        if (one, two) != hop
    ]
    return LocalCluster(daemons, directory, sites=count, extra=PATIENT + "".join(edges))


Story = Callable[[LocalCluster, list[Session]], Coroutine[Any, Any, None]]


def play(cluster: LocalCluster, story: Story) -> None:
    """With a session at each daemon, all in one group."""

    async def whole() -> None:
        sessions = [await antiphon.connect(address) for address in cluster.addresses]
        for session in sessions:
            await together(session, len(sessions))
            await session.join("orders")
        await story(cluster, sessions)
        for session in sessions:
            await session.close()

    with cluster:
        run(whole())


async def pipes(session: Session, what: str) -> int:
    counted: dict[str, int] = (await session.query("status"))["pipes"]
    return counted.get(what, 0)


async def flood(session: Session, count: int) -> None:
    for number in range(count):
        payload = number.to_bytes(4, "big") + bytes(PAYLOAD_BYTES - 4)
        await session.multicast("orders", payload, service=Service.AGREED)


async def same_order(sessions: list[Session], count: int) -> None:
    """All get all of it, once, in one order, and in the order of each sender."""
    got = await asyncio.gather(*(messages(session, count) for session in sessions))
    orders = [[(one.sender, one.payload[:4]) for one in each] for each in got]
    assert all(each == orders[0] for each in orders)
    assert len(set(orders[0])) == count
    for sender in {sender for sender, _ in orders[0]}:
        theirs = [number for who, number in orders[0] if who == sender]
        assert theirs == sorted(theirs)


@pytest.mark.parametrize("sealed", [False, True], ids=["plain", "sealed"])
def test_two_sites_share_one_order_over_tcp(tmp_path: Path, sealed: bool) -> None:
    """SP-23, SP-196."""

    async def story(cluster: LocalCluster, sessions: list[Session]) -> None:
        await asyncio.gather(*(flood(session, BURST) for session in sessions))
        await same_order(sessions, BURST * len(sessions))
        for service in (Service.SAFE, Service.UNRELIABLE):
            await sessions[0].multicast("orders", b"last", service=service)
        for session in sessions:
            assert {one.payload for one in await messages(session, 2)} == {b"last"}
            status = await session.query("status")
            assert not {"no_pipe", "bad_seal", "forged_sender"} & status["drops"].keys()

    cluster = sites(tmp_path, 4, 2)
    if sealed:
        create_keys(tmp_path / "cluster.key", KeyRing(Key("k1", bytes(range(32)))))
        edit(cluster, 'name = "local"', 'name = "local"\nkey_file = "cluster.key"')
    play(cluster, story)


def test_three_sites_may_be_joined_by_links_of_both_kinds(tmp_path: Path) -> None:
    async def story(cluster: LocalCluster, sessions: list[Session]) -> None:
        await asyncio.gather(*(flood(session, BURST) for session in sessions))
        await same_order(sessions, BURST * len(sessions))
        assert [await pipes(session, "up") > 0 for session in sessions] == [True] * 3
        await sessions.pop().close()
        cluster.kill("three")
        await together(sessions[0], 2)
        cluster.start(["three"])
        await together(sessions[0], 3)

    play(sites(tmp_path, 3, 3, hop=("site2", "site3")), story)


def kills_connections() -> bool:
    """Whether the kernel resets a connection that somebody else asks it to."""
    if shutil.which("ss") is None or os.geteuid() != 0:
        return False
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as client:
            reset(server.getsockname()[1])
            client.setblocking(False)
            try:
                client.recv(1)
            except BlockingIOError:
                return False
            except OSError:
                return True
    return False


def reset(port: int) -> None:
    """Every connection to this port."""
    command = ["ss", "-K", "-t", f"( sport = :{port} or dport = :{port} )"]
    subprocess.run(command, capture_output=True, check=False)


def test_a_connection_that_is_reset_in_a_flood_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """And it is no change of membership."""
    if not kills_connections():
        pytest.skip("needs root, ss, and a kernel that resets connections")

    async def story(cluster: LocalCluster, sessions: list[Session]) -> None:
        before = [(await session.query("status"))["configuration"] for session in sessions]
        floods = [asyncio.create_task(flood(session, 8 * BURST)) for session in sessions]
        got = asyncio.create_task(same_order(sessions, 8 * BURST * len(sessions)))
        for pipe in range(1, 4):

            async def stands(number: int = pipe) -> bool:
                return await pipes(sessions[0], "up") >= number

            await until(stands, f"connection {pipe}")
            for daemon in cluster.daemons:
                await asyncio.to_thread(reset, daemon.udp_port)
        await asyncio.gather(*floods)
        await got
        after = [(await session.query("status"))["configuration"] for session in sessions]
        assert before == after
        assert await pipes(sessions[0], "up") >= 3, "each reset was followed by another"

    play(sites(tmp_path, 2, 2), story)


def test_a_site_that_reads_slowly_holds_others_back_and_loses_nothing(tmp_path: Path) -> None:
    async def story(cluster: LocalCluster, sessions: list[Session]) -> None:
        before = (await sessions[0].query("status"))["configuration"]
        flooding = asyncio.create_task(flood(sessions[0], 20 * BURST))
        got = asyncio.create_task(same_order(sessions, 20 * BURST))
        for _ in range(6):
            os.kill(cluster.daemons[1].pid, signal.SIGSTOP)
            await asyncio.sleep(0.4)
            os.kill(cluster.daemons[1].pid, signal.SIGCONT)
            await asyncio.sleep(0.05)
        await asyncio.gather(flooding, got)
        assert (await sessions[0].query("status"))["configuration"] == before
        assert await pipes(sessions[0], "up") == 1, "a slow reader is no broken pipe"

    play(sites(tmp_path, 2, 2), story)


def test_a_drill_that_parts_two_sites_parts_their_connections_too(tmp_path: Path) -> None:
    async def story(cluster: LocalCluster, sessions: list[Session]) -> None:
        near, far = sessions
        await near.query("partition", **{"with": ["one"]})
        await together(near, 1)
        await near.query("partition")
        await together(near, 2)
        await flood(near, BURST)

        async def comes_through() -> bool:
            return await pipes(far, "up") >= 2

        await until(comes_through, "another connection")

    cluster = sites(tmp_path, 2, 2)
    edit(cluster, 'hear_far = "10s"', 'hear_far = "2s"')
    play(cluster, story)
