"""The world drives nodes as a daemon would: time, lives, pauses, disks, records, bugs."""

from random import Random
from typing import Any

import pytest

from antiphon.core.effects import (
    Broadcast,
    Connect,
    Disconnect,
    Join,
    Persist,
    Persisted,
    ReadFirst,
    Received,
    Send,
)
from antiphon.core.ids import DaemonId, Member
from antiphon.core.machine import NEVER, Wakeup
from antiphon.core.trace import Kind, Record
from antiphon.sim.disk import DiskSettings
from antiphon.sim.gates import Ways
from antiphon.sim.host import INBOX_PACKETS
from antiphon.sim.network import NetworkSettings
from antiphon.sim.world import World
from antiphon.wire.packet import Tag
from tests.unit.sim.fakes import PERIOD_US, FakeNode

ONE, TWO = DaemonId(1), DaemonId(2)
STEADY = NetworkSettings(latency_us=200, jitter_us=0)


class Stage:
    """A world, and every node that ever lived in it."""

    def __init__(self, period_us: int = PERIOD_US, **options: Any) -> None:
        self.nodes: list[FakeNode] = []
        self.period_us = period_us
        self.world = World(self.make, **{"daemons": 2, "network": STEADY, **options})

    def make(self, member: Member, rng: Random) -> FakeNode:
        self.nodes.append(FakeNode(member, rng, self.period_us))
        return self.nodes[-1]

    def kinds(self, kind: Kind) -> list[Record]:
        return [record for record in self.world.records if record.kind == kind]

    def hello(self, to: int, tag: Tag = Tag.HELLO, number: int = 0) -> None:
        """A packet to this host from the other."""
        other = self.nodes[0 if to == 2 else 1]
        packet = other.packet(tag, bytes([number]))
        self.world._perform(self.world.hosts[other.member.daemon], [Send(DaemonId(to), packet)])


def events(node: FakeNode) -> list[Any]:
    return [event for _, event in node.seen]


def test_a_node_wakes_at_its_deadline_and_only_then() -> None:
    stage = Stage(daemons=1)
    stage.world.run(10 * PERIOD_US)
    offset = stage.world.hosts[ONE].offset
    assert [at - offset for at, _ in stage.nodes[0].seen] == [
        PERIOD_US * round for round in range(1, 11)
    ]
    assert stage.world.events == 10


def test_an_earlier_deadline_takes_the_place_of_a_later_one() -> None:
    stage = Stage()
    stage.world.run(0)
    node = stage.nodes[0]

    def hurry(now: int, event: Received) -> list[Any]:
        node.next = now + 50
        return []

    node.answers[Received] = hurry
    stage.hello(to=1)
    stage.world.run(PERIOD_US + 200)
    offset = stage.world.hosts[ONE].offset
    assert [at - offset for at, event in node.seen if type(event) is Wakeup] == [250]


def test_a_later_deadline_costs_no_call() -> None:
    stage = Stage()
    stage.world.run(0)
    node = stage.nodes[0]

    def put_off(now: int, event: Received) -> list[Any]:
        node.next = now + PERIOD_US
        return []

    node.answers[Received] = put_off
    stage.nodes[1].next = NEVER
    stage.hello(to=1)
    stage.world.run(PERIOD_US + 150)
    assert [type(event) for event in events(node)] == [Received]
    stage.world.run(PERIOD_US + 200)
    assert [type(event) for event in events(node)] == [Received, Wakeup]


def test_a_node_that_wakes_without_end_is_a_bug() -> None:
    stage = Stage(daemons=1)
    stage.world.run(0)
    stage.nodes[0].answers[Wakeup] = lambda now, event: []
    stage.world.run(2 * PERIOD_US)
    assert [bug.error for bug in stage.world.bugs] == [
        "AssertionError: the node wakes up without end"
    ]


def test_records_carry_the_time_of_the_world() -> None:
    stage = Stage()
    stage.world.run(PERIOD_US + 200)
    assert {record.time for record in stage.kinds(Kind.RECEIVED)} == {PERIOD_US + 200}
    assert {record.time for record in stage.kinds(Kind.ENTER)} == {0}


def test_a_crash_loses_everything_and_a_restart_is_another_member() -> None:
    stage = Stage()
    host = stage.world.hosts[ONE]
    stage.world.run(1_000)
    first = host.member
    stage.world.crash(host)
    stage.world.crash(host)
    stage.world.run(50_000)
    assert stage.nodes[0].seen == []
    stage.world.start(host)
    stage.world.start(host)
    stage.world.run(100_000)
    assert host.member.incarnation > first.incarnation
    assert host.node is stage.nodes[2] and stage.nodes[2].seen
    assert [(record.time, record.node) for record in stage.kinds(Kind.STOP)] == [(1_000, ONE)]
    assert [record.incarnation for record in stage.kinds(Kind.START) if record.node == ONE] == [
        first.incarnation,
        host.member.incarnation,
    ]


def test_a_wall_clock_set_back_gives_an_older_incarnation() -> None:
    stage = Stage()
    host = stage.world.hosts[ONE]
    stage.world.run(1_000)
    first = host.member
    stage.world.crash(host)
    host.wall_offset_ms -= 2_000
    stage.world.start(host)
    assert host.member.incarnation < first.incarnation
    assert first.incarnation >> 20 == 2_000 - 1 + (host.member.incarnation >> 20)


def test_a_jump_of_the_clock_makes_the_node_late() -> None:
    stage = Stage(daemons=1)
    stage.world.run(1_000)
    host = stage.world.hosts[ONE]
    before = host.offset
    stage.world.jump(host, 1_000_000)
    stage.world.run(1_000)
    assert stage.nodes[0].seen[0][0] == before + 1_001_000


def test_a_paused_node_reads_data_before_the_token_unless_it_wished_otherwise() -> None:
    for token_first, order in ((False, [1, 3, 0, 2]), (True, [0, 2, 1, 3])):
        stage = Stage(period_us=0)
        stage.world.run(0)
        host = stage.world.hosts[ONE]
        stage.world._perform(host, [ReadFirst(token_first)])
        stage.world.pause(host)
        for number, tag in enumerate((Tag.TOKEN, Tag.DATA, Tag.TOKEN, Tag.HELLO)):
            stage.hello(to=1, tag=tag, number=number)
        stage.world.run(5_000)
        assert stage.nodes[0].seen == []
        stage.world.resume(host)
        stage.world.resume(host)
        assert [packet[-1] for packet in stage.nodes[0].packets()] == order


def test_a_paused_node_wakes_late_and_its_inbox_is_bounded() -> None:
    stage = Stage()
    stage.world.run(0)
    host = stage.world.hosts[ONE]
    stage.world.pause(host)
    for _ in range(INBOX_PACKETS + 5):
        stage.hello(to=1)
    stage.world.run(3 * PERIOD_US)
    stage.world.resume(host)
    stage.world.run(3 * PERIOD_US)
    node = stage.nodes[0]
    assert len(node.packets()) == INBOX_PACKETS
    assert [at - host.offset for at, event in node.seen if type(event) is Wakeup] == [3 * PERIOD_US]


def test_a_slow_host_takes_its_events_one_by_one() -> None:
    stage = Stage(period_us=0)
    stage.world.run(0)
    host = stage.world.hosts[ONE]
    host.cost = 1_000
    for number, tag in enumerate((Tag.TOKEN, Tag.TOKEN, Tag.DATA)):
        stage.hello(to=1, tag=tag, number=number)
    stage.world.run(10_000)
    node = stage.nodes[0]
    assert [at - host.offset for at, _ in node.seen] == [200, 1_200, 2_200]
    assert [packet[-1] for packet in node.packets()] == [0, 2, 1], "data overtakes the token"


def test_effects_after_a_persist_wait_for_the_disk() -> None:
    stage = Stage(period_us=0, disk=DiskSettings(delay_us=700))
    stage.world.run(0)
    node = stage.nodes[0]
    node.answers[Received] = lambda now, event: [
        Broadcast(node.packet(Tag.HELLO, b"before")),
        Persist("key", b"data"),
        Broadcast(node.packet(Tag.HELLO, b"after")),
    ]
    stage.hello(to=1)
    stage.world.run(5_000)
    offset = stage.world.hosts[TWO].offset
    came = [(at - offset, event.packet[26:]) for at, event in stage.nodes[1].seen]
    assert came == [(400, b"before"), (1_100, b"after")]
    assert events(node)[-1] == Persisted("key")


def crash_while_writing(lost: float) -> Stage:
    """Host 1 writes and crashes before the disk has it."""
    stage = Stage(period_us=0, disk=DiskSettings(delay_us=700, lost=lost, torn=0.0))
    stage.world.run(0)
    node = stage.nodes[0]
    node.answers[Received] = lambda now, event: [
        Persist("key", b"data"),
        Broadcast(node.packet(Tag.HELLO)),
    ]
    stage.hello(to=1)
    stage.world.run(500)
    stage.world.crash(stage.world.hosts[ONE])
    stage.world.run(5_000)
    return stage


def test_a_crash_before_the_disk_has_it_undoes_the_rest_of_the_step() -> None:
    stage = crash_while_writing(lost=1.0)
    assert stage.nodes[1].seen == []
    assert stage.world.hosts[ONE].disk.contents == {}


def test_what_the_disk_holds_is_handed_to_the_next_life() -> None:
    stage = crash_while_writing(lost=0.0)
    handed: list[dict[str, bytes]] = []

    def make(member: Member, rng: Random, stored: dict[str, bytes]) -> FakeNode:
        handed.append(stored)
        return FakeNode(member, rng)

    stage.world._make_stored_node = make
    stage.world.start(stage.world.hosts[ONE])
    assert handed == [{"key": b"data"}]


def test_an_exception_is_a_bug_and_the_others_go_on() -> None:
    stage = Stage()
    stage.world.run(0)

    def fail(now: int, event: Received) -> list[Any]:
        raise KeyError("lost")

    stage.nodes[0].answers[Received] = fail
    stage.world.run(5 * PERIOD_US)
    assert [(bug.node, bug.error) for bug in stage.world.bugs] == [(ONE, "KeyError: 'lost'")]
    assert "in fail" in stage.world.bugs[0].trace
    stop = stage.kinds(Kind.STOP)[0]
    assert (stop.node, stop.reason, stop.detail) == (ONE, "bug", "KeyError: 'lost'")
    assert len(stage.nodes[1].seen) > 3
    stage.world.quiet()
    assert stage.world.hosts[ONE].node is None, "what is wrong with itself stays down"


def test_a_bug_in_the_start_is_found_too() -> None:
    class Stillborn(FakeNode):
        def start(self, now: int) -> list[Any]:
            raise AssertionError("no")

    world = World(Stillborn, daemons=1)
    world.run(1_000)
    assert [bug.error for bug in world.bugs] == ["AssertionError: no"]


def test_an_unknown_effect_is_our_own_mistake() -> None:
    stage = Stage()
    stage.world.run(0)
    with pytest.raises(AssertionError, match="no driver knows"):
        stage.world._perform(stage.world.hosts[ONE], ["nonsense"])


def test_a_watcher_acts_in_the_midst_of_a_step() -> None:
    stage = Stage()
    stage.world.run(0)
    node = stage.nodes[0]
    node.answers[Wakeup] = lambda now, event: [
        Broadcast(node.packet(Tag.HELLO, b"first")),
        node.record(Kind.ENTER, "recover"),
        Broadcast(node.packet(Tag.HELLO, b"second")),
    ]

    def crash(record: Record) -> bool:
        if record.reason == "recover":
            stage.world.crash(stage.world.hosts[ONE])
        return record.reason == "recover"

    stage.world.watch(Kind.ENTER, crash)
    stage.world.run(5 * PERIOD_US)
    assert [packet[26:] for packet in stage.nodes[1].packets()] == [b"first"]
    stage.world.start(stage.world.hosts[ONE])
    assert stage.world.hosts[ONE].node is not None, "the watcher was done"


def test_at_quiet_all_faults_end() -> None:
    stage = Stage(daemons=4)
    world = stage.world
    world.run(1_000)
    world.crash(world.hosts[ONE])
    world.crash(world.hosts[TWO])
    world.hosts[TWO].dead = True
    world.pause(world.hosts[DaemonId(3)])
    world.network.cut([[DaemonId(3)]])
    world.quiet()
    world.run(5_000)
    world.finish()
    assert not world.hosts[DaemonId(3)].held
    reached = {
        record.node: [member.daemon for member in record.members]
        for record in stage.kinds(Kind.REACH)
    }
    assert reached == {1: [1, 3, 4], 3: [1, 3, 4], 4: [1, 3, 4]}
    assert [record.time for record in stage.kinds(Kind.QUIET)] == [1_000]
    mine = next(record for record in stage.kinds(Kind.REACH) if record.node == 1)
    assert mine.incarnation == world.hosts[ONE].member.incarnation


def test_where_hearing_is_not_transitive_nothing_is_demanded() -> None:
    stage = Stage(daemons=5)
    world = stage.world
    world.network.break_for_ever(Ways(frozenset([ONE]), frozenset([TWO])))
    near, far = (frozenset(map(DaemonId, some)) for some in ((1, 2, 3), (4, 5)))
    world.network.break_for_ever(Ways(near, far))
    world.run(1_000)
    world.quiet()
    world.finish()
    assert {record.node for record in stage.kinds(Kind.REACH)} == {4, 5}


def test_a_world_ends_at_its_limit_of_events() -> None:
    stage = Stage()
    stage.world.events_max = 7
    stage.world.run(100 * PERIOD_US)
    assert stage.world.events == 7 and stage.world.now < 100 * PERIOD_US


def test_requests_of_a_session_come_in_order_also_to_a_paused_daemon() -> None:
    stage = Stage(period_us=0, sessions=1)
    world = stage.world
    world.run(0)
    session = world.session(ONE, 1)
    assert session is not None
    world.pause(world.hosts[ONE])
    session.join("orders")
    world.run(5_000)
    world.resume(world.hosts[ONE])
    session.disconnect()
    world.run(6_000)
    assert events(stage.nodes[0]) == [Connect(1, "s1"), Join(1, "orders"), Disconnect(1)]
    assert world.session(ONE, 1) is None


def test_a_node_without_deadline_is_left_alone() -> None:
    stage = Stage(period_us=0)
    stage.world.run(1_000_000)
    assert stage.world.events == 0
    assert stage.world.hosts[ONE].wake == NEVER


def test_a_world_of_many_sites_makes_only_the_links_that_are_used() -> None:
    """A thousand daemons have a million pairs; what is said of all of them makes none."""
    sites = [range(20 * at + 1, 20 * at + 21) for at in range(50)]
    stage = Stage(0, daemons=1_000, sites=sites)
    world = stage.world
    near = sum(len(host.link_to) for host in world.hosts.values())
    assert near == 50 * 20 * 19
    world.run(0)
    world._perform(world.hosts[ONE], [Send(DaemonId(999), b"far"), Send(DaemonId(1_001), b"?")])
    world.network.cut([sites[0]])
    world.network.heal()
    world.network.start_storm("duplicate", 1.0, Ways())
    assert sum(len(host.link_to) for host in world.hosts.values()) == near + 1
    world.run(30_000)
    assert [event.packet for event in events(stage.nodes[998])] == [b"far"]
