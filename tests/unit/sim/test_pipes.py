"""Pipes of the simulator: in order and whole until they break, and each end is told."""

from typing import Any

from antiphon.core.effects import Dial, HangUp, PipeDown, PipeRoom, PipeUp, Pour, Received
from antiphon.core.ids import DaemonId
from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.sim.network import NetworkSettings
from antiphon.sim.pipes import BREAK_US, IDLE_BREAK_US, LOOK_US, ROOM_BYTES
from antiphon.sim.world import World
from antiphon.wire.packet import HEADER_BYTES, Tag
from tests.unit.sim.test_network import ONE, TWO, between, node, silent_world

FAR = NetworkSettings(latency_us=10 * MILLISECOND, jitter_us=5 * MILLISECOND)


def do(world: World, source: int, *effects: Any) -> None:
    world._perform(world.hosts[DaemonId(source)], effects)


def run(world: World, us: int) -> None:
    world.run(world.now + us)


def pour(world: World, source: int, target: int, *numbers: int, size: int = 4) -> None:
    for number in numbers:
        packet = node(world, source).packet(Tag.LINK, number.to_bytes(4, "big") + bytes(size - 4))
        do(world, source, Pour(DaemonId(target), packet))


def joined(settings: NetworkSettings = FAR) -> World:
    world = silent_world(settings)
    do(world, 1, Dial(TWO))
    run(world, SECOND)
    assert news(world, 1) == news(world, 2) == ["up"]
    return world


def seen(world: World, daemon: int) -> list[Any]:
    return [event for _, event in node(world, daemon).seen]


def news(world: World, daemon: int) -> list[str]:
    names = {PipeUp: "up", PipeDown: "down"}
    return [names[type(event)] for event in seen(world, daemon) if type(event) in names]


def came(world: World, daemon: int) -> list[int]:
    packets = [event.packet for event in seen(world, daemon) if isinstance(event, Received)]
    return [int.from_bytes(packet[HEADER_BYTES : HEADER_BYTES + 4], "big") for packet in packets]


def test_both_ends_are_told_who_is_at_the_other() -> None:
    world = joined()
    ups = [event for event in seen(world, 1) if isinstance(event, PipeUp)]
    assert ups == [PipeUp(world.hosts[TWO].member, ROOM_BYTES)]


def test_what_is_poured_comes_in_order_though_the_link_loses_and_reorders() -> None:
    world = joined(NetworkSettings(latency_us=5_000, jitter_us=9_000, loss=0.3, reorder=0.3))
    pour(world, 1, 2, *range(100))
    pour(world, 2, 1, *range(50))
    run(world, 60 * SECOND)
    assert (came(world, 2), came(world, 1)) == (list(range(100)), list(range(50)))


def test_where_nobody_runs_a_call_is_refused_and_over_a_cut_nothing_is_heard() -> None:
    world = silent_world(FAR)
    world.crash(world.hosts[TWO])
    do(world, 1, Dial(TWO))
    run(world, SECOND)
    assert news(world, 1) == ["down"]
    world.start(world.hosts[TWO])
    world.network.close(between(TWO, ONE))
    do(world, 1, Dial(TWO))
    run(world, SECOND)
    assert news(world, 1) == ["down"] and news(world, 2) == []


def test_a_short_cut_is_only_a_delay() -> None:
    world = joined()
    world.network.close(between(ONE, TWO))
    pour(world, 1, 2, 1, 2)
    run(world, BREAK_US // 2)
    assert came(world, 2) == []
    world.network.heal()
    pour(world, 1, 2, 3)
    run(world, SECOND)
    assert came(world, 2) == [1, 2, 3] and news(world, 1) == ["up"]


def test_a_long_cut_breaks_it_for_both_and_what_was_under_way_is_lost() -> None:
    world = joined()
    world.network.close(between(ONE, TWO))
    pour(world, 1, 2, 1)
    run(world, BREAK_US + 3 * LOOK_US)
    assert news(world, 1) == ["up", "down"] and news(world, 2) == ["up"], "it was idle there"
    run(world, IDLE_BREAK_US)
    assert news(world, 2) == ["up", "down"]
    world.network.heal()
    run(world, SECOND)
    assert came(world, 2) == []


def test_one_way_that_is_cut_lets_through_what_its_sender_then_holds_for_lost() -> None:
    world = joined()
    world.network.close(between(TWO, ONE))
    pour(world, 1, 2, 7)
    pour(world, 2, 1, 8)
    run(world, IDLE_BREAK_US + SECOND)
    assert came(world, 2) == [7] and came(world, 1) == []
    assert news(world, 1) == news(world, 2) == ["up", "down"]


def test_who_hangs_up_is_not_told_and_the_other_is_after_what_was_poured() -> None:
    world = joined()
    pour(world, 1, 2, 1, 2)
    do(world, 1, HangUp(TWO))
    pour(world, 1, 2, 3)
    run(world, SECOND)
    assert news(world, 1) == ["up"] and news(world, 2) == ["up", "down"]
    assert came(world, 2) == [1, 2]


def test_a_crash_is_told_to_the_other_end() -> None:
    world = joined()
    world.crash(world.hosts[ONE])
    run(world, 100 * MILLISECOND)
    assert news(world, 2) == ["up", "down"]
    world.start(world.hosts[ONE])
    do(world, 1, Dial(TWO))
    run(world, SECOND)
    assert news(world, 2) == ["up", "down", "up"] and news(world, 1) == ["up"]


def test_another_pipe_takes_the_place_of_one_that_only_one_end_still_has() -> None:
    world = joined()
    world.network.close(between(ONE, TWO))
    do(world, 1, HangUp(TWO))
    world.network.heal()
    pour(world, 2, 1, 5)
    do(world, 1, Dial(TWO))
    run(world, SECOND)
    pour(world, 2, 1, 6)
    run(world, SECOND)
    assert news(world, 2) == ["up", "up"] and news(world, 1) == ["up", "up"]
    assert came(world, 1) == [6], "of the old one nothing is heard"


def test_a_call_that_was_given_up_comes_to_nothing() -> None:
    world = silent_world(FAR)
    do(world, 1, Dial(TWO), HangUp(TWO))
    run(world, SECOND)
    assert news(world, 1) == news(world, 2) == []


def test_a_snap_breaks_both_ends_at_once() -> None:
    world = joined()
    pour(world, 1, 2, 1)
    world.pipes.snap(between(ONE, None))
    run(world, SECOND)
    assert news(world, 1) == news(world, 2) == ["up", "down"]
    assert came(world, 2) == []


def test_a_reader_that_stands_still_stops_the_writer_and_loses_nothing() -> None:
    world = joined()
    world.pause(world.hosts[TWO])
    pour(world, 1, 2, *range(20), size=1_000)
    run(world, 10 * SECOND)
    assert not any(isinstance(event, PipeRoom) for event in seen(world, 1))
    world.resume(world.hosts[TWO])
    run(world, SECOND)
    assert came(world, 2) == list(range(20))
    rooms = [event.room for event in seen(world, 1) if isinstance(event, PipeRoom)]
    assert rooms and all(ROOM_BYTES // 2 <= room <= ROOM_BYTES for room in rooms)


def test_what_befalls_a_pipe_while_its_host_stands_still_is_told_afterwards() -> None:
    world = joined()
    world.pause(world.hosts[TWO])
    pour(world, 1, 2, 1)
    run(world, 100 * MILLISECOND)
    do(world, 1, HangUp(TWO))
    run(world, SECOND)
    assert news(world, 2) == ["up"] and came(world, 2) == []
    world.resume(world.hosts[TWO])
    run(world, MILLISECOND)
    assert came(world, 2) == [1] and news(world, 2) == ["up", "down"]
