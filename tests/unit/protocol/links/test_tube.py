"""A TCP link: each object once and in order, whatever becomes of the pipes under it."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.core.effects import Arrived, HangUp
from antiphon.core.errors import ConfigError
from antiphon.core.ids import DaemonId, Incarnation, Member
from antiphon.core.machine import MILLISECOND, NEVER, SECOND
from antiphon.protocol.links.tcp_settings import TcpSettings
from antiphon.protocol.links.tube import DIALLING, DOWN, GREETING, OPEN
from antiphon.wire.link import NOTHING_HEARD, LinkAck, LinkObject, LinkPacket
from tests.unit.protocol.links.channel import BIRTH, ONE, TWO
from tests.unit.protocol.links.conduit import DELAY_US, Conduit

USUAL = TcpSettings()


def numbered(count: int, size: int = 100) -> list[bytes]:
    return [number.to_bytes(4, "big") + bytes(size - 4) for number in range(count)]


def opened(settings: TcpSettings = USUAL, room: int = 1 << 20) -> Conduit:
    conduit = Conduit(settings, room)
    conduit.begin()
    conduit.run(100 * MILLISECOND)
    assert conduit.one.tube.state == conduit.two.tube.state == OPEN
    return conduit


def heard(
    received: int | None = None,
    objects: list[LinkObject] | None = None,
    sender: Member = TWO,
    birth: int = BIRTH,
) -> LinkPacket:
    ack = None if received is None else LinkAck(received, 0, 0, NOTHING_HEARD, 0)
    return LinkPacket(sender, birth, 0, 60, False, ack, (), objects or [])


def test_objects_cross_in_both_directions_in_order() -> None:
    """SP-23, SP-196: the same objects over another kind of link."""
    conduit = opened()
    there, back = numbered(500), numbered(300, 60)
    for data in there:
        conduit.one.send(data)
    conduit.two.send(*back)
    conduit.run(SECOND)
    assert (conduit.two.arrived, conduit.one.arrived) == (there, back)
    for end in (conduit.one, conduit.two):
        assert not end.tube.open_objects and not end.tube.backlog_bytes
        assert end.tube.keeping.repeated == 0
        assert end.tube.deadline() == NEVER, "an idle link is silent"


def test_only_the_lower_daemon_dials() -> None:
    conduit = opened()
    assert conduit.one.dialled_at == [0]
    conduit.snap()
    conduit.run(SECOND)
    assert len(conduit.one.dialled_at) == 2 and conduit.two.dialled_at == []


def test_what_is_sent_before_there_is_a_pipe_waits_for_it() -> None:
    conduit = Conduit(USUAL)
    conduit.begin()
    conduit.two.send(*numbered(10))
    assert conduit.two.tube.state == DOWN and conduit.one.tube.state == DIALLING
    assert conduit.two.tube.backlog_bytes == 1000
    conduit.run(100 * MILLISECOND)
    assert conduit.one.arrived == numbered(10)


def test_no_object_is_poured_before_the_other_end_was_heard() -> None:
    conduit = Conduit(USUAL)
    conduit.one.begin()  # the other end has not installed the configuration yet
    conduit.one.send(b"early")
    conduit.run(SECOND)
    assert conduit.one.tube.state == GREETING and conduit.two.pipe.is_up_to(ONE)
    assert not any(packet.objects for packet in conduit.one.poured)
    assert len(conduit.one.poured) > 2, "it says hello again"
    conduit.two.begin()
    conduit.run(SECOND)
    assert conduit.two.arrived == [b"early"]


@pytest.mark.parametrize("late_us", [0, 5 * MILLISECOND, 300 * MILLISECOND])
@pytest.mark.parametrize("break_us", range(0, 44_000, 3_000))
def test_a_pipe_may_break_at_any_point(break_us: int, late_us: int) -> None:
    """Also when one end notices it long after the other, and has a new pipe by then."""
    conduit = Conduit(USUAL)
    conduit.begin()
    there, back = numbered(60), numbered(60, 50)
    for at, (one, two) in enumerate(zip(there, back, strict=True)):
        conduit.clock.at(at * MILLISECOND, lambda one=one: conduit.one.send(one))
        conduit.clock.at(at * MILLISECOND, lambda two=two: conduit.two.send(two))
    conduit.clock.at(60 * MILLISECOND + break_us, lambda: conduit.snap(late_us))
    conduit.run(5 * SECOND)
    assert (conduit.two.arrived, conduit.one.arrived) == (there, back)
    assert len(conduit.one.dialled_at) == 2
    assert not conduit.one.tube.open_objects and not conduit.two.tube.open_objects


def test_only_what_was_lost_is_poured_again() -> None:
    conduit = opened()
    conduit.one.send(*numbered(50))
    conduit.run(12 * MILLISECOND)
    assert len(conduit.two.arrived) == 50 and conduit.one.tube.open_objects, "not acknowledged"
    conduit.one.send(*numbered(7))
    conduit.snap()
    conduit.run(SECOND)
    assert conduit.two.arrived == numbered(50) + numbered(7)
    assert conduit.one.tube.keeping.repeated == 7


steps = st.lists(
    st.one_of(
        st.tuples(st.just("one"), st.integers(1, 400)),
        st.tuples(st.just("two"), st.integers(1, 400)),
        st.tuples(st.just("run"), st.integers(0, 120_000)),
        st.tuples(st.just("snap"), st.integers(0, 400_000)),
        st.tuples(st.just("room"), st.integers(-100, 5_000)),
    ),
    max_size=60,
)


@settings(max_examples=150, deadline=None)
@given(steps, st.integers(1, 3_000), st.integers(1, 5_000))
def test_whatever_breaks_each_object_comes_once_and_in_order(
    drawn: list[tuple[str, int]], window: int, room: int
) -> None:
    conduit = Conduit(replace(USUAL, window_bytes=window, frame_bytes=500), room)
    conduit.begin()
    sent: dict[str, list[bytes]] = {"one": [], "two": []}
    for verb, amount in drawn:
        if verb == "run":
            conduit.run(amount)
        elif verb == "snap":
            conduit.snap(amount)
        elif verb == "room":
            for end in (conduit.one, conduit.two):
                if end.connection:
                    end.give_room(amount)
        else:
            data = len(sent[verb]).to_bytes(4, "big") + bytes(amount)
            sent[verb].append(data)
            getattr(conduit, verb).send(data)
        assert conduit.two.arrived == sent["one"][: len(conduit.two.arrived)]
        assert conduit.one.arrived == sent["two"][: len(conduit.one.arrived)]
        for end in (conduit.one, conduit.two):
            assert end.tube.keeping.open_bytes < window + 405
    for _ in range(200):
        conduit.run(50 * MILLISECOND)
        for end in (conduit.one, conduit.two):
            if end.connection and end.pipe.room < 1_000:
                end.give_room(1 << 16)
    assert (conduit.two.arrived, conduit.one.arrived) == (sent["one"], sent["two"])
    assert not conduit.one.dead and not conduit.two.dead


def test_the_window_bounds_what_is_not_acknowledged() -> None:
    conduit = opened(replace(USUAL, window_bytes=1_000, ack_objects=4))
    conduit.one.send(*numbered(100))
    assert conduit.one.tube.open_objects == 10
    assert conduit.one.tube.backlog_bytes == 90 * 100
    conduit.run(10 * SECOND)
    assert conduit.two.arrived == numbered(100)


def test_no_more_is_poured_than_there_is_room_for() -> None:
    conduit = opened(replace(USUAL, frame_bytes=300), room=2_000)
    conduit.one.send(*numbered(100))
    poured = sum(packet.size for packet in conduit.one.poured)
    assert poured < 2_000 + 500
    conduit.run(SECOND)
    assert len(conduit.two.arrived) < 30, "acks do not make room in the pipe"
    for _ in range(100):
        conduit.one.give_room(2_000)
        conduit.run(20 * MILLISECOND)
    assert conduit.two.arrived == numbered(100)


def test_acks_are_due_by_count_and_by_time_and_ride_on_objects() -> None:
    """SP-105, SP-106."""
    conduit = opened(replace(USUAL, ack_objects=10))
    began = len(conduit.two.poured)
    conduit.one.send(*numbered(25))
    conduit.run(11 * MILLISECOND)
    assert [packet.ack.received for packet in conduit.two.poured[began:] if packet.ack] == [25]
    conduit.one.send(b"one more")
    conduit.run(12 * MILLISECOND)
    assert len(conduit.two.poured) == began + 1
    conduit.two.send(b"answer")
    last = conduit.two.poured[-1]
    assert last.ack is not None and last.ack.received == 26 and len(last.objects) == 1
    conduit.run(SECOND)
    assert len(conduit.two.poured) == began + 2, "nothing is left to acknowledge"


def test_the_round_trip_is_measured() -> None:
    conduit = opened()
    for data in numbered(40):
        conduit.one.send(data)
        conduit.run(30 * MILLISECOND)
    assert abs(conduit.one.tube.path.round_trip.smooth_us - 2 * DELAY_US) < 2 * MILLISECOND


# Pipes that are no use.


def test_a_try_that_fails_is_repeated_soon() -> None:
    conduit = Conduit(USUAL)
    conduit.answers = False
    conduit.begin()
    conduit.one.pipe_down(0)
    assert conduit.one.tube.state == DOWN and conduit.one.tube.counts["refused"] == 1
    conduit.answers = True
    conduit.run(SECOND)
    assert conduit.one.dialled_at == [0, USUAL.redial_us_min]
    assert conduit.one.tube.state == OPEN


def test_waits_between_tries_double_up_to_a_limit() -> None:
    settings = replace(USUAL, dead_us=60 * SECOND, dial_us=10 * MILLISECOND)
    conduit = Conduit(settings)
    conduit.answers = False
    conduit.begin()
    conduit.run(5 * SECOND)
    dialled = conduit.one.dialled_at
    waits = [later - sooner - 10 * MILLISECOND for sooner, later in pairwise(dialled)]
    assert waits[:6] == [50_000, 100_000, 200_000, 400_000, 800_000, 1_000_000]
    conduit.answers = True
    conduit.run(2 * SECOND)
    conduit.snap()
    began = conduit.one.now
    conduit.run(SECOND)
    assert conduit.one.dialled_at[-1] - began == settings.redial_us_min, "it begins anew"


def test_without_a_pipe_the_link_is_dead_in_time_at_both_ends() -> None:
    """SP-154."""
    conduit = Conduit(USUAL)
    conduit.answers = False
    conduit.begin()
    conduit.run(USUAL.dead_us - MILLISECOND)
    assert not conduit.one.dead and not conduit.two.dead
    conduit.run(2 * MILLISECOND)
    assert conduit.one.dead == conduit.two.dead == ["no_pipe"]
    assert conduit.one.tube.deadline() == NEVER
    assert conduit.one.tube.send(conduit.one.now, b"x") == []
    assert conduit.one.tube.receive(conduit.one.now, heard(0)) == []
    assert conduit.one.tube.pipe_up(conduit.one.now) == []


def test_a_silent_pipe_is_hung_up_and_another_one_tried() -> None:
    conduit = opened()
    conduit.silent = True
    conduit.one.send(b"lost")
    conduit.run(USUAL.silence_us + MILLISECOND)
    assert conduit.one.tube.counts["silence"] == 1 and conduit.one.tube.state == DOWN
    conduit.silent = False
    conduit.run(SECOND)
    assert conduit.two.arrived == [b"lost"] and not conduit.one.dead


def test_pipes_that_carry_hellos_and_no_objects_do_not_keep_a_link_alive() -> None:
    conduit = opened()
    sent = conduit.carry

    def only_hellos(sender: object, packet: LinkPacket) -> None:
        if not packet.objects:
            sent(sender, packet)  # type: ignore[arg-type]  # as it is called

    conduit.carry = only_hellos  # type: ignore[assignment, method-assign]  # a worse conduit
    conduit.one.send(b"too large for the way")
    conduit.run(USUAL.dead_us + SECOND)
    assert conduit.one.dead == ["silence"]
    assert conduit.one.tube.counts["silence"] == 2, "two other pipes were tried"


def test_a_slow_reader_is_no_silence() -> None:
    conduit = opened()
    conduit.one.send(*numbered(20))
    sent = conduit.one.tube.keeping.sequence
    for number in range(1, sent + 1):
        conduit.run(2 * SECOND)
        conduit.one.hear(1, heard(number))
    assert not conduit.one.dead and conduit.one.connection == 1


def test_whoever_sends_all_it_can_may_acknowledge_late() -> None:
    """Its acks stand in line behind its objects."""
    conduit = opened()
    conduit.silent = True
    conduit.one.send(b"x")
    for number in range(1, 2 * USUAL.dead_us // SECOND):
        conduit.run(SECOND)
        conduit.one.hear(1, heard(objects=[LinkObject(number, 0, b"many")]))
    assert not conduit.one.dead and conduit.one.connection == 1
    conduit.run(USUAL.dead_us + SECOND)
    assert conduit.one.dead


def test_a_process_that_stood_still_blames_nobody() -> None:
    conduit = opened()
    conduit.one.send(b"x")
    due = conduit.one.tube.deadline()
    conduit.one.tube.skip(SECOND)
    assert conduit.one.tube.deadline() == due + SECOND


# What others do wrong.


def test_a_gap_ends_the_pipe() -> None:
    conduit = opened()
    outcome = conduit.one.tube.receive(
        conduit.one.now, heard(objects=[LinkObject(1, 0, b"a"), LinkObject(3, 0, b"c")])
    )
    assert [type(word) for word in outcome] == [Arrived, HangUp]
    assert conduit.one.tube.state == DOWN and conduit.one.tube.counts["gap"] == 1


def test_what_came_before_does_not_go_up_again() -> None:
    conduit = opened()
    again = heard(objects=[LinkObject(1, 0, b"a")])
    first = conduit.one.tube.receive(conduit.one.now, again)
    second = conduit.one.tube.receive(conduit.one.now, again)
    assert len([word for word in first if isinstance(word, Arrived)]) == 1
    assert not any(isinstance(word, Arrived) for word in second)


@pytest.mark.parametrize(
    ("packet", "reason"),
    [
        (heard(0, sender=Member(TWO.daemon, Incarnation(23))), "not_a_member"),
        (heard(0, sender=Member(DaemonId(3), Incarnation(1))), "not_a_member"),
        (heard(0, birth=BIRTH + 1), "other_link"),
        (heard(1), "bad_field"),
    ],
)
def test_what_cannot_be_is_dropped(packet: LinkPacket, reason: str) -> None:
    conduit = opened()
    assert conduit.one.tube.receive(conduit.one.now, packet) == reason
    assert conduit.one.tube.counts[reason] == 1
    conduit.one.send(b"still")
    conduit.run(SECOND)
    assert conduit.two.arrived == [b"still"]


def test_what_comes_without_a_pipe_is_dropped() -> None:
    conduit = Conduit(USUAL)
    conduit.two.begin()
    assert conduit.two.tube.receive(0, heard(0, sender=ONE)) == "no_pipe"


def test_a_pipe_to_another_life_is_no_pipe() -> None:
    conduit = Conduit(USUAL)
    conduit.begin()
    conduit.two.pipe.came_up(Member(ONE.daemon, Incarnation(99)), 1_000)
    assert conduit.two.tube.pipe_up(0) == []
    assert conduit.two.tube.state == DOWN


@pytest.mark.parametrize(
    "wrong",
    [
        {"frame_bytes": 0},
        {"frame_bytes": 70_000},
        {"window_bytes": 0},
        {"redial_us_min": 2 * SECOND},
        {"silence_us": 9 * SECOND},
        {"ack_us": 4 * SECOND},
    ],
)
def test_settings_that_cannot_work_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError):
        TcpSettings(**wrong)
