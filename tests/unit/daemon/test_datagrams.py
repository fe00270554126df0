"""UDP between daemons, with offload and without."""

import errno
import os
import select
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import ConfigError
from antiphon.core.ids import DaemonId
from antiphon.daemon.datagrams import (
    RUN_BYTES_MAX,
    RUN_PACKETS_MAX,
    Datagrams,
    resolve,
    run_length,
)
from antiphon.tools.cluster import free_ports

ONE, TWO = DaemonId(1), DaemonId(2)
Pair = tuple[Datagrams, Datagrams]


@pytest.fixture(params=[True, False], ids=["offload", "plain"])
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    with ExitStack() as stack:
        yield made_pair(stack, request.param)


@pytest.fixture
def plain_pair() -> Iterator[Pair]:
    with ExitStack() as stack:
        yield made_pair(stack, False)


def made_pair(stack: ExitStack, offload: bool) -> Pair:
    ports = free_ports(2)
    one, two = (Datagrams(("127.0.0.1", port), offload) for port in ports)
    stack.callback(one.close)
    stack.callback(two.close)
    one.know({TWO: ("127.0.0.1", ports[1])})
    two.know({ONE: ("127.0.0.1", ports[0])})
    return one, two


def received(datagrams: Datagrams, count: int) -> list[bytes]:
    found: list[bytes] = []
    while len(found) < count:
        assert select.select(datagrams.files(), [], [], 5)[0], f"{len(found)} of {count} came"
        found += [data for _, data in datagrams.receive()]
    return found


def nothing_waits(datagrams: Datagrams) -> bool:
    return not select.select(datagrams.files(), [], [], 0)[0]


def test_packets_of_all_sizes_arrive_as_they_were_sent(pair: Pair) -> None:
    one, two = pair
    sizes = [1400] * 100 + [700] + [1400, 10, 1400] + [8900] * 9 + [1, 1, 2]
    packets = [bytes([place % 256]) * size for place, size in enumerate(sizes)]
    for packet in packets:
        one.send(TWO, packet)
    assert nothing_waits(two)
    one.flush()
    assert received(two, len(packets)) == packets
    assert one.counts["sent"] == two.counts["received"] == len(packets)
    assert one.counts["sent_bytes"] == two.counts["received_bytes"] == sum(sizes)


def test_what_is_for_all_is_for_the_own_site(pair: Pair) -> None:
    """SP-12."""
    one, two = pair
    one.know(dict.fromkeys((TWO, DaemonId(3)), two._address), far=[DaemonId(3)])
    one.broadcast(b"near")
    one.send(DaemonId(3), b"far")
    one.flush()
    assert sorted(received(two, 2)) == [b"far", b"near"]
    assert one.counts["sent"] == 2


def test_what_is_for_nobody_known_goes_nowhere(pair: Pair) -> None:
    one, two = pair
    one.send(DaemonId(99), b"x")
    one.flush()
    assert one.counts["sent"] == 0
    one.send(TWO, b"x")
    one.know({})
    one.broadcast(b"y")
    one.flush()
    assert one.counts["sent"] == 0 and nothing_waits(two)


def test_the_silenced_neither_hear_nor_are_heard(pair: Pair) -> None:
    one, two = pair
    one.silence([TWO])
    one.broadcast(b"unsent")
    one.flush()
    assert nothing_waits(two)
    two.broadcast(b"unheard")
    two.flush()
    assert select.select(one.files(), [], [], 5)[0]
    assert one.receive() == []
    one.silence([])
    two.broadcast(b"heard")
    two.flush()
    assert received(one, 1) == [b"heard"]


def test_a_turn_does_not_read_for_ever(plain_pair: Pair) -> None:
    one, two = plain_pair
    for _ in range(100):
        one.send(TWO, b"x")
    one.flush()
    assert select.select(two.files(), [], [], 5)[0]
    assert 0 < len(two.receive()) < 100


class Failing:
    """A socket whose calls fail as told."""

    def __init__(self, **failing: int) -> None:
        self.sent: list[bytes] = []
        self._failing = failing

    def _fail(self, call: str) -> None:
        if call in self._failing:
            number = self._failing[call]
            raise OSError(number, os.strerror(number))

    def sendto(self, data: bytes, address: Any) -> int:
        self._fail("sendto")
        self.sent.append(data)
        return len(data)

    def sendmsg(self, run: list[bytes], *rest: Any) -> int:
        self._fail("sendmsg")
        raise AssertionError("segmented")


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EIO, errno.EMSGSIZE])
def test_a_path_that_cannot_segment_gets_plain_packets(
    plain_pair: Pair, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    one, _ = plain_pair
    failing = Failing(sendmsg=number)
    with monkeypatch.context() as patch:
        patch.setattr(one, "_socket", failing)
        one.segmentation = True
        one.broadcast(b"a")
        one.broadcast(b"b")
        one.flush()
    assert failing.sent == [b"a", b"b"]
    assert not one.segmentation and one.counts["sent"] == 2


def test_what_cannot_be_sent_is_counted_and_forgotten(
    plain_pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = plain_pair
    with monkeypatch.context() as patch:
        patch.setattr(one, "_socket", Failing(sendto=errno.ENOBUFS))
        one.broadcast(b"a")
        one.flush()
    assert one.counts == {"unsent_enobufs": 1}
    one.flush()
    assert one.counts == {"unsent_enobufs": 1}


def test_multicast_is_one_packet_for_those_it_reaches() -> None:
    one_port, two_port, three_port, port = free_ports(4)
    group = ("239.192.7.7", port)
    places = {ONE: one_port, TWO: two_port, DaemonId(3): three_port}
    with ExitStack() as stack:
        made = {}
        for daemon, own in places.items():
            one = made[daemon] = Datagrams(("127.0.0.1", own), True, group)
            stack.callback(one.close)
            one.know({other: ("127.0.0.1", at) for other, at in places.items() if other != daemon})
        one = made[ONE]
        one.reach(frozenset((TWO, DaemonId(99))))
        assert one.reached == {TWO}
        one.broadcast(b"to all")
        one.flush()
        assert one.counts["sent"] == 2  # to the group, and to the one it does not reach
        assert select.select(made[TWO].files(), [], [], 5)[0]
        assert made[TWO].receive() == [(True, b"to all")]
        assert select.select(one.files(), [], [], 5)[0]
        assert one.receive() == []  # its own
        one.silence([DaemonId(3)])
        assert one.reached == frozenset()
        one.broadcast(b"to one")
        one.flush()
        assert select.select(made[TWO].files(), [], [], 5)[0]
        assert made[TWO].receive() == [(False, b"to one")]


def test_a_closed_port_stops_nobody(pair: Pair) -> None:
    one, two = pair
    two.close()
    for _ in range(3):
        one.broadcast(b"x")
        one.flush()
        one.receive()  # the kernel may tell of the closed port here


@given(st.lists(st.integers(1, 9_000), min_size=1, max_size=200))
def test_runs_are_what_the_kernel_takes(sizes: list[int]) -> None:
    datagrams = [bytes(size) for size in sizes]
    at = 0
    while at < len(datagrams):
        length = run_length(datagrams, at)
        run = sizes[at : at + length]
        assert 1 <= length <= RUN_PACKETS_MAX and len(run) == length
        assert set(run[:-1]) <= {run[0]} and run[-1] <= run[0]
        assert length == 1 or sum(run) <= RUN_BYTES_MAX
        at += length


def test_equal_packets_leave_together() -> None:
    assert run_length([b"x"] * 100, 0) == RUN_PACKETS_MAX
    assert run_length([bytes(30_000)] * 3, 0) == 2
    assert run_length([b"xx", b"xx", b"x", b"xx"], 0) == 3
    assert run_length([b"x", b"xx"], 0) == 1


def test_a_host_is_found_or_named() -> None:
    assert resolve("127.0.0.1", 7) == ("127.0.0.1", 7)
    with pytest.raises(ConfigError, match="no-such-host.invalid"):
        resolve("no-such-host.invalid", 7)


def test_an_address_in_use_is_an_error() -> None:
    (port,) = free_ports(1)
    first = Datagrams(("127.0.0.1", port), False)
    with pytest.raises(OSError, match="in use"):
        Datagrams(("127.0.0.1", port), False)
    first.close()
