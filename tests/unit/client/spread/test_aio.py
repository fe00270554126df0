"""The asyncio face of Spread's protocol against a fake daemon on loopback."""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from antiphon.client.errors import Disconnected, Refused, Unreachable, Unsent
from antiphon.client.events import Closed, Left, Refusal
from antiphon.client.session import EVENTS_MAX, PENDING_BYTES_HIGH
from antiphon.client.spread import aio
from antiphon.client.spread.events import Message, View
from antiphon.core.errors import UsageError
from antiphon.core.service import Service
from antiphon.core.trace import Cause
from tests.unit.client.spread.fake import PATIENCE_S, FakeSpread


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), 3 * PATIENCE_S))

    return run


async def message(session: aio.Session) -> Message:
    """The next one, past the views."""
    while not isinstance(event := await session.receive(), Message):
        pass
    return event


@in_loop
async def test_a_session_joins_sends_receives_leaves_and_closes(tmp_path: Path) -> None:
    with FakeSpread(path=tmp_path / "s") as fake:
        async with await aio.connect(fake.address, name="alice") as session:
            assert (session.name, session.daemon) == ("alice", "d1")
            assert session.private_group == "#alice#d1" and session.version == (5, 0, 1)
            view = await session.join("orders")
            assert isinstance(view, View) and session.views == {"orders": view}
            await session.multicast("orders", b"hello", service=Service.SAFE, kind=-3)
            assert await session.receive() == view
            got = await session.receive()
            assert isinstance(got, Message) and got.payload == b"hello"
            assert (got.service, got.kind, got.view) == (Service.SAFE, -3, view.id)
            await session.leave("orders")
            assert await session.receive() == Left("orders") and session.groups == ()
        with pytest.raises(Disconnected):
            await session.receive()
        with pytest.raises(Disconnected):
            await session.multicast("orders", b"late")
        with pytest.raises(Disconnected):
            await session.join("orders")
        await session.close()


@in_loop
async def test_sessions_see_each_other_and_what_is_forbidden() -> None:
    with FakeSpread() as fake:
        fake.forbidden.add("closed")
        async with await aio.connect(fake.address, name="a") as one:
            await one.join("g")
            async with await aio.connect(fake.address, name="b") as other:
                await other.join("g")
                await other.multicast(("g", "#a#d1"), b"once", self_discard=True)
                assert (await message(one)).sender == "#b#d1"
                with pytest.raises(Refused):
                    await other.join("closed")
                await other.multicast("closed", b"x")
                while not isinstance(event := await other.receive(), Refusal):
                    assert isinstance(event, View)
            view = await one.receive()
            assert isinstance(view, View) and (view.cause, view.who) == (Cause.DISCONNECT, "#b#d1")
            for number in range(3):
                await one.multicast("#a#d1", b"%d" % number)
            payloads: list[bytes] = []
            while len(payloads) < 3:
                events = await one.receive_many()
                payloads += [event.payload for event in events if isinstance(event, Message)]
            assert payloads == [b"0", b"1", b"2"] and one.poll() == 0


@in_loop
async def test_feed_sends_everything_in_order() -> None:
    with FakeSpread() as fake:
        async with (
            await aio.connect(fake.address, name="a") as receiver,
            await aio.connect(fake.address, name="b", membership=False) as sender,
        ):
            await receiver.join("g")
            payloads = iter([str(number).encode() for number in range(3000)] + [None])
            feeding = asyncio.create_task(sender.feed("g", payloads.__next__))
            got = [(await message(receiver)).payload for _ in range(3000)]
            assert await feeding == 3000
            assert got == [str(number).encode() for number in range(3000)]


@in_loop
async def test_a_sender_waits_for_a_daemon_that_takes_nothing() -> None:
    with FakeSpread() as fake:
        session = await aio.connect(fake.address, name="a", timeout=0.2)
        fake.hears.clear()

        async def send() -> None:
            for _ in range(4 * PENDING_BYTES_HIGH // 100_000 + 60):
                await session.multicast("g", bytes(100_000))

        sending = asyncio.create_task(send())
        done, _ = await asyncio.wait([sending], timeout=0.3)
        assert not done
        sending.cancel()
        with pytest.raises(Unsent):
            await session.close()


@in_loop
async def test_a_reader_that_does_not_receive_is_not_read_for_without_end() -> None:
    with FakeSpread() as fake:
        async with await aio.connect(fake.address, name="a") as session:
            sent = EVENTS_MAX + 2000
            for number in range(sent):
                await session.multicast("#a#d1", b"%d" % number)
            while not session._line.paused:
                await asyncio.sleep(0)
            assert len(session._core.events) < sent
            for number in range(sent):
                assert (await message(session)).payload == b"%d" % number


@in_loop
async def test_a_lost_daemon_is_the_last_event_and_wakes_who_waits() -> None:
    with FakeSpread() as fake:
        fake.silent.add("silent")
        session = await aio.connect(fake.address)
        joining = asyncio.create_task(session.join("silent"))
        await asyncio.sleep(0)
        fake.wait_for(0)
        fake.stop()
        with pytest.raises(Disconnected):
            await joining
        assert [event async for event in session] == [Closed("connection_lost")]
        await session.close()


@in_loop
async def test_refusals_and_silence(tmp_path: Path) -> None:
    with FakeSpread(methods=("TOKEN",)) as fake:
        async with await aio.connect(fake.address, name="a", token="geheim"):
            assert fake.clients["#a#d1"].token == "geheim"
        with pytest.raises(Refused):
            await aio.connect(fake.address, token="wrong")
    with pytest.raises(Unreachable):
        await aio.connect(fake.address, timeout=1.0)
    with pytest.raises(UsageError):
        await aio.connect("4803", priority=7)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "s"))
        silent.listen()
        with pytest.raises(Unreachable):
            await aio.connect(str(tmp_path / "s"), timeout=0.05)
