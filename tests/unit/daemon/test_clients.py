"""Connections of clients: whatever they send or leave out, the daemon goes on."""

import errno
import os
import select
import socket
import ssl
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon.core.effects import Flow, Notify
from antiphon.core.ids import DaemonId, Incarnation, SessionId
from antiphon.daemon import clients as module
from antiphon.daemon.clients import HELLO_US, LAST_WORDS_US
from antiphon.daemon.clock import clock
from antiphon.wire.client import (
    CLIENT_VERSION,
    LENGTH,
    MAGIC,
    Answer,
    ClientTag,
    Close,
    Goodbye,
    Hello,
    JoinFrame,
    Query,
    Refuse,
    ViewFrame,
    Welcome,
    pack_frame,
)
from antiphon.wire.door import local_door
from tests.real.certificates import Authority
from tests.real.rawclient import RawClient, Read
from tests.unit.daemon.lone import Lone

HELLO = Hello(2, 3, "alice", 0, True, "")
STATUS = Query(7, "status", {})
SESSION = SessionId(DaemonId(1), Incarnation(1), 1)


def assert_refused(said: list[Read], code: str) -> None:
    refused, end = said
    assert isinstance(refused, Refuse) and refused.code == code
    assert end == Close(code)


def assert_serves(lone: Lone) -> None:
    client = lone.client("after all")
    client.say(STATUS)
    answer = lone.frame(client)
    assert isinstance(answer, Answer) and answer.error == ""


def test_a_client_is_welcomed_serves_itself_and_leaves(tmp_path: Path) -> None:
    with Lone(tmp_path) as lone:
        client = lone.stranger()
        client.begin(HELLO)
        welcome = lone.frame(client)
        assert isinstance(welcome, Welcome)
        assert (welcome.daemon, welcome.version) == ("one", CLIENT_VERSION)
        client.join("g")
        assert isinstance(lone.frame(client), ViewFrame)
        assert len(lone.clients) == 1
        client.say(Goodbye())
        assert lone.last_words(client) == [Close("client")]
        assert len(lone.clients) == 0


def test_whom_the_node_refuses_is_not_welcomed(tmp_path: Path) -> None:
    with Lone(tmp_path) as lone:
        lone.client("alice")
        second = lone.stranger()
        second.begin(HELLO)
        assert_refused(lone.last_words(second), "name_in_use")
        assert len(lone.clients) == 1


NOT_HELLO = pack_frame(JoinFrame("g"))
DEEP = bytes([ClientTag.QUERY]) + b"\x93\x01\xa1s\x81\xa1k" + b"\x91" * 3_000 + b"\x00"


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "unknown_protocol"),
        (b"\x16\x03\x01", "unknown_protocol"),
        (MAGIC + NOT_HELLO, "unexpected"),
        (MAGIC + pack_frame(Welcome(3, SESSION, "one", 1)), "unexpected"),
        (MAGIC + LENGTH.pack(1 << 31), "too_long"),
        (MAGIC + LENGTH.pack(5_000), "too_long"),
        (MAGIC + LENGTH.pack(0), "too_short"),
        (MAGIC + LENGTH.pack(1) + b"\xff", "unknown_tag"),
        (MAGIC + LENGTH.pack(3) + bytes([ClientTag.HELLO]) + b"\xc1\xc1", "malformed"),
        (MAGIC + LENGTH.pack(len(DEEP)) + DEEP, "malformed"),
        (MAGIC + pack_frame(Hello(4, 5, "x", 0, True, "")), "client_version"),
        (MAGIC + pack_frame(Hello(2, 3, "x", 0, True, "guess")), "bad_token"),
    ],
)
def test_a_stranger_that_begins_wrongly_is_told_and_counted(
    tmp_path: Path, said: bytes, code: str
) -> None:
    with Lone(tmp_path) as lone:
        stranger = lone.stranger()
        stranger.socket.sendall(said)
        assert_refused(lone.last_words(stranger), code)
        assert lone.clients.counts[code] == 1
        assert_serves(lone)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (LENGTH.pack(1 << 31), "too_long"),
        (LENGTH.pack(len(DEEP)) + DEEP, "malformed"),
        (pack_frame(HELLO), "unexpected"),
        (pack_frame(Close("client")), "unexpected"),
    ],
)
def test_a_client_that_goes_wrong_is_out_of_its_groups(
    tmp_path: Path, said: bytes, code: str
) -> None:
    with Lone(tmp_path) as lone:
        client = lone.client()
        client.join("g")
        lone.frame(client)
        client.socket.sendall(said)
        assert_refused(lone.last_words(client), code)
        lone.turn_until(lambda: not lone.driver.node.groups.group_names())
        assert_serves(lone)


def test_no_bytes_of_a_client_stop_the_daemon(tmp_path: Path) -> None:
    with Lone(tmp_path) as lone:

        @settings(max_examples=60, suppress_health_check=list(HealthCheck))
        @given(st.booleans(), st.lists(frames() | st.binary(max_size=40), max_size=6))
        def attack(greets: bool, pieces: list[bytes]) -> None:
            stranger = lone.stranger()
            begin = MAGIC + (pack_frame(HELLO) if greets else b"")
            stranger.socket.sendall(begin + b"".join(pieces))
            stranger.socket.shutdown(socket.SHUT_WR)
            lone.last_words(stranger)
            stranger.socket.close()

        attack()
        lone.turn_until(lambda: not lone.clients._by_file)
        assert_serves(lone)


def frames() -> st.SearchStrategy[bytes]:
    """A right length and tag, and then anything."""
    tags = st.sampled_from(list(ClientTag))
    bodies = st.binary(max_size=60)
    return st.builds(
        lambda tag, body: LENGTH.pack(1 + len(body)) + bytes([tag]) + body, tags, bodies
    )


# Those who say nothing, or go.


def test_a_stranger_that_says_nothing_is_dropped(tmp_path: Path) -> None:
    with Lone(tmp_path) as lone:
        stranger = lone.stranger()
        lone.turn_until(lambda: lone.clients._strangers)
        lone.clients.expire(clock() + HELLO_US - 1_000_000)
        assert lone.clients._strangers
        lone.clients.expire(clock() + HELLO_US)
        assert lone.last_words(stranger) == []
        assert lone.clients.counts["no_hello"] == 1


def test_strangers_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STRANGERS_MAX", 2)
    with Lone(tmp_path) as lone:
        for _ in range(5):
            lone.stranger()
        lone.turn_until(lambda: lone.clients.counts["too_many_strangers"] == 3)
        assert len(lone.clients._by_file) == 2


def test_a_thousand_connections_come_and_go(tmp_path: Path) -> None:
    with Lone(tmp_path) as lone:
        for number in range(1_000):
            client = RawClient(("127.0.0.1", lone.cluster.daemons[0].client_port))
            if number % 3:
                client.begin(HELLO)
            client.reset() if number % 2 else client.socket.close()
            if number % 100 == 0:
                lone.turn()
        lone.turn_until(lambda: not lone.clients._by_file)
        assert len(lone.clients) == 0
        assert_serves(lone)


@pytest.mark.parametrize("unix", [False, True])
def test_a_client_that_is_gone_is_out_of_its_groups(tmp_path: Path, unix: bool) -> None:
    with Lone(tmp_path) as lone:
        client = lone.client(unix=unix)
        client.join("g")
        lone.frame(client)
        client.reset()
        lone.turn_until(lambda: not lone.driver.node.groups.group_names())
        assert len(lone.clients) == 0 and not lone.clients._by_file


def test_a_client_that_does_not_take_its_last_words_is_dropped(tmp_path: Path) -> None:
    with Lone(tmp_path) as lone:
        client = lone.client()
        (connection,) = lone.clients
        connection.queue((bytes(64 << 20),))  # more than any buffer takes
        client.say(Goodbye())
        lone.turn_until(lambda: len(lone.clients) == 0)
        lone.turn(2)
        assert lone.clients._by_file
        lone.clients.expire(clock() + LAST_WORDS_US)
        assert not lone.clients._by_file


def test_a_daemon_without_files_turns_one_away_a_turn(tmp_path: Path) -> None:
    class Full:
        """A listener in a process that has no more files."""

        def __init__(self, inner: socket.socket) -> None:
            self.inner = inner
            self.tries = 0

        def accept(self) -> tuple[socket.socket, object]:
            self.tries += 1
            if self.tries == 1:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            return self.inner.accept()

    with Lone(tmp_path) as lone:
        stranger = lone.stranger()
        tcp, *_ = lone.driver._listeners.values()
        full = Full(tcp)
        lone.clients.accept(full, clock())  # type: ignore[arg-type]  # all it needs of a socket
        assert full.tries == 2 and lone.last_words(stranger) == []
        assert lone.clients.counts["accept: Too many open files"] == 1
        assert_serves(lone)


def test_a_client_that_asks_much_at_once_does_not_keep_others_waiting(tmp_path: Path) -> None:
    with Lone(tmp_path) as lone:
        eager, modest = lone.client("eager"), lone.client("modest")
        lone.turn(3)
        heard = lone.driver.node.groups.group_names
        count = 5 * module.REQUESTS_PER_TURN
        eager.say(*(JoinFrame(f"g{number}") for number in range(count)))
        modest.say(STATUS)
        lone.turn()
        assert 0 < len(heard()) <= module.REQUESTS_PER_TURN and lone.clients.waiting
        assert any(isinstance(one, Answer) for one in modest.take())
        lone.turn(4)
        assert len(heard()) == count
        lone.turn()
        assert not lone.clients.waiting


def test_requests_of_a_client_that_was_cut_off_are_not_heard(tmp_path: Path) -> None:
    with Lone(tmp_path) as lone:
        client = lone.client()
        (connection,) = lone.clients
        count = 3 * module.REQUESTS_PER_TURN
        client.say(*(JoinFrame(f"g{number}") for number in range(count)))
        lone.turn()
        assert lone.clients.waiting
        lone.clients._cut_off(connection)
        lone.turn()
        assert not lone.clients.waiting and not lone.driver.node.groups.group_names()


# Flow and the end.


def test_the_system_is_told_only_when_what_we_wait_for_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Lone(tmp_path) as lone:
        client = lone.client()
        (connection,) = lone.clients
        spy = Mock(wraps=lone.clients._epoll)
        monkeypatch.setattr(lone.clients, "_epoll", spy)
        client.say(STATUS)
        assert isinstance(lone.frame(client), Answer)
        assert spy.modify.call_args_list == []
        lone.clients.notify(Notify(connection.session, Flow(False)))
        lone.turn()
        masks = [call.args[1] for call in spy.modify.call_args_list]
        assert masks == [select.EPOLLOUT, 0]  # to tell it, and when it is told


def test_a_paused_client_is_not_read_until_it_may_go_on(tmp_path: Path) -> None:
    with Lone(tmp_path) as lone:
        client = lone.client()
        (connection,) = lone.clients
        lone.clients.notify(Notify(connection.session, Flow(False)))
        client.say(STATUS)
        lone.turn(5)
        assert [type(one).__name__ for one in client.take()] == ["FlowFrame"]
        lone.clients.notify(Notify(connection.session, Flow(True)))
        said = lone.frames(client, 2)
        assert [type(one).__name__ for one in said] == ["FlowFrame", "Answer"]


def test_a_paused_client_that_resets_is_noticed(tmp_path: Path) -> None:
    with Lone(tmp_path) as lone:
        client = lone.client()
        (connection,) = lone.clients
        lone.clients.notify(Notify(connection.session, Flow(False)))
        lone.turn()
        client.reset()
        lone.turn_until(lambda: not lone.clients._by_file)
        assert len(lone.clients) == 0


def test_a_stopping_daemon_reads_nothing_and_lets_nobody_in(tmp_path: Path) -> None:
    with Lone(tmp_path) as lone:
        client = lone.client()
        late = lone.stranger()
        lone.turn_until(lambda: lone.clients._strangers)
        lone.clients.stop_reading()
        client.say(STATUS)
        late.begin(Hello(2, 3, "late", 0, True, ""))
        assert_refused(lone.last_words(late), "daemon_stopping")
        (connection,) = lone.clients
        lone.clients.notify(Notify(connection.session, Flow(True)))
        lone.turn(3)
        assert [type(one).__name__ for one in client.take()] == ["FlowFrame"]
        lone.clients.say_goodbye("daemon_stopping")
        assert lone.last_words(client) == [Close("daemon_stopping")]


def test_who_does_not_read_answers_is_cut_off(tmp_path: Path) -> None:
    with Lone(tmp_path) as lone:
        lone.clients.waiting_bytes_max = 4 << 20
        client = lone.client()
        (connection,) = lone.clients
        client.join("g")
        lone.frame(client)
        client.say(STATUS)
        connection.queue((bytes(16 << 20),))
        lone.turn_until(lambda: len(lone.clients) == 0)
        assert lone.clients.counts["closed: slow"] == 1
        lone.turn_until(lambda: not lone.driver.node.groups.group_names())


# TLS.


def tls(tmp_path: Path) -> str:
    authority = Authority(tmp_path)
    authority.sign("daemon")
    return '[clients]\ntls_certificate = "daemon.pem"\ntls_key = "daemon.key"\n'


def test_a_client_that_resets_before_the_handshake_stops_nobody(tmp_path: Path) -> None:
    with Lone(tmp_path, tls(tmp_path)) as lone:
        for said in (b"\x16", b"\x16\x03\x01\x00\x05hello", b"\x16\x03", b""):
            stranger = lone.stranger()
            stranger.socket.sendall(said)
            stranger.reset()
        lone.turn_until(lambda: sum(lone.clients.counts.values()) == 4)
        assert not lone.clients._by_file and not lone.clients._strangers
        lone.client("bob", unix=True)
        assert len(lone.clients) == 1


def test_plain_clients_of_a_tls_daemon_come_by_the_unix_socket_only(tmp_path: Path) -> None:
    with Lone(tmp_path, tls(tmp_path)) as lone:
        plain = lone.stranger()
        plain.begin(HELLO)
        assert_refused(lone.last_words(plain), "not_authenticated")
        port = lone.cluster.daemons[0].client_port
        beside = RawClient(local_door("127.0.0.1", port).decode())
        beside.begin(HELLO)
        assert_refused(lone.last_words(beside), "not_authenticated")
        beside.socket.close()
        lone.client("local", unix=True)
        assert len(lone.clients) == 1


def test_a_certificate_of_the_daemon_alone_asks_nobody_who_they_are(tmp_path: Path) -> None:
    with Lone(tmp_path, tls(tmp_path)) as lone:
        context = ssl.create_default_context(cafile=tmp_path / "ca.pem")
        inner, outer = ssl.MemoryBIO(), ssl.MemoryBIO()
        secure = context.wrap_bio(inner, outer, server_hostname="127.0.0.1")
        stranger = lone.stranger()
        stranger.socket.setblocking(False)

        def shaken() -> bool:
            try:
                inner.write(stranger.socket.recv(65_536))
            except BlockingIOError:
                pass
            try:
                secure.do_handshake()
            except ssl.SSLWantReadError:
                return False
            finally:
                stranger.socket.send(outer.read())
            return True

        lone.turn_until(shaken)
        secure.write(MAGIC + pack_frame(HELLO))
        stranger.socket.send(outer.read())
        lone.turn_until(lambda: len(lone.clients) == 1)
