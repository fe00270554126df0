"""One link: what goes in at one end comes out at the other, once, or the link is dead."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.core.effects import Arrived, Send, Word
from antiphon.core.ids import Incarnation, Member
from antiphon.core.machine import MILLISECOND, NEVER, SECOND
from antiphon.protocol.links.hop import Hop
from antiphon.protocol.links.memory import Memory
from antiphon.protocol.links.news import LinkId
from antiphon.protocol.links.settings import HopSettings
from antiphon.wire.link import LinkAck, LinkObject, LinkPacket, read_link_packet
from tests.unit.protocol.links.channel import (
    BIRTH,
    ONE,
    TWO,
    Clockwork,
    End,
    Line,
    Way,
    head_of,
    joined,
    keep_busy,
)

FIXED = HopSettings(rate_bytes=1_000_000)


def numbered(count: int, size: int = 600) -> list[bytes]:
    return [number.to_bytes(4, "big") * (size // 4) for number in range(count)]


def lone(settings: HopSettings = FIXED) -> Hop:
    return Hop(0, LinkId(ONE, TWO, BIRTH), head_of(ONE), settings, Memory(settings))


def said(effects: list[Word] | str) -> list[LinkPacket]:
    assert isinstance(effects, list), effects
    return [read_link_packet(effect.packet, *ONE) for effect in effects if isinstance(effect, Send)]


def heard(
    ack: LinkAck | None = None,
    nack: tuple[tuple[int, int], ...] = (),
    objects: list[LinkObject] | None = None,
    sender: Member = TWO,
    birth: int = BIRTH,
) -> LinkPacket:
    return LinkPacket(sender, birth, 0, 100, False, ack, nack, objects or [])


def ack_of(received: int, echo: int = 0, **more: int) -> LinkAck:
    return LinkAck(received, more.get("highest", 0), echo, 0, 0)


@settings(max_examples=30)
@given(
    loss=st.floats(0, 0.3),
    jitter_us=st.integers(0, 40_000),
    double=st.floats(0, 0.2),
    seed=st.integers(0, 10**6),
    size=st.integers(20, 1300),
)
def test_each_object_comes_once_whatever_the_network_does(
    loss: float, jitter_us: int, double: float, seed: int, size: int
) -> None:
    """SP-164, SP-229: reliable, no order; SP-133: in both directions at once."""
    one, two = joined(FIXED, Way(15_000, jitter_us, loss, double), seed=seed)
    objects = numbered(60, size)
    for at, data in enumerate(objects):
        one.clockwork.at(at * 3000, lambda data=data: one.send(data))
        one.clockwork.at(at * 5000, lambda data=data: two.send(data))
    one.clockwork.run(60 * SECOND)
    assert sorted(two.arrived) == sorted(one.arrived) == sorted(objects)
    assert not one.hop.open_objects and not two.hop.open_objects
    assert one.hop.deadline() == two.hop.deadline() == NEVER, "silence follows"
    assert not one.dead and not two.dead


def test_what_comes_goes_up_at_once_although_earlier_is_missing() -> None:
    """SP-118, X-04: the gap is exactly what did not come, and the newcomer is no part of it."""
    hop = lone()
    first = hop.receive(0, heard(objects=[LinkObject(1, 0, b"one")]))
    later = hop.receive(10, heard(objects=[LinkObject(4, 0, b"four")]))
    assert [effect for effect in first if isinstance(effect, Arrived)] == [
        Arrived(hop.link.peer, b"one")
    ]
    assert [effect for effect in later if isinstance(effect, Arrived)] == [
        Arrived(hop.link.peer, b"four")
    ]
    assert [*hop.receiving.missing] == [2, 3]
    assert (hop.receiving.received, hop.receiving.highest) == (1, 4)
    again = hop.receive(20, heard(objects=[LinkObject(4, 0, b"four")]))
    assert not [effect for effect in again if isinstance(effect, Arrived)]
    assert hop.receiving.duplicates == 1
    hop.receive(30, heard(objects=[LinkObject(2, 0, b"two")]))
    assert hop.receiving.received == 2, "SP-239: the lowest missing, less one"
    hop.receive(40, heard(objects=[LinkObject(3, 0, b"three")]))
    assert hop.receiving.received == 4 and not hop.receiving.missing


def test_a_gap_is_asked_for_after_a_delay_and_again_by_the_round_trip() -> None:
    """SP-147, SP-148, SP-150, SP-240."""
    hop = lone(replace(FIXED, nack_us=3000, round_trip_us=50_000))
    hop.receive(0, heard(objects=[LinkObject(3, 0, b"x")]))
    assert hop.deadline() == 3000
    asked = said(hop.wake(3000))[-1]
    assert asked.nack == ((1, 2),) and asked.ack is not None
    hop.wake(5000)  # the ack of the first packet
    again = hop.deadline()
    assert again == 3000 + hop.path.repair_timeout_us() + 3000
    hop.receive(again - 10, heard(objects=[LinkObject(1, 1, b"x")]))
    assert said(hop.wake(again))[-1].nack == ((2, 1),)
    hop.receive(again + 10, heard(objects=[LinkObject(2, 1, b"x")]))
    assert not [packet for packet in said(hop.wake(again + SECOND)) if packet.nack]
    assert hop.deadline() == NEVER


def test_acks_come_by_count_by_a_short_time_and_by_a_long_one() -> None:
    """SP-141, SP-142, SP-162, SP-169, SP-170, X-32: counted anew after each."""
    hop = lone(replace(FIXED, ack_packets=4))
    assert hop.receive(0, heard(objects=[LinkObject(1, 0, b"x")]))
    assert hop.deadline() == FIXED.ack_short_us, "the first after silence"
    (ack,) = said(hop.wake(5000))
    assert ack.ack is not None and ack.ack.received == 1
    hop.receive(6000, heard(objects=[LinkObject(2, 0, b"x")]))
    assert hop.deadline() == 6000 + FIXED.ack_long_us
    for sequence in (3, 4):
        assert not said(hop.receive(6000, heard(objects=[LinkObject(sequence, 0, b"x")])))
    (ack,) = said(hop.receive(6000, heard(objects=[LinkObject(5, 0, b"x")])))
    assert ack.ack is not None and ack.ack.received == 5
    assert hop.deadline() == NEVER
    assert not said(hop.receive(7000, heard(objects=[LinkObject(6, 0, b"x")])))


def test_an_ack_rides_on_data_and_packets_sent_count_too() -> None:
    """SP-106, X-32."""
    hop = lone(replace(FIXED, ack_packets=4))
    hop.receive(0, heard(objects=[LinkObject(1, 0, b"x")]))
    (data,) = said(hop.send(0, b"first"))
    assert data.ack is not None and data.ack.received == 1 and data.ack.highest == 1
    assert hop.deadline() > FIXED.ack_long_us, "the ack timer is stopped: only the probe is left"
    (data,) = said(hop.send(0, b"second"))
    assert data.ack is None


def test_an_ack_that_finds_no_room_beside_large_objects_goes_alone() -> None:
    hop = lone(replace(FIXED, ack_packets=4))
    largest = bytes(FIXED.object_bytes_max)
    sent = said(hop.send(0, *[largest] * 4))
    assert [packet.ack is not None for packet in sent] == [False, False, False, False, True]
    assert max(packet.size for packet in sent) == FIXED.packet_bytes


def test_small_objects_of_one_call_share_packets_and_each_is_numbered() -> None:
    """SP-101 to SP-104."""
    hop = lone()
    sent = said(hop.send(0, *numbered(100, 12)))
    assert [each.sequence for packet in sent for each in packet.objects] == [*range(1, 101)]
    assert len(sent) == 2


def test_a_window_stops_new_objects_but_not_repairs() -> None:
    """SP-160, SP-166, X-03, X-32: what is asked for leaves although the window is full."""
    hop = lone(replace(FIXED, window_objects=4, ack_packets=2))
    said(hop.send(0, *numbered(10)))
    assert hop.sending.sequence == 4 and hop.backlog_bytes == 6 * 600
    (repair, *_) = said(hop.receive(50_000, heard(ack_of(0), ((2, 1),))))
    assert [(each.sequence, each.repeats) for each in repair.objects] == [(2, 1)]
    assert repair.objects[0].data == numbered(2)[1], "SP-242: the same object, the same number"
    sent = said(hop.receive(51_000, heard(ack_of(2))))
    assert [each.sequence for packet in sent for each in packet.objects] == [5, 6]


def test_acks_free_what_came_also_above_a_gap() -> None:
    """SP-163, SP-241, X-05: up to and including; an old ack changes nothing."""
    hop = lone()
    hop.send(0, *numbered(8))
    hop.receive(50_000, heard(LinkAck(2, 0, 0, 0, 0, ((1, 2), (1, 1)))))
    assert [*hop.sending.open] == [3, 6, 8] and hop.sending.acked == 2
    hop.receive(51_000, heard(LinkAck(1, 0, 0, 0, 0)))
    assert [*hop.sending.open] == [3, 6, 8] and hop.sending.acked == 2
    hop.receive(52_000, heard(LinkAck(5, 0, 0, 0, 0, ((1, 2),))))
    assert [*hop.sending.open] == [6]
    hop.receive(53_000, heard(LinkAck(8, 0, 0, 0, 0)))
    assert not hop.sending.open and not hop.sending.open_bytes


def test_a_request_that_crossed_the_repair_is_not_answered_twice() -> None:
    hop = lone()
    hop.send(0, *numbered(3))
    assert said(hop.receive(50_000, heard(ack_of(0, echo=0), ((1, 1),))))
    assert not said(hop.receive(60_000, heard(ack_of(0, echo=0), ((1, 1),)))), "they crossed"
    assert said(hop.receive(70_000, heard(ack_of(0, echo=55_000), ((1, 1),)))), "it was lost"


@pytest.mark.parametrize(
    ("packet", "reason"),
    [
        (heard(ack_of(0), birth=BIRTH + 1), "other_link"),
        (heard(ack_of(0), sender=Member(TWO.daemon, Incarnation(5))), "not_a_member"),
        (heard(ack_of(4)), "bad_field"),
        (heard(LinkAck(0, 0, 0, 0, 0, ((3, 1),))), "bad_field"),
        (heard(ack_of(0), ((3, 2),)), "bad_field"),
        (heard(objects=[LinkObject(FIXED.window_objects + 1, 0, b"x")]), "beyond_window"),
        (heard(ack_of(0, highest=FIXED.window_objects + 1)), "beyond_window"),
    ],
)
def test_what_does_not_belong_to_the_link_is_dropped_and_counted(
    packet: LinkPacket, reason: str
) -> None:
    """SP-11: links are born and die with membership; nothing of an old one is believed."""
    hop = lone()
    hop.send(0, *numbered(3))
    assert hop.receive(10, packet) == reason
    assert hop.counts[reason] == 1
    assert (hop.sending.acked, hop.receiving.highest) == (0, 0)


def test_a_lost_tail_is_found_after_about_a_round_trip() -> None:
    """SP-151: nothing comes after it, so its sender asks."""
    one, two = joined(FIXED, Way(delay_us=40_000))
    for number in range(60):
        one.clockwork.at(number * 20_000, lambda: one.send(b"warm"))
    one.clockwork.run(3 * SECOND)
    start = one.clockwork.now
    one.deletes = lambda packet: any(
        each.data == b"tail" and not each.repeats for each in packet.objects
    )
    one.send(b"burst")
    one.send(b"tail")
    one.clockwork.run(start + 2 * SECOND)
    asked = [
        at - start
        for at, packet in zip(two.packets_at, two.packets, strict=True)
        if packet.nack and at >= start
    ]
    assert two.arrived[-1] == b"tail"
    trip, way = 80_000, 40_000
    assert trip <= asked[0] - way <= trip + FIXED.ack_long_us + 10 * MILLISECOND
    assert two.arrived_at[-1] - start <= asked[0] + trip + MILLISECOND


def deaf_to(one: End, sequence: int) -> None:
    one.deletes = lambda packet: any(each.sequence == sequence for each in packet.objects)


@pytest.mark.parametrize(("patient", "dead"), [(0, ["requests"]), (1, ["nacks"])])
def test_an_object_that_never_comes_kills_the_link_at_either_end(
    patient: int, dead: list[str]
) -> None:
    """SP-152 to SP-154, X-02: although all else flows."""
    clock = Clockwork()
    settings = [FIXED, replace(FIXED, requests_max=100)]
    one = End(clock, LinkId(ONE, TWO, BIRTH), settings[1 - patient])
    two = End(clock, LinkId(TWO, ONE, BIRTH), settings[patient])
    short = Way(delay_us=4 * MILLISECOND)
    one.line, two.line = Line(clock, short), Line(clock, short)
    one.other, two.other = two, one
    deaf_to(one, 5)
    keep_busy(one, 100_000)
    victim = one if patient else two
    clock.run(30 * SECOND, lambda: bool(victim.dead))
    assert victim.dead == dead
    assert FIXED.dead_us <= clock.now <= 5 * SECOND
    assert len(two.arrived) > 1000 and victim.hop.deadline() == NEVER
    assert victim.hop.send(clock.now, b"more") == []
    assert victim.hop.receive(clock.now, heard(ack_of(0))) == []


def test_an_end_that_answers_nothing_kills_the_link() -> None:
    one, two = joined(FIXED, Way())
    two.deletes = lambda packet: True
    one.send(b"hello?")
    one.clockwork.run(30 * SECOND, lambda: bool(one.dead))
    assert one.dead == ["silence"]
    assert one.hop.counts["probe"] == FIXED.requests_max
    assert one.clockwork.now >= FIXED.dead_us


def test_a_link_whose_other_end_answers_is_alive_however_long_it_takes() -> None:
    hop = lone()
    hop.send(0, b"slow")
    for _ in range(3 * FIXED.requests_max):
        now = hop.deadline()
        (probe,) = said(hop.wake(now))
        assert probe.probe and probe.ack is not None and probe.ack.highest == 1
        hop.receive(now + MILLISECOND, heard(ack_of(0)))
    assert not hop.dead


def test_what_is_known_of_the_way_outlives_the_link() -> None:
    """SP-11: a new link of the same edge begins with it, and with nothing else."""
    settings = HopSettings()
    one, two = joined(settings, Way(delay_us=30_000))
    keep_busy(one, 3000)
    one.clockwork.run(5 * SECOND)
    clock = one.clockwork
    grown = one.hop.rate.rate_bytes
    again = End(clock, LinkId(ONE, TWO, BIRTH + 1), settings, one.memory)
    other = End(clock, LinkId(TWO, ONE, BIRTH + 1), settings, two.memory)
    again.line, other.line, again.other, other.other = one.line, two.line, other, again
    assert again.hop.path.round_trip.smooth_us == pytest.approx(60_000, rel=0.1)
    assert again.hop.rate.rate_bytes == grown
    assert again.hop.sending.sequence == again.hop.receiving.highest == 0
    keep_busy(again, 1000)
    clock.run(clock.now + 5 * SECOND)
    assert len(other.arrived) == 1000 and not again.dead
