"""A client loses its daemon: nothing is received twice, and what may be missing is reported."""

import asyncio
import signal
from collections.abc import Callable, Iterable
from pathlib import Path

import antiphon
from antiphon import Gap, Message, Session
from antiphon.tools.cluster import LocalCluster
from tests.real.stage import LESS_PATIENT, LOOK_AGAIN_S, PATIENCE_S, run, together

LAST = b"last"
FIRST, UNDER_WAY, COUNT = 5_000, 10_000, 20_000
"""Messages before it is looked whether any came, before the kill, and in all."""

RECEIVED_MIN = 500


async def send(session: Session, receiver: Session, kill: Callable[[], None]) -> None:
    """As fast as flow control permits. The kill comes when something has been received, and
    more is under way."""
    await feed(session, range(FIRST))
    await until_waiting(receiver, RECEIVED_MIN)
    await feed(session, range(FIRST, UNDER_WAY))
    kill()
    await feed(session, range(UNDER_WAY, COUNT))
    await session.multicast("g", LAST)


async def feed(session: Session, numbers: Iterable[int]) -> None:
    payloads = (number.to_bytes(4) + bytes(100) for number in numbers)
    await session.feed("g", lambda: next(payloads, None))


async def receive(session: Session) -> tuple[list[int], list[int], Gap | None]:
    """What came before a gap, what came after it, and the gap."""
    before: list[int] = []
    after: list[int] = []
    gap = None
    while True:
        event = await session.receive()
        if isinstance(event, Gap):
            assert gap is None
            gap = event
        elif isinstance(event, Message):
            if event.payload == LAST:
                return before, after, gap
            (before if gap is None else after).append(int.from_bytes(event.payload[:4]))


async def until_waiting(session: Session, count: int) -> None:
    """So many events can be received."""
    while session.poll() < count:
        await asyncio.sleep(LOOK_AGAIN_S)


def test_a_receiver_whose_daemon_dies_under_load(tmp_path: Path) -> None:
    async def main() -> None:
        receiver = await antiphon.connect(cluster.addresses, failover=True)
        sender = await antiphon.connect(cluster.addresses[1])
        await together(sender, 2)
        await receiver.join("g")
        old = receiver.id
        sending = asyncio.create_task(send(sender, receiver, lambda: cluster.kill("one")))
        await sending
        before, after, gap = await receive(receiver)
        assert gap is not None and gap.reason == "connection_lost"
        assert (gap.before, gap.after) == (old, receiver.id) and receiver.daemon == "two"
        (group,) = gap.groups
        assert group.group == "g" and group.missed
        assert group.last_message is not None and group.first_view is not None
        # All that is missing is between the two, and nothing is there twice.
        assert before == list(range(len(before))) and len(before) >= RECEIVED_MIN - 100
        assert after == list(range(COUNT - len(after), COUNT)) and after
        assert len(before) + len(after) <= COUNT
        await receiver.close()
        await sender.close()

    with LocalCluster(2, tmp_path, extra=LESS_PATIENT) as cluster:
        run(main())


def test_a_sender_whose_daemon_dies_under_load(tmp_path: Path) -> None:
    async def main() -> None:
        sender = await antiphon.connect(cluster.addresses, failover=True)
        receiver = await antiphon.connect(cluster.addresses[1])
        await together(receiver, 2)
        await receiver.join("g")
        sending = asyncio.create_task(send(sender, receiver, lambda: cluster.kill("one")))
        await sending
        got, _, _ = await receive(receiver)
        gap = await sender.receive()
        assert isinstance(gap, Gap) and sender.daemon == "two"
        assert got == sorted(set(got)), "each once, in order"
        missing = sorted(set(range(COUNT)) - set(got))
        assert len(missing) <= gap.unconfirmed
        assert not missing or missing == list(range(missing[0], missing[-1] + 1))
        await receiver.close()
        await sender.close()

    with LocalCluster(2, tmp_path, extra=LESS_PATIENT) as cluster:
        run(main())


def test_a_session_moves_when_its_daemon_is_stopped(tmp_path: Path) -> None:
    async def main() -> None:
        receiver = await antiphon.connect(cluster.addresses, failover=True)
        await together(receiver, 2)
        await receiver.join("g")
        cluster.signal("one", signal.SIGTERM)
        while not isinstance(gap := await receiver.receive(), Gap):
            pass
        assert gap.reason == "daemon_stopping" and gap.unconfirmed == 0
        await receiver.multicast("g", LAST)
        await receive(receiver)
        await receiver.close()

    with LocalCluster(2, tmp_path, extra=LESS_PATIENT) as cluster:
        run(main())


def test_a_blocking_session_finds_another_daemon(tmp_path: Path) -> None:
    with LocalCluster(2, tmp_path, extra=LESS_PATIENT) as cluster:
        with antiphon.blocking.connect(cluster.addresses, failover=True) as session:
            session.join("g", timeout=PATIENCE_S)
            cluster.kill("one")
            while not isinstance(event := session.receive(timeout=PATIENCE_S), Gap):
                assert event is not None
            assert session.daemon == "two" and session.groups == ("g",)
            session.multicast("g", LAST)
            while not isinstance(event := session.receive(timeout=PATIENCE_S), Message):
                assert event is not None
            assert event.payload == LAST
