"""The blocking face against a fake daemon on loopback."""

import select
import threading
import time
from pathlib import Path

import pytest

from antiphon import Closed, Disconnected, Gap, Left, Message, Service, UsageError, View, blocking
from antiphon.client.errors import QueryFailed, Refused, SessionError, Unreachable
from antiphon.client.session import PENDING_BYTES_HIGH
from antiphon.wire.client import Close, FlowFrame, Refuse
from tests.unit.client.fake import PATIENCE_S, FakeDaemon


def message(session: blocking.Session) -> Message:
    """The next one, past the views."""
    while not isinstance(event := session.receive(PATIENCE_S), Message):
        assert event is not None, "waited in vain"
    return event


def test_a_session_joins_sends_receives_leaves_and_closes(tmp_path: Path) -> None:
    with FakeDaemon(path=tmp_path / "s") as fake:
        with blocking.connect(fake.address, name="alice") as session:
            assert (session.name, session.daemon) == ("alice", "d1")
            assert session.private_group == "#alice#1"
            view = session.join("orders")
            assert isinstance(view, View) and session.views == {"orders": view}
            session.multicast("orders", b"hello", service=Service.SAFE, kind=3)
            assert session.receive() == view
            got = session.receive(PATIENCE_S)
            assert isinstance(got, Message) and got.payload == b"hello"
            assert (got.service, got.kind, got.id) == (Service.SAFE, 3, (session.id, 2, False))
            assert session.query("echo", a=1) == {"a": 1}
            with pytest.raises(QueryFailed):
                session.query("nonsense")
            session.leave("orders")
            assert session.receive() == Left("orders") and session.groups == ()
        with pytest.raises(Disconnected):
            session.receive()
        session.close()


def test_nothing_to_receive_is_none_after_the_timeout() -> None:
    with FakeDaemon() as fake, blocking.connect(fake.address) as session:
        assert session.receive(timeout=0) is None
        assert session.receive(timeout=0.001) is None
        assert session.poll() == 0


def test_the_descriptor_tells_of_events() -> None:
    with FakeDaemon() as fake, blocking.connect(fake.address, name="a") as session:
        poll = select.poll()
        poll.register(session, select.POLLIN)
        assert not poll.poll(0)
        fake.tell(Refuse("code", "what", "remedy", ""))
        assert poll.poll(PATIENCE_S * 1000)
        assert session.poll() == 1
        event = session.receive(timeout=0)
        assert type(event).__name__ == "Refusal"


def test_threads_send_while_one_receives_and_another_joins() -> None:
    def send(number: int) -> None:
        for count in range(200):
            session.multicast("g", b"%d %d" % (number, count))

    def receive() -> None:
        while len(got) < 800:
            event = session.receive()
            if isinstance(event, Message):
                got.append(event)

    got: list[Message] = []
    with FakeDaemon() as fake, blocking.connect(fake.address) as session:
        session.join("g")
        threads = [threading.Thread(target=send, args=(number,)) for number in range(4)]
        threads.append(threading.Thread(target=receive))
        for thread in threads:
            thread.start()
        assert session.join("h", timeout=PATIENCE_S) is not None
        for thread in threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()
    for number in range(4):
        mine = [one.payload for one in got if one.payload.startswith(b"%d " % number)]
        assert mine == [b"%d %d" % (number, count) for count in range(200)]
    assert [one.number for one in got] == sorted(one.number for one in got)


def test_close_wakes_a_thread_that_receives() -> None:
    def receive() -> None:
        with pytest.raises(Disconnected) as raised:
            session.receive()
        ended.append(raised.value.code)

    ended: list[str] = []
    with FakeDaemon() as fake:
        session = blocking.connect(fake.address)
        thread = threading.Thread(target=receive)
        thread.start()
        session.close()
        thread.join(PATIENCE_S)
    assert ended == ["client"]


def test_a_closed_flow_makes_senders_wait_until_it_opens() -> None:
    def open_flow() -> None:
        fake.until(lambda: waiting.is_set())
        fake.flow(True)

    waiting = threading.Event()
    with FakeDaemon() as fake, blocking.connect(fake.address, name="a") as session:
        session.join("g")
        fake.tell(FlowFrame(False), Refuse("code", "what", "remedy", ""))
        assert session.receive() and session.receive()
        count = 0
        while session._pipe.core.writable:
            session.multicast("g", bytes(10_000))
            count += 1
        assert count >= PENDING_BYTES_HIGH // 10_100 and not fake.bundles("a")
        with pytest.raises(SessionError) as raised:
            session.join("h", timeout=0.001)  # it stands in line behind the multicasts
        assert raised.value.code == "timed_out"
        thread = threading.Thread(target=open_flow)
        thread.start()
        with fake.changed:
            waiting.set()
            fake.changed.notify_all()
        session.multicast("g", b"last")
        thread.join(PATIENCE_S)
        got = [message(session) for _ in range(count + 1)]
        assert got[-1].payload == b"last"


def test_a_feed_fills_bundles() -> None:
    with FakeDaemon() as fake, blocking.connect(fake.address, name="a") as session:
        session.join("g")
        source = iter([b"%d" % number for number in range(5_000)])
        assert session.feed("g", lambda: next(source, None)) == 5_000
        payloads = [message(session).payload for _ in range(5_000)]
        assert payloads == [b"%d" % number for number in range(5_000)]
        assert len(fake.bundles("a")) < 10


def test_buffers_are_filled_and_small_ones_keep_the_message() -> None:
    with FakeDaemon() as fake, blocking.connect(fake.address) as session:
        session.join("g")
        session.multicast("g", b"hello")
        session.receive()
        with pytest.raises(UsageError, match="5 bytes"):
            session.receive_into(bytearray(4))
        buffer = bytearray(5)
        assert isinstance(session.receive_into(buffer), Message) and buffer == b"hello"


def test_events_are_received_as_they_came_together() -> None:
    with FakeDaemon() as fake, blocking.connect(fake.address) as session:
        session.join("g")
        (view,) = session.receive_many()
        assert isinstance(view, View) and session.receive_many(timeout=0) == []
        source = iter([b"%d" % number for number in range(100)])
        session.feed("g", lambda: next(source, None))
        payloads, calls = [message(session).payload], 0
        while len(payloads) < 100:
            events = session.receive_many()
            payloads += [event.payload for event in events if isinstance(event, Message)]
            calls += 1
        assert payloads == [b"%d" % number for number in range(100)] and calls < 5


def test_the_end_is_an_event_and_then_an_error() -> None:
    with FakeDaemon() as fake:
        session = blocking.connect(fake.address)
        fake.tell(Close("slow"))
        assert list(session) == [Closed("slow")]
        for request in (
            session.receive,
            session.receive_many,
            lambda: session.multicast("g", b""),
        ):
            with pytest.raises(Disconnected) as raised:
                request()
            assert raised.value.code == "slow"


def test_daemons_are_tried_in_order_and_full_ones_passed_over() -> None:
    with FakeDaemon() as dead, FakeDaemon(1) as full, FakeDaemon(2) as good:
        dead.kill()
        full.refuse = Refuse("too_many_sessions", "full", "go away", "")
        addresses = [dead.address, full.address, good.address]
        with blocking.connect(addresses) as session:
            assert session.daemon == "d2"
        with blocking.connect(addresses[::2], choose="nearest") as session:
            assert session.daemon == "d2"
        with pytest.raises(Unreachable):
            blocking.connect(addresses[:1], choose="nearest")
        full.refuse = Refuse("bad_token", "who?", "say it", "")
        with pytest.raises(Refused) as raised:
            blocking.connect(addresses)
        assert raised.value.code == "bad_token"


def test_failover_rejoins_and_tells_the_gap_first() -> None:
    with FakeDaemon(1) as first, FakeDaemon(2) as second:
        addresses = [first.address, second.address]
        with blocking.connect(addresses, name="a", failover=True) as session:
            before = session.id
            session.join("g")
            session.multicast("g", b"seen")
            seen = message(session)
            first.kill()
            gap = session.receive(PATIENCE_S)
            assert isinstance(gap, Gap) and (gap.before, gap.after) == (before, session.id)
            assert gap.groups[0].last_message == seen.id and gap.unconfirmed == 0
            view = session.receive(PATIENCE_S)
            assert isinstance(view, View) and gap.groups[0].first_view == view.id
            session.multicast("g", b"again")
            assert message(session).payload == b"again"
            assert session.daemon == "d2"


def test_a_sender_goes_on_after_failover_by_itself() -> None:
    with FakeDaemon(1) as first, FakeDaemon(2) as second:
        addresses = [first.address, second.address]
        with blocking.connect(addresses, name="a", failover=True) as session:
            first.kill()
            for _ in range(1_000):  # until the kernel has noticed
                session.multicast("g", b"x")
                if session.poll():
                    break
            session.multicast("g", b"last")
            second.until(lambda: any(b"last" in one.body for one in second.bundles("a")))


def test_failover_gives_up_after_its_time() -> None:
    with FakeDaemon() as fake:
        session = blocking.connect(fake.address, failover=True, timeout=0.2)
        fake.kill()
        began = time.monotonic()
        assert list(session) == [Closed("no_daemon")]
        assert time.monotonic() - began < 2
