"""Connections of Spread's clients at a daemon: whatever they leave out or do not take."""

import socket
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon.core.effects import Flow, Notify
from antiphon.daemon.clients import HELLO_US
from antiphon.daemon.clock import clock
from tests.real.rawspread import (
    AGREED,
    DISCONNECTED,
    JOIN,
    JOINED,
    KILL,
    Got,
    choice,
    cut,
    hello,
    packed,
)
from tests.unit.daemon.lone import Lone

OWN = "#alice#one"
NO_SOCKET = '[spread]\nunix_socket = ""\n'


class Peer:
    """The other end, read while the daemon turns."""

    def __init__(self, lone: Lone) -> None:
        self.lone = lone
        place = ("127.0.0.1", lone.cluster.daemons[0].client_port)
        self.socket = socket.create_connection(place)
        self.socket.setblocking(False)
        self.stream = b""
        self.ended = False

    def look(self) -> None:
        try:
            while piece := self.socket.recv(65_536):
                self.stream += piece
            self.ended = True
        except BlockingIOError:
            pass
        except ConnectionResetError:
            self.ended = True

    def say(self, data: bytes) -> None:
        self.socket.sendall(data)

    def take(self, size: int) -> bytes:
        self.lone.turn_until(lambda: self.look() or len(self.stream) >= size)
        taken, self.stream = self.stream[:size], self.stream[size:]
        return taken

    def message(self) -> Got:
        self.lone.turn_until(lambda: self.look() or cut(self.stream)[0])
        found, rest = cut(self.stream)
        whole = len(self.stream) - len(rest)
        assert len(found) == 1
        self.stream = self.stream[whole:]
        return found[0]

    def until_end(self) -> bytes:
        self.lone.turn_until(lambda: self.look() or self.ended)
        self.socket.close()
        return self.stream


def peer(lone: Lone, name: str = "alice") -> Peer:
    """Let in."""
    made = Peer(lone)
    made.say(hello(name) + choice("NULL"))
    assert made.take(6 + 5 + len(name) + 5).endswith(f"#{name}#one".encode())
    return made


def test_a_greeting_that_is_not_finished_is_given_up(tmp_path: Path) -> None:
    said = hello("alice") + choice("NULL")
    with Lone(tmp_path, NO_SOCKET) as lone:
        halves = [Peer(lone) for _ in range(3)]
        for half, size in zip(halves, (1, 9, 60), strict=True):
            half.say(said[:size])
        lone.turn_until(lambda: len(lone.clients._strangers) == 3)
        lone.turn(3)
        lone.clients.expire(clock() + HELLO_US)
        assert [half.until_end() for half in halves] == [b"", b"", b"\x05NULL "]
        assert lone.clients.counts["no_hello"] == 3
        assert not lone.clients._by_file


def test_who_is_let_in_is_not_given_up(tmp_path: Path) -> None:
    with Lone(tmp_path, NO_SOCKET) as lone:
        alice = peer(lone)
        lone.clients.expire(clock() + HELLO_US)
        alice.say(packed(JOIN, OWN, ["g"]))
        assert alice.message().kind == JOINED
        alice.socket.close()


def test_the_end_comes_without_a_word(tmp_path: Path) -> None:
    with Lone(tmp_path, NO_SOCKET) as lone:
        killed, stopped = peer(lone, "killed"), peer(lone, "stopped")
        killed.say(packed(KILL, "#killed#one", ["x"]) + packed(JOIN, "#killed#one", ["late"]))
        assert killed.until_end() == b""
        assert len(lone.clients) == 1
        lone.clients.say_goodbye("daemon_stopping")
        assert stopped.until_end() == b""
        assert not lone.driver.node.groups.group_names()


def test_a_paused_client_is_not_read_until_it_may_go_on(tmp_path: Path) -> None:
    with Lone(tmp_path, NO_SOCKET) as lone:
        alice = peer(lone)
        (connection,) = lone.clients
        lone.clients.notify(Notify(connection.session, Flow(False)))
        alice.say(packed(JOIN, OWN, ["g"]))
        lone.turn(5)
        alice.look()
        assert alice.stream == b""
        lone.clients.notify(Notify(connection.session, Flow(True)))
        assert alice.message().groups == (OWN,)
        alice.socket.close()


def test_news_that_cannot_be_told_count_as_taken(tmp_path: Path) -> None:
    with Lone(tmp_path, "[limits]\nbacklog = 8\n" + NO_SOCKET) as lone:
        alice = peer(lone)
        alice.say(packed(JOIN, OWN, ["g"]))
        alice.message()
        odd = lone.client("a name with spaces")
        for _ in range(20):
            odd.send("a name with spaces", "g", b"unheard")
            lone.turn(2)
        lone.turn_until(lambda: lone.clients.counts["omitted: name"] == 20)
        alice.say(packed(AGREED, OWN, ["g"], b"still here"))
        assert alice.message().data == b"still here"
        alice.socket.close()


def test_no_bytes_of_a_client_stop_the_daemon(tmp_path: Path) -> None:
    pieces = st.sampled_from(
        [
            hello("alice"),
            choice("NULL"),
            packed(JOIN, OWN, ["g"]),
            packed(AGREED, OWN, ["g"], b"x"),
            packed(KILL, OWN, [OWN]),
        ]
    )
    with Lone(tmp_path, NO_SOCKET) as lone:
        watcher = peer(lone, "watcher")

        @settings(max_examples=60, suppress_health_check=list(HealthCheck))
        @given(st.booleans(), st.lists(pieces | st.binary(max_size=60), max_size=8))
        def attack(greets: bool, said: list[bytes]) -> None:
            attacker = Peer(lone)
            attacker.say((hello("alice") + choice("NULL") if greets else b"\5") + b"".join(said))
            attacker.socket.shutdown(socket.SHUT_WR)
            attacker.until_end()

        attack()
        lone.turn_until(lambda: len(lone.clients._by_file) == 1)
        watcher.say(packed(JOIN, "#watcher#one", ["h"]))
        assert watcher.message().name == "h"
        watcher.socket.close()


def test_a_client_that_resets_is_out_of_its_groups(tmp_path: Path) -> None:
    with Lone(tmp_path, NO_SOCKET) as lone:
        alice, bob = peer(lone), peer(lone, "bob")
        alice.say(packed(JOIN, OWN, ["g"]))
        alice.message()
        bob.say(packed(JOIN, "#bob#one", ["g"]))
        assert len(alice.message().groups) == 2
        bob.socket.close()
        gone = alice.message()
        assert (gone.kind, gone.groups) == (DISCONNECTED, (OWN,))
        alice.socket.close()
