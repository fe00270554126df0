"""The driver: what it hands to the node and in which order, and what it does before what."""

import select
import socket
from collections.abc import Iterator
from typing import Any, cast

import pytest

from antiphon.core.effects import Broadcast, Emit, ReadFirst, Received, Send, Word
from antiphon.core.ids import DaemonId, Incarnation, Member
from antiphon.core.machine import NEVER, WAKEUP, Instant
from antiphon.core.trace import Kind, Record
from antiphon.daemon.clock import clock
from antiphon.daemon.datagrams import Datagrams
from antiphon.daemon.driver import Driver
from antiphon.daemon.secure.outcome import Opened, Outcome, Refusal, Reply
from antiphon.daemon.secure.plain import Plain
from antiphon.protocol.node import Node
from antiphon.tools.cluster import free_ports
from antiphon.wire.client import Query
from antiphon.wire.packet import WIRE_VERSION, Tag

ME = Member(DaemonId(1), Incarnation(7))
PEER = DaemonId(2)
FAR_US = 1_000_000_000
DATA, TOKEN = (bytes([1, tag]) for tag in (Tag.DATA, Tag.TOKEN))


class FakeNode:
    """Notes what it hears, and says what it was told to say."""

    def __init__(self) -> None:
        self.me = ME
        self.cluster = 1
        self.pause_us = 100_000
        self.at: Instant = NEVER
        self.heard: list[Any] = []
        self.says: list[Word] = []

    def deadline(self) -> Instant:
        return self.at

    def start(self, now: Instant) -> list[Word]:
        return self.handle(now, "start")

    def leave(self) -> list[Word]:
        return [Broadcast(b"goodbye")]

    def handle(self, now: Instant, event: Any) -> list[Word]:
        self.heard.append(event)
        said, self.says = self.says, []
        return said


def nothing(who: str, query: Query) -> None:
    """Nobody asks here."""


class Rig:
    def __init__(self, seal: Any = None) -> None:
        ports = free_ports(2)
        self.node = FakeNode()
        self.records: list[Record] = []
        datagrams = Datagrams(("127.0.0.1", ports[0]), False)
        datagrams.know({PEER: ("127.0.0.1", ports[1])})
        self.peer = Datagrams(("127.0.0.1", ports[1]), False)
        self.peer.know({ME.daemon: ("127.0.0.1", ports[0])})
        node = cast(Node, self.node)
        self.driver = Driver(node, "one", datagrams, seal or Plain(), self.records.append, nothing)

    def send(self, *packets: bytes) -> None:
        for packet in packets:
            self.peer.broadcast(packet)
        self.peer.flush()
        assert select.select(self.driver.datagrams.files(), [], [], 5)[0]

    def turn(self) -> None:
        self.driver.turn(clock())

    def close(self) -> None:
        self.driver.close()
        self.peer.close()


@pytest.fixture
def rig() -> Iterator[Rig]:
    made = Rig()
    yield made
    made.close()


def received(rig: Rig) -> list[bytes]:
    return [event.packet for event in rig.node.heard if isinstance(event, Received)]


def test_data_is_read_before_the_token(rig: Rig) -> None:
    rig.send(TOKEN, DATA)
    rig.turn()
    assert received(rig) == [DATA, TOKEN]


def test_the_node_may_wish_the_token_first(rig: Rig) -> None:
    rig.node.says = [ReadFirst(token=True)]
    rig.driver.start()
    rig.send(DATA, TOKEN)
    rig.turn()
    assert received(rig) == [TOKEN, DATA]


def test_packets_of_any_length_reach_the_node(rig: Rig) -> None:
    rig.send(b"\x01", b"x" * 9_000)
    rig.turn()
    assert received(rig) == [b"\x01", b"x" * 9_000]


def test_what_is_recorded_is_kept_before_packets_leave(rig: Rig) -> None:
    order: list[str] = []

    def spill() -> None:
        nothing_left = not select.select(rig.peer.files(), [], [], 0)[0]
        order.append(f"{len(rig.records)} records, nothing left: {nothing_left}")

    rig.driver.spill = spill
    record = Record(Kind.START, 0, *ME)
    rig.node.says = [Broadcast(b"told"), Emit(record), Send(PEER, b"too")]
    rig.driver.start()
    assert order[0] == "1 records, nothing left: True"
    assert select.select(rig.peer.files(), [], [], 5)[0]
    assert [data for _, data in rig.peer.receive()] == [b"told", b"too"]


def test_who_was_busy_looks_for_more_before_it_sleeps(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []

    class Epoll:
        def __init__(self, real: select.epoll) -> None:
            self._real = real

        def poll(self, timeout: float) -> list[tuple[int, int]]:
            asked.append(timeout)
            return self._real.poll(0)  # nobody sleeps here

        def __getattr__(self, name: str) -> Any:
            return getattr(self._real, name)

    monkeypatch.setattr(rig.driver, "_epoll", Epoll(rig.driver._epoll))
    rig.driver.busy_poll_us = 2_000
    rig.driver.turn(clock() + FAR_US)
    assert len(asked) == 1 and asked[0] > 0, "nothing came before: it sleeps at once"
    rig.send(DATA)
    rig.driver.turn(clock() + FAR_US)
    began = clock()
    asked.clear()
    rig.driver.turn(began + FAR_US)
    assert asked[0] == 0 and asked[-1] > 0 and clock() - began >= 2_000
    asked.clear()
    rig.driver.turn(clock() + FAR_US)
    assert len(asked) == 1, "it looked, and nothing came"


def test_the_node_is_woken_when_its_time_has_come(rig: Rig) -> None:
    rig.turn()
    assert WAKEUP not in rig.node.heard
    rig.node.at = clock() + 2_000
    while WAKEUP not in rig.node.heard:
        before = clock()
        rig.driver.turn(before + 1_000_000)
    assert clock() >= rig.node.at


def test_a_process_that_stood_still_says_so(rig: Rig) -> None:
    rig.turn()
    assert not rig.driver.stalls
    rig.node.at = clock() - 300_000
    rig.turn()
    assert rig.driver.stalls["times"] == 1
    assert rig.driver.stalls["longest_us"] >= 300_000


class Strict:
    """A seal that refuses, answers, or opens, by the first byte."""

    overhead = 0

    def seal(self, packet: bytes) -> bytes:
        return packet

    def open(self, now: Instant, datagram: bytes) -> Outcome:
        if datagram[:1] == b"!":
            return Refusal("bad_seal")
        return Reply(PEER, b"challenge") if datagram[:1] == b"?" else Opened(datagram)


def test_a_flood_is_counted_and_becomes_few_records() -> None:
    rig = Rig(Strict())
    for _ in range(10):
        rig.send(*[b"!"] * 100)
        while select.select(rig.driver.datagrams.files(), [], [], 0)[0]:
            rig.turn()
    assert rig.driver.drops == {"bad_seal": 1_000}
    assert len(rig.records) == 10 and received(rig) == []
    assert sum(record.value for record in rig.records) == 512
    rig.close()


def test_noise_is_refused_by_the_node_only_as_often_as_it_is_told(rig: Rig) -> None:
    """The rest is counted at sight."""
    noise = bytes([WIRE_VERSION + 1]) + bytes(100)
    for number in range(100):
        rig.node.says = [Emit(Record(Kind.DROP, 0, *ME, reason="wire_version", value=1))]
        rig.send(noise)
        rig.turn()
        assert rig.driver.drops == {"wire_version": number + 1}
    assert len(received(rig)) == len(rig.records) == 7
    assert sum(record.value for record in rig.records) == 64


def test_a_challenge_is_answered_and_the_node_hears_nothing() -> None:
    rig = Rig(Strict())
    rig.send(b"?")
    rig.turn()
    assert received(rig) == [] and not rig.driver.drops
    assert select.select(rig.peer.files(), [], [], 5)[0]
    assert rig.peer.receive() == [(False, b"challenge")]
    rig.close()


def test_what_the_node_refuses_is_counted_too(rig: Rig) -> None:
    for _ in range(3):
        drop = Record(Kind.DROP, 0, *ME, reason="other_cluster", value=1)
        rig.node.says = [Emit(drop)]
        rig.driver.start()
    assert rig.driver.drops == {"other_cluster": 3}
    assert [record.value for record in rig.records] == [1, 1]


def test_it_tidies_in_every_turn(rig: Rig) -> None:
    """Records are converted by pieces, one in a turn: if turns were left out, they would gather."""
    times: list[Instant] = []
    rig.driver.tidy = times.append
    for _ in range(5):
        rig.turn()
    assert len(times) == 5 and times == sorted(times)


def test_its_last_word_has_left_when_it_leaves(rig: Rig) -> None:
    rig.driver.leave()
    assert select.select(rig.peer.files(), [], [], 5)[0]
    assert [packet for _, packet in rig.peer.receive()] == [b"goodbye"]


def test_nobody_is_woken_up_to_tidy(rig: Rig) -> None:
    rig.driver._tidy_at = before = clock()
    rig.driver.turn(before + 50_000)
    assert clock() - before >= 50_000


def test_a_watched_file_wakes_it(rig: Rig) -> None:
    wake, poke = socket.socketpair()
    with wake, poke:
        rig.driver.watch(wake.fileno())
        poke.send(b"x")
        before = clock()
        rig.driver.turn(before + 60_000_000)
        assert clock() - before < 30_000_000
