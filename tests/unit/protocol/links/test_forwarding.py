"""Links in a row: the paper's example of objects that overtake each other (SP-171)."""

from antiphon.core.ids import DaemonId, Incarnation, Member
from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.protocol.links.settings import HopSettings
from tests.unit.protocol.links.channel import Clockwork, End, Way, joined

A, B, C, D = (Member(DaemonId(number), Incarnation(1)) for number in (1, 2, 3, 4))
SETTINGS = HopSettings(rate_bytes=1_000_000)


def loses_once(end: End, data: bytes) -> None:
    end.deletes = lambda packet: any(
        each.data == data and not each.repeats for each in packet.objects
    )


def numbers(end: End) -> dict[bytes, int]:
    """Which link sequence each object got at this end."""
    return {each.data: each.sequence for packet in end.packets for each in packet.objects}


def asked(end: End) -> set[int]:
    return {
        sequence
        for packet in end.packets
        for first, many in packet.nack
        for sequence in range(first, first + many)
    }


def test_what_is_lost_upstream_is_no_gap_downstream() -> None:
    """SP-171: m2 is lost from A to B and m1 from B to C. m3 and m4 go on at once, m2 follows
    with a later number, and C never asks for it; SP-119: each link repairs its own loss;
    SP-146: no ack or nack goes further than its link."""
    clock = Clockwork()
    way = Way(delay_us=20 * MILLISECOND)
    a_to_b, b_to_a = joined(SETTINGS, way, clockwork=clock, members=(A, B))
    b_to_c, c_to_b = joined(SETTINGS, way, clockwork=clock, members=(B, C))
    b_to_d, d_to_b = joined(SETTINGS, way, clockwork=clock, members=(B, D))
    b_to_a.on_arrival = lambda data: (b_to_c.send(data), b_to_d.send(data))
    loses_once(a_to_b, b"m2")
    loses_once(b_to_c, b"m1")
    for place, data in enumerate((b"m1", b"m2", b"m3", b"m4")):
        clock.at(place * 5 * MILLISECOND, lambda data=data: a_to_b.send(data))
    clock.run(3 * SECOND)

    assert numbers(a_to_b) == {b"m1": 1, b"m2": 2, b"m3": 3, b"m4": 4}
    assert numbers(b_to_c) == {b"m1": 1, b"m3": 2, b"m4": 3, b"m2": 4}
    assert numbers(b_to_d) == {b"m1": 1, b"m3": 2, b"m4": 3, b"m2": 4}
    assert (asked(b_to_a), asked(c_to_b), asked(d_to_b)) == ({2}, {1}, set())
    assert b_to_a.arrived == [b"m1", b"m3", b"m4", b"m2"]
    assert c_to_b.arrived == [b"m3", b"m4", b"m2", b"m1"], "as the paper draws it"
    assert d_to_b.arrived == [b"m1", b"m3", b"m4", b"m2"]
    assert c_to_b.arrived_at[0] == (10 + 40) * MILLISECOND, "nothing waits on its way (SP-124)"
    ends = (a_to_b, b_to_a, b_to_c, c_to_b, b_to_d, d_to_b)
    assert not any(end.hop.open_objects or end.dead for end in ends)
