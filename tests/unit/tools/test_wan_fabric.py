"""Packets on their way through several links, driven by a made-up clock."""

from random import Random

from antiphon.tools.wan.fabric import NEVER, Fabric
from antiphon.tools.wan.link import NS_PER_MS, LinkModel
from antiphon.tools.wan.topology import LinkSettings

PACKET = bytes(1250)
"""One millisecond at 10 Mbit/s."""


def link(delay_ms: float = 0.0, mbit: float = 0.0, loss: float = 0.0) -> LinkModel:
    return LinkModel(LinkSettings(delay_ms=delay_ms, mbit=mbit, loss=loss), Random(7))


def run(fabric: Fabric) -> list[tuple[float, int]]:
    """All that arrives, in milliseconds, with its port."""
    found = []
    while (deadline := fabric.deadline()) != NEVER:
        found += [(at / NS_PER_MS, port) for at, port, _ in fabric.arrivals(deadline)]
    return found


def test_a_packet_passes_the_links_of_its_path_in_turn() -> None:
    fabric, way = Fabric(), [link(1.0, mbit=10.0), link(50.0), link(2.0, mbit=5.0)]
    assert fabric.deadline() == NEVER
    fabric.send(0, PACKET, (way, 4))
    assert fabric.arrivals(NS_PER_MS) == []
    assert run(fabric) == [(1 + 1 + 50 + 2 + 2, 4)]
    assert [one.packets for one in way] == [1, 1, 1]


def test_a_path_without_links_ends_at_once() -> None:
    fabric = Fabric()
    fabric.send(5, PACKET, ((), 3))
    assert fabric.arrivals(4) == []
    assert fabric.arrivals(5) == [(5, 3, PACKET)]


def test_copies_share_the_bandwidth_of_the_access_link() -> None:
    """A fan-out sends every copy through the sender's own link."""
    fabric, up = Fabric(), link(mbit=10.0)
    for port in range(5):
        fabric.send(0, PACKET, ((up, link(20.0)), port))
    assert run(fabric) == [(21.0 + port, port) for port in range(5)]


def test_flows_that_meet_at_a_link_enter_it_as_they_come() -> None:
    fabric, near, far, down = Fabric(), link(1.0), link(9.5), link(mbit=10.0)
    fabric.send(0, PACKET, ((far, down), 1))
    for n in range(10):
        fabric.send(n * NS_PER_MS, PACKET, ((near, down), 2))
    got = run(fabric)
    assert [at for at, port in got if port == 1] == [11.0], "behind the nine before it"
    assert [at for at, port in got if port == 2] == [*(n + 2.0 for n in range(9)), 12.0]


def test_a_late_look_delays_nothing_but_the_end() -> None:
    def arrivals(look: list[float]) -> list[float]:
        fabric = Fabric()
        fabric.send(0, PACKET, ((link(1.0, mbit=10.0), link(3.0)), 0))
        found = [one for at in look for one in fabric.arrivals(int(at * NS_PER_MS))]
        return [at / NS_PER_MS for at, _, _ in found]

    assert arrivals([2.0, 5.0]) == arrivals([4.9, 6.0]) == arrivals([100.0]) == [5.0]


def test_what_is_lost_goes_no_further() -> None:
    fabric, end = Fabric(), link()
    fabric.send(0, PACKET, ((link(loss=1.0), end), 0))
    assert run(fabric) == [] and end.packets == 0


def test_packets_that_come_out_together_keep_their_order() -> None:
    fabric, way = Fabric(), (link(1.0), link(1.0))
    for number in range(20):
        fabric.send(0, bytes([number]), (way, 0))
    got = fabric.arrivals(2 * NS_PER_MS)
    assert [packet[0] for _, _, packet in got] == list(range(20))
