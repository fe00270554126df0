"""The asyncio face against a fake daemon on loopback."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

import antiphon
from antiphon import Closed, Disconnected, Gap, Left, Message, Service, UsageError, View
from antiphon.client.outbox import LOOK_BYTES
from antiphon.client.session import PENDING_BYTES_HIGH
from antiphon.wire.client import Close, JoinFrame, LeaveFrame, MulticastFrame, Refuse
from tests.unit.client.fake import PATIENCE_S, FakeDaemon


def run(main: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(PATIENCE_S):
            await main

    asyncio.run(limited())


async def message(session: antiphon.Session) -> Message:
    """The next one, past the views."""
    while not isinstance(event := await session.receive(), Message):
        pass
    return event


def test_a_session_joins_sends_receives_leaves_and_closes() -> None:
    async def main() -> None:
        async with await antiphon.connect(fake.address, name="alice") as session:
            assert (session.name, session.daemon) == ("alice", "d1")
            assert session.private_group == "#alice#1"
            view = await session.join("orders")
            assert isinstance(view, View)
            assert session.groups == ("orders",) and session.views == {"orders": view}
            await session.multicast("orders", [b"hel", bytearray(b"lo")], kind=-5)
            assert await session.receive() == view
            got = await session.receive()
            assert isinstance(got, Message)
            assert (got.payload, got.kind, got.sender) == (b"hello", -5, "#alice#1")
            assert (got.view, got.groups, got.size) == (view.id, ("orders",), 5)
            assert got.id == (session.id, 2, False)  # the join took the first number
            await session.leave("orders")
            assert await session.receive() == Left("orders")
            assert session.groups == ()
        with pytest.raises(Disconnected) as raised:
            await session.receive()
        assert raised.value.code == "client"

    with FakeDaemon() as fake:
        run(main())


def test_a_unix_socket_serves_as_well(tmp_path: Path) -> None:
    async def main() -> None:
        async with await antiphon.connect("unix:" + fake.address, membership=False) as session:
            assert await session.join("orders") is None
            await session.multicast(["orders", "other"], b"x")
            got = await message(session)
            assert got.view is None and got.groups == ("orders", "other")

    with FakeDaemon(path=tmp_path / "s") as fake:
        run(main())


def test_multicasts_of_one_turn_travel_as_one_bundle_after_the_first() -> None:
    """On an idle line the first goes at once, for nobody knows whether more will come."""

    async def main() -> None:
        async with await antiphon.connect(fake.address, name="a") as session:
            await session.join("g")
            for number in range(100):
                await session.multicast("g", b"%d" % number)
            payloads = [(await message(session)).payload for _ in range(100)]
            assert payloads == [b"%d" % number for number in range(100)]
            assert [bundle.count for bundle in fake.bundles("a")] in ([100], [1, 99])

    with FakeDaemon() as fake:
        run(main())


def test_who_sent_several_the_last_time_has_all_of_the_next_in_one_bundle() -> None:
    async def main() -> None:
        async with await antiphon.connect(fake.address, name="a") as session:
            await session.join("g")
            for size in (100, 50, 1, 1):
                assert session._line is not None
                session._line._flushed_at = 0.0  # long ago
                for _ in range(size):
                    await session.multicast("g", b"x")
                for _ in range(size):
                    await message(session)
            counts = [bundle.count for bundle in fake.bundles("a")]
            assert counts[-3:] == [50, 1, 1]

    with FakeDaemon() as fake:
        run(main())


def test_a_closed_flow_makes_senders_wait_and_nothing_is_lost() -> None:
    async def main() -> None:
        async with await antiphon.connect(fake.address, name="a") as session:
            await session.join("g")
            fake.flow(False)
            fake.tell(JoinedLater)
            await session.receive()
            await session.receive()  # whatever came after the flow frame
            payload = bytes(10_000)
            count = 0
            while session._core.writable:
                await session.multicast("g", payload)
                count += 1
            assert count >= PENDING_BYTES_HIGH // 10_100
            last = bytes(LOOK_BYTES)  # a small one would go along with what waits already
            waiting = asyncio.create_task(session.multicast("g", last))
            assert await session.query("echo", a=1) == {"a": 1}  # not held up
            assert not waiting.done() and not fake.bundles("a")
            fake.flow(True)
            await waiting
            got = [await message(session) for _ in range(count + 1)]
            assert got[-1].payload == last
            numbers = [one.number for one in got]
            assert numbers == list(range(numbers[0], numbers[0] + count + 1))

    JoinedLater = Refuse("code", "what", "remedy", "")
    with FakeDaemon() as fake:
        run(main())


def test_a_feed_asks_its_source_until_there_is_no_more() -> None:
    async def main() -> None:
        async with await antiphon.connect(fake.address) as session:
            await session.join("g")
            source = iter([b"1", b"2", b"3"])
            assert await session.feed("g", lambda: next(source, None)) == 3
            assert [(await message(session)).payload for _ in range(3)] == [b"1", b"2", b"3"]

    with FakeDaemon() as fake:
        run(main())


def test_refusals_and_mistakes_are_raised_with_their_codes() -> None:
    async def main() -> None:
        async with await antiphon.connect(fake.address) as session:
            with pytest.raises(antiphon.Refused, match="no; ask"):
                await session.join("secret")
            with pytest.raises(UsageError) as raised:
                await session.join("g", role="sender")
            assert raised.value.code == "not_in_profile"
            with pytest.raises(antiphon.QueryFailed):
                await session.query("nonsense")
            with pytest.raises(UsageError):
                await session.multicast("", b"")

    with FakeDaemon() as fake:
        fake.forbidden.add("secret")
        run(main())


def test_a_message_goes_to_the_callers_buffers() -> None:
    async def main() -> None:
        async with await antiphon.connect(fake.address) as session:
            await session.join("g")
            await session.multicast("g", b"hello")
            await session.receive()
            first, second = bytearray(2), bytearray(9)
            with pytest.raises(UsageError, match="5 bytes"):
                await session.receive_into([first])
            got = await session.receive_into([first, second])
            assert isinstance(got, Message) and got.size == 5
            assert (first, second) == (b"he", b"llo\0\0\0\0\0\0")

    with FakeDaemon() as fake:
        run(main())


def test_events_are_received_as_they_came_together() -> None:
    async def main() -> None:
        async with await antiphon.connect(fake.address) as session:
            await session.join("g")
            for number in range(100):
                await session.multicast("g", b"%d" % number)
            assert isinstance(await session.receive(), View)
            first = await session.receive()  # one of a portion, then what is left of it
            payloads = [first.payload] if isinstance(first, Message) else []
            calls = 0
            while len(payloads) < 100:
                events = await session.receive_many()
                payloads += [event.payload for event in events if isinstance(event, Message)]
                calls += 1
            assert payloads == [b"%d" % number for number in range(100)] and calls < 5

    with FakeDaemon() as fake:
        run(main())


def test_without_failover_the_end_is_an_event_and_then_an_error() -> None:
    async def main() -> None:
        session = await antiphon.connect(fake.address)
        joining = asyncio.create_task(session.join("secret"))
        fake.tell(Close("slow"))
        assert [event async for event in session] == [Closed("slow")]
        with pytest.raises(Disconnected):
            await joining
        requests = (
            session.receive(),
            session.receive_many(),
            session.join("g"),
            session.multicast("g", b""),
        )
        for request in requests:
            with pytest.raises(Disconnected) as raised:
                await request
            assert raised.value.code == "slow"
        await session.close()

    with FakeDaemon() as fake:
        run(main())


def test_daemons_are_tried_in_order_and_full_ones_passed_over() -> None:
    async def main() -> None:
        addresses = [dead.address, full.address, good.address]
        async with await antiphon.connect(addresses) as session:
            assert session.daemon == "d2"
        async with await antiphon.connect(addresses[::2], choose="nearest") as session:
            assert session.daemon == "d2"
        with pytest.raises(antiphon.Unreachable, match="no daemon"):
            await antiphon.connect(dead.address)
        full.refuse = Refuse("name_in_use", "taken", "another", "")
        with pytest.raises(antiphon.Refused) as raised:
            await antiphon.connect(addresses)
        assert raised.value.code == "name_in_use"

    with FakeDaemon() as dead, FakeDaemon(1) as full, FakeDaemon(2) as good:
        dead.kill()
        full.refuse = Refuse("too_many_sessions", "full", "go away", "")
        run(main())


def test_failover_rejoins_and_tells_the_gap_before_anything_else() -> None:
    async def main() -> None:
        addresses = [first.address, second.address]
        async with await antiphon.connect(addresses, name="a", failover=True) as session:
            before = session.id
            await session.join("g")
            await session.join("h")
            await session.multicast("g", b"seen")
            seen = await message(session)
            last = session.views["g"].id
            first.deaf = True
            await session.multicast("h", b"lost")
            await asyncio.to_thread(first.until, lambda: len(first.bundles("a")) == 2)
            first.kill()
            gap = await session.receive()
            assert isinstance(gap, Gap)
            assert (gap.reason, gap.before, gap.after) == ("connection_lost", before, session.id)
            assert session.daemon == "d2" and gap.unconfirmed == 1
            of_g, of_h = gap.groups
            assert (of_g.group, of_g.last_view, of_g.last_message) == ("g", last, seen.id)
            assert of_g.first_view == session.views["g"].id and of_g.missed
            assert (of_h.group, of_h.last_message) == ("h", None)
            views = [await session.receive(), await session.receive()]
            assert [isinstance(view, View) and view.group for view in views] == ["g", "h"]
            await session.multicast("g", b"again")
            got = await session.receive()
            assert isinstance(got, Message) and got.payload == b"again"

    with FakeDaemon(1) as first, FakeDaemon(2) as second:
        run(main())


def test_what_waited_for_a_closed_flow_goes_to_the_new_session() -> None:
    async def main() -> None:
        addresses = [first.address, second.address]
        async with await antiphon.connect(addresses, name="a", failover=True) as session:
            await session.join("g")
            first.flow(False)
            first.tell(Refuse("code", "what", "remedy", ""))
            await session.receive()
            await session.receive()
            await session.multicast("g", b"waits")
            first.kill()
            gap = await session.receive()
            assert isinstance(gap, Gap) and gap.unconfirmed == 0
            assert (await message(session)).payload == b"waits"
            frames = [type(frame) for frame in second.taken("a")]
            assert frames == [JoinFrame, MulticastFrame]

    with FakeDaemon(1) as first, FakeDaemon(2) as second:
        run(main())


def test_failover_gives_up_after_its_time() -> None:
    async def main() -> None:
        session = await antiphon.connect(fake.address, failover=True, timeout=0.2)
        fake.kill()
        assert await session.receive() == Closed("no_daemon")
        with pytest.raises(Disconnected):
            await session.receive()

    with FakeDaemon() as fake:
        run(main())


def test_who_waits_behind_unread_events_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with await antiphon.connect(fake.address, name="a") as session:
            await session.join("g")
            for _ in range(50):
                await session.multicast("g", b"x")
            with pytest.raises(UsageError) as raised:
                await session.join("silent")
            assert raised.value.code == "unread_events"

    monkeypatch.setattr("antiphon.client.session.EVENTS_MAX", 10)
    with FakeDaemon() as fake:
        fake.silent.add("silent")
        run(main())


def test_goodbye_comes_after_everything_that_was_sent() -> None:
    async def main() -> None:
        async with await antiphon.connect(fake.address, name="a") as session:
            await session.join("g")
            await session.leave("g")
            await session.multicast("g", b"x", service=Service.UNRELIABLE)
            await session.multicast("g", b"y", service=Service.SAFE, self_discard=True)
            client = fake.clients[1]
        frames = client.taken
        assert isinstance(frames[1], LeaveFrame)
        bundles = frames[2:4]
        assert [bundle.service for bundle in bundles if isinstance(bundle, MulticastFrame)] == [
            Service.UNRELIABLE,
            Service.SAFE,
        ]
        assert type(frames[-1]).__name__ == "Goodbye"

    with FakeDaemon() as fake:
        run(main())
