"""What one client may cost: nothing to the others, and little to its daemon."""

import asyncio
import time
from contextlib import suppress
from pathlib import Path

import antiphon
from antiphon import Cause, Message, Session, View
from antiphon.tools.cluster import LocalCluster
from antiphon.wire.client import Close, Query, pack_frame
from tests.real.rawclient import RawClient
from tests.real.stage import PATIENT, drops, messages, run, together, until

SESSIONS, TEAMS = 300, 30
GROUPS = 1_000
FILES = 48
AHEAD_MAX = 200
"""Messages of a sender that its receiver has not taken yet."""

SMALL_BACKLOG = '[limits]\nbacklog = 500\nbacklog_bytes = "1MiB"\n'
FEW_FILES = ("sh", "-c", f'ulimit -n {FILES}; exec "$@"', "sh")


def place(cluster: LocalCluster, number: int = 0) -> tuple[str, int]:
    return "127.0.0.1", cluster.daemons[number].client_port


async def client_counts(session: Session) -> dict[str, int]:
    counted: dict[str, int] = (await session.query("status"))["clients"]
    return counted


def test_a_client_that_stops_reading_is_cut_off_and_the_others_go_on(tmp_path: Path) -> None:
    count = 8_000
    ahead = asyncio.Semaphore(AHEAD_MAX)

    async def main() -> None:
        receiver = await antiphon.connect(cluster.addresses[1])
        await together(receiver, 2)
        await receiver.join("g")
        with RawClient(place(cluster), receive_bytes=8_192) as stuck:
            stuck.open("stuck")
            stuck.join("g")
            sender = await antiphon.connect(cluster.addresses[0])
            await until(lambda: in_group(sender, 2), "both joined")
            sending = asyncio.create_task(send(sender))
            got, view = await messages_and_last_view(receiver)
            await sending
            assert [int.from_bytes(one.payload[:4]) for one in got] == list(range(count))
            assert view.cause == Cause.DISCONNECT
            assert (await client_counts(sender))["closed: slow"] == 1
            assert stuck.read_all()[-1] == Close("slow")
            await sender.close()
        await receiver.close()

    async def send(sender: Session) -> None:
        for number in range(count):
            await ahead.acquire()  # the receiver lives here too, and must not be slow
            await sender.multicast("g", number.to_bytes(4) + bytes(1_000))

    async def in_group(session: Session, wanted: int) -> bool:
        groups: dict[str, int] = (await session.query("groups"))["groups"]
        return groups.get("g") == wanted

    async def messages_and_last_view(session: Session) -> tuple[list[Message], View]:
        """All messages, up to the view of this session alone."""
        got: list[Message] = []
        view: View | None = None
        members: list[int] = []
        while len(got) < count or members[-2:] != [2, 1]:
            event = await session.receive()
            if isinstance(event, Message):
                got.append(event)
                ahead.release()
            elif isinstance(event, View):
                view = event
                members.append(len(view.members))
        assert view is not None
        return got, view

    with LocalCluster(2, tmp_path, extra=PATIENT + SMALL_BACKLOG) as cluster:
        run(main())


def test_a_client_that_asks_and_never_reads_is_cut_off(tmp_path: Path) -> None:
    async def main() -> None:
        async with await antiphon.connect(cluster.addresses) as session:
            with RawClient(place(cluster), receive_bytes=8_192) as greedy:
                greedy.open("greedy")
                greedy.socket.setblocking(False)
                flood = asyncio.create_task(ask_on(greedy))
                await until(lambda: is_cut_off(session), "cut off")
                flood.cancel()

    async def ask_on(greedy: RawClient) -> None:
        questions = 100 * pack_frame(Query(1, "status", {}))
        loop = asyncio.get_running_loop()
        with suppress(OSError):  # it is cut off
            while True:
                await loop.sock_sendall(greedy.socket, questions)

    async def is_cut_off(session: Session) -> bool:
        return (await client_counts(session)).get("closed: slow") == 1

    with LocalCluster(1, tmp_path, extra=SMALL_BACKLOG) as cluster:
        run(main())


def test_three_hundred_sessions_at_one_daemon(tmp_path: Path) -> None:
    """SP-29."""

    async def main() -> None:
        began = time.monotonic()
        sessions = [await antiphon.connect(cluster.addresses) for _ in range(SESSIONS)]
        groups = [f"g{number % TEAMS}" for number in range(SESSIONS)]
        await asyncio.gather(*map(Session.join, sessions, groups))
        print(f"{SESSIONS} sessions in {TEAMS} groups: {time.monotonic() - began:.1f} s")
        assert (await sessions[0].query("status"))["sessions"] == SESSIONS
        for session, group in zip(sessions, groups, strict=True):
            await session.multicast(group, session.name.encode())
        for team in range(TEAMS):
            members = sessions[team::TEAMS]
            order = [one.payload for one in await messages(members[0], len(members))]
            assert sorted(order) == sorted(one.name.encode() for one in members)
            for member in members[1:]:
                assert [one.payload for one in await messages(member, len(members))] == order
        await asyncio.gather(*map(Session.close, sessions))

    with LocalCluster(1, tmp_path) as cluster:
        run(main())


def test_one_client_joins_a_thousand_groups(tmp_path: Path) -> None:
    """SP-31. The goal is 1 s."""

    async def main() -> None:
        async with await antiphon.connect(cluster.addresses) as session:
            await together(session, 2)
            began = time.monotonic()
            await asyncio.gather(*(session.join(f"g{number}") for number in range(GROUPS)))
            took = time.monotonic() - began
            print(f"{GROUPS} groups joined: {took:.2f} s")
            assert took < 10
            assert (await session.query("groups"))["all"] == GROUPS

    with LocalCluster(2, tmp_path, extra=PATIENT) as cluster:
        run(main())


def test_a_daemon_without_files_turns_clients_away_and_recovers(tmp_path: Path) -> None:
    async def main() -> None:
        session = await antiphon.connect(cluster.addresses)
        strangers = [RawClient(place(cluster)) for _ in range(2 * FILES)]
        await until(lambda: is_full(session), "no more files")
        refused = await client_counts(session)
        assert refused["accept: Too many open files"] <= len(strangers)
        for stranger in strangers:
            stranger.socket.close()
        await until(can_connect, "there are files again")
        assert not await drops(session)
        await session.close()

    async def is_full(session: Session) -> bool:
        return "accept: Too many open files" in await client_counts(session)

    async def can_connect() -> bool:
        try:
            other = await antiphon.connect(cluster.addresses, timeout=1)
        except antiphon.SessionError:
            return False
        await other.close()
        return True

    with LocalCluster(1, tmp_path, wrapper=FEW_FILES) as cluster:
        run(main())
