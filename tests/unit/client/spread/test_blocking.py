"""The blocking face of Spread's protocol against a fake daemon on loopback."""

import select
import socket
import threading
from pathlib import Path

import pytest

from antiphon.client import spread
from antiphon.client.errors import Disconnected, Refused, SessionError, Unreachable, Unsent
from antiphon.client.events import Closed, Left, Refusal
from antiphon.client.session import PENDING_BYTES_HIGH
from antiphon.client.spread.events import Message, Transition, View
from antiphon.core.errors import UsageError
from antiphon.core.service import Service
from antiphon.core.trace import Cause
from antiphon.wire.spread import words
from antiphon.wire.spread.handshake import Version
from antiphon.wire.spread.words import Code
from tests.unit.client.spread.fake import PATIENCE_S, FakeSpread


def message(session: spread.Session) -> Message:
    """The next one, past the views."""
    while not isinstance(event := session.receive(PATIENCE_S), Message):
        assert event is not None, "waited in vain"
    return event


@pytest.mark.parametrize("little", [True, False])
def test_a_session_joins_sends_receives_leaves_and_closes(tmp_path: Path, little: bool) -> None:
    """SP-79 to SP-84, SP-86, SP-91: five calls are enough."""
    with FakeSpread(path=tmp_path / "s", little=little) as fake:
        with spread.connect(fake.address, name="alice") as session:
            assert (session.name, session.daemon) == ("alice", "d1")
            assert session.private_group == "#alice#d1" and session.version == (5, 0, 1)
            view = session.join("orders", timeout=PATIENCE_S)
            assert isinstance(view, View) and session.views == {"orders": view}
            assert view.members == view.together == ("#alice#d1",)
            session.multicast("orders", b"hello", service=Service.SAFE, kind=-3)
            assert session.receive() == view
            got = session.receive(PATIENCE_S)
            assert isinstance(got, Message) and got.payload == b"hello"
            assert (got.service, got.kind, got.view) == (Service.SAFE, -3, view.id)
            session.leave("orders", timeout=PATIENCE_S)
            assert session.receive() == Left("orders") and session.groups == ()
        with pytest.raises(Disconnected):
            session.receive()
        with pytest.raises(Disconnected):
            session.multicast("orders", b"late")
        with pytest.raises(Disconnected):
            session.join("orders")
        session.close()


def test_two_sessions_see_each_other_come_and_go() -> None:
    """SP-89, SP-92: several groups at once, and a private one that the sender is not in."""
    with FakeSpread() as fake, spread.connect(fake.address, name="a") as one:
        one.join("g", timeout=PATIENCE_S)
        with spread.connect(fake.address, name="b") as other:
            other.join("g", timeout=PATIENCE_S)
            other.multicast(["g", "#a#d1"], b"once", self_discard=True)
            other.multicast("#a#d1", b"private")
            assert message(one).payload == b"once"
            assert message(one).groups == ("#a#d1",)
        view = one.receive(PATIENCE_S)
        assert isinstance(view, View) and view.members == ("#a#d1",)
        assert (view.cause, view.who) == (Cause.DISCONNECT, "#b#d1")
        assert one.poll() == 0 and one.receive_many(timeout=0) == []
        one.multicast("#a#d1", b"to myself")
        (echo,) = one.receive_many(PATIENCE_S)
        assert isinstance(echo, Message) and echo.payload == b"to myself"


def test_a_change_of_the_network() -> None:
    with FakeSpread() as fake, spread.connect(fake.address, name="a") as session:
        session.join("g", timeout=PATIENCE_S)
        fake.transition("g")
        fake.partition("g", "#a#d1")
        assert isinstance(session.receive(PATIENCE_S), View)
        assert isinstance(session.receive(PATIENCE_S), Transition)
        view = session.receive(PATIENCE_S)
        assert isinstance(view, View) and view.cause is Cause.NETWORK
        assert view.sets == (("#a#d1",),)


def test_a_session_without_membership_gets_messages_and_no_views() -> None:
    with FakeSpread() as fake:
        with spread.connect(fake.address, name="a", membership=False) as session:
            assert session.join("g") is None
            session.multicast("g", b"x")
            got = session.receive(PATIENCE_S)
            assert isinstance(got, Message) and got.view is None
            session.leave("g")
            session.multicast("g", b"y")
            types = [taken.head.type for taken in fake.wait_for(4)]
            assert types == [words.JOIN, 0x10, words.LEAVE, 0x10]
            assert session.receive(timeout=0) is None and session.poll() == 0


def test_the_daemon_invents_a_name_and_tells_it() -> None:
    with FakeSpread() as fake, spread.connect(fake.address) as session:
        assert (session.name, session.private_group) == ("r6736-12", "#r6736-12#d1")


@pytest.mark.parametrize("version", [Version(3, 17, 4), Version(4, 4, 0), Version(5, 0, 1)])
def test_daemons_of_spread_3_to_5_are_understood(version: Version) -> None:
    with FakeSpread(version=version) as fake, spread.connect(fake.address) as session:
        assert session.version == version


def test_a_token_opens_the_door() -> None:
    with FakeSpread(methods=("TOKEN",)) as fake:
        with spread.connect(fake.address, name="a", token="geheim"):
            assert fake.clients["#a#d1"].token == "geheim"
        with pytest.raises(Refused) as caught:
            spread.connect(fake.address, token="wrong")
        assert caught.value.code == "bad_token"
        with pytest.raises(Refused) as caught:
            spread.connect(fake.address)
        assert caught.value.code == "not_authenticated"


def test_refusals_and_silence() -> None:
    """SP-85: a code of the daemon becomes an error that explains itself."""
    with FakeSpread(refuse=Code.REJECT_QUOTA) as fake:
        with pytest.raises(Refused) as caught:
            spread.connect(fake.address)
        assert caught.value.code == "too_many_sessions"
    with FakeSpread() as fake, spread.connect(fake.address, name="a"):
        with pytest.raises(Refused) as caught:
            spread.connect(fake.address, name="a")
        assert caught.value.code == "name_in_use"
    with pytest.raises(Unreachable):
        spread.connect(fake.address, timeout=1.0)


def test_a_daemon_that_says_nothing_is_given_up(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        with pytest.raises(Unreachable):
            spread.connect(str(tmp_path / "s"), timeout=0.05)


def test_what_a_daemon_forbids() -> None:
    with FakeSpread() as fake, spread.connect(fake.address) as session:
        fake.forbidden.add("closed")
        with pytest.raises(Refused):
            session.join("closed", timeout=PATIENCE_S)
        session.multicast("closed", b"x")
        assert isinstance(session.receive(PATIENCE_S), Refusal)
        fake.silent.add("silent")
        with pytest.raises(SessionError) as caught:
            session.join("silent", timeout=0.01)
        assert caught.value.code == "timed_out"


def test_a_lost_daemon_is_the_last_event() -> None:
    with FakeSpread() as fake:
        session = spread.connect(fake.address)
        session.join("g", timeout=PATIENCE_S)
        fake.stop()
        assert [*session][-1] == Closed("connection_lost")
        with pytest.raises(Disconnected):
            session.join("h")
        session.close()


def test_what_the_daemon_does_not_like_ends_the_session() -> None:
    with FakeSpread() as fake, spread.connect(fake.address, name="a") as session:
        session._core.outbox.ask(b"\x80\x00\x00\x80" + bytes(44))
        session.multicast("g", b"x")
        assert [*session] == [Closed("connection_lost")]


def test_the_descriptor_tells_of_events() -> None:
    """SP-90."""
    with FakeSpread() as fake, spread.connect(fake.address, name="a") as session:
        poll = select.poll()
        poll.register(session, select.POLLIN)
        assert not poll.poll(0)
        session.multicast("#a#d1", b"x")
        assert poll.poll(PATIENCE_S * 1000)
        assert session.poll() == 1


def test_feed_sends_everything_in_order_from_several_threads() -> None:
    """SP-95."""
    with FakeSpread() as fake, spread.connect(fake.address, name="a") as receiver:
        receiver.join("g", timeout=PATIENCE_S)
        with spread.connect(fake.address, name="b") as sender:

            def send(kind: int) -> None:
                payloads = iter([str(number).encode() for number in range(2000)] + [None])
                assert sender.feed("g", payloads.__next__, kind=kind) == 2000

            threads = [threading.Thread(target=send, args=(kind,)) for kind in (1, 2)]
            for thread in threads:
                thread.start()
            got: dict[int, list[bytes]] = {1: [], 2: []}
            for _ in range(4000):
                one = message(receiver)
                got[one.kind].append(one.payload)
            for thread in threads:
                thread.join()
        expected = [str(number).encode() for number in range(2000)]
        assert got == {1: expected, 2: expected}


def test_senders_wait_for_a_daemon_that_takes_nothing() -> None:
    with FakeSpread() as fake:
        session = spread.connect(fake.address, name="a", timeout=PATIENCE_S)
        fake.hears.clear()
        total = 4 * PENDING_BYTES_HIGH // 100_000 + 60
        threads = [
            threading.Thread(
                target=lambda: [session.multicast("g", bytes(100_000)) for _ in range(total // 2)]
            )
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        threads[0].join(0.3)
        assert any(thread.is_alive() for thread in threads), "the kernel holds less than this"
        fake.hears.set()
        fake.wait_for(total // 2 * 2)
        for thread in threads:
            thread.join(PATIENCE_S)
        session.close()


def test_wrong_usage_is_told_at_once() -> None:
    with pytest.raises(UsageError):
        spread.connect("4803", name="far too long")


def test_closing_tells_what_was_not_sent() -> None:
    with FakeSpread() as fake:
        session = spread.connect(fake.address, name="a", timeout=0.5)
        fake.hears.clear()
        session._core.stop_sending()
        session.multicast("g", b"x")
        with pytest.raises(Unsent, match="1 messages"):
            session.close()
