"""Scripts carried out: every verb does what it says."""

import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import antiphon
from antiphon.core.effects import (
    Connect,
    Disconnect,
    Drained,
    Join,
    Leave,
    Multicast,
    Received,
    Send,
)
from antiphon.core.ids import DaemonId, Member
from antiphon.core.machine import WAKEUP
from antiphon.core.service import Service
from antiphon.core.trace import Kind, Record
from antiphon.sim.faults import Run, digest, run
from antiphon.sim.script import parse_script
from antiphon.wire.body import read_body
from antiphon.wire.packet import Tag
from tests.unit.sim.fakes import FakeNode

STEADY = "network latency=200us jitter=0us\n"


class Stage:
    """A script played with fake nodes, which say hello every 10 ms."""

    def __init__(self, text: str, **options: Any) -> None:
        self.nodes: list[FakeNode] = []
        self.run: Run = run(parse_script(STEADY + text), self.make, **options)

    def make(self, member: Member, rng: Random) -> FakeNode:
        self.nodes.append(FakeNode(member, rng))
        return self.nodes[-1]

    def times(self, daemon: int, kind: type = Received) -> list[int]:
        """When events of this kind came to the daemon, in whole milliseconds."""
        offset = self.run.world.hosts[DaemonId(daemon)].offset
        return [
            (at - offset) // 1_000
            for node in self.nodes
            if node.member.daemon == daemon
            for at, event in node.seen
            if type(event) is kind
        ]

    def rows(self, kind: Kind) -> list[Record]:
        return [record for record in self.run.records if record.kind == kind]


def test_without_faults_everybody_hears_everybody() -> None:
    stage = Stage("daemons 2\nuntil 35ms")
    assert stage.times(1) == stage.times(2) == [10, 20, 30]


def test_a_cut_is_between_its_times_and_recorded() -> None:
    stage = Stage("daemons 2\nat 15ms cut 1 | 2\nat 35ms heal\nuntil 55ms")
    assert stage.times(2) == [10, 40, 50]
    assert [(row.time, row.reason) for row in stage.rows(Kind.FAULT)] == [
        (15_000, "at 15ms cut 1 | 2"),
        (35_000, "at 35ms heal"),
    ]


def test_a_one_way_cut_and_a_broken_link() -> None:
    stage = Stage("daemons 2\nat 15ms oneway 1 > 2\nat 35ms heal\nuntil 55ms")
    assert (stage.times(1), stage.times(2)) == ([10, 20, 30, 40, 50], [10, 40, 50])
    stage = Stage("daemons 2\nat 15ms break 1 - 2\nat 35ms heal\nquiet 36ms\nuntil 55ms")
    assert stage.times(1) == stage.times(2) == [10]
    assert [len(row.members) for row in stage.rows(Kind.REACH)] == [1, 1]


def test_crash_restart_and_dead() -> None:
    stage = Stage(
        "daemons 3\nat 5ms crash 1\nat 15ms restart 1\nat 26ms dead 1\nat 30ms restart 1\n"
        "at 31ms crash 2\nquiet 40ms\nuntil 70ms"
    )
    assert stage.times(2)[:4] == [10, 20, 25, 30]
    assert [row.node for row in stage.rows(Kind.STOP)] == [1, 1, 2]
    assert [row.time for row in stage.rows(Kind.START)] == [0, 0, 0, 15_000, 40_000]
    assert [row.node for row in stage.rows(Kind.REACH)] == [2, 3]


def test_one_that_stops_has_a_last_word() -> None:
    stage = Stage("daemons 2\nat 15ms stop 1\nat 17ms stop 1\nat 25ms restart 1\nuntil 36ms")
    assert stage.times(2) == [10, 15, 35]
    assert [(row.node, row.reason) for row in stage.rows(Kind.STOP)] == [(1, "stopped")]


def test_a_pause_delays_what_came() -> None:
    stage = Stage("daemons 2\nat 5ms pause 2 20ms\nuntil 35ms")
    assert stage.times(2) == [25, 25, 30]
    assert stage.times(1) == [25], "it spoke late, too"


def test_a_pause_ends_with_the_life_of_the_node() -> None:
    stage = Stage(
        "daemons 2\nat 5ms pause 2 30ms\nat 10ms crash 2\nat 11ms restart 2\n"
        "at 12ms pause 2 50ms\nuntil 60ms"
    )
    assert stage.times(2) == [], "the resume of the first pause is not for the second life"


def test_pauses_that_overlap_are_one() -> None:
    stage = Stage("daemons 2\nat 5ms pause 2 20ms\nat 8ms pause 2 2ms\nuntil 35ms")
    assert stage.times(2) == [25, 25, 30]


def test_storms_end() -> None:
    stage = Stage("daemons 2\nat 15ms loss 1.0 20ms\nuntil 55ms")
    assert stage.times(2) == [10, 40, 50]
    stage = Stage("daemons 2\nat 15ms delay +7ms 20ms 1 > 2\nuntil 55ms")
    assert (stage.times(1), stage.times(2)) == ([10, 20, 30, 40, 50], [10, 27, 37, 40, 50])
    stage = Stage("daemons 2\nat 15ms duplicate 1.0 10ms\nuntil 35ms")
    assert len(stage.times(2)) == 4


def test_drop_takes_the_next_or_all_until() -> None:
    stage = Stage("daemons 3\nat 15ms drop hello 1 > 2 x2\nuntil 55ms")
    assert (stage.times(2).count(20), stage.times(2).count(30)) == (1, 1)
    assert stage.times(2).count(40) == 2
    stage = Stage("daemons 3\nat 15ms drop hello * > 2 until 45ms\nuntil 55ms")
    assert stage.times(2) == [10, 10, 50, 50]
    stage = Stage("daemons 2\nat 15ms drop token * > 2 until 45ms\nuntil 55ms")
    assert stage.times(2) == [10, 20, 30, 40, 50]


def test_domains_hold_back_multicast() -> None:
    stage = Stage("daemons 3\nat 15ms domains 1 2 | 3\nat 25ms heal\nuntil 35ms")
    assert stage.times(3) == [10, 10, 30, 30]


SITES = "daemons 5\nsites 1 2 | 3 4 | 5\nwan * - * latency=2ms jitter=0s\n"


class Speakers(Stage):
    """Everybody says hello to its site and, one by one, to all others."""

    def make(self, member: Member, rng: Random) -> FakeNode:
        node = super().make(member, rng)

        def speak(now: int, event: Any) -> list[Any]:
            node.next = now + node.period_us
            hello = node.packet(Tag.HELLO, bytes([member.daemon]))
            return [Send(DaemonId(other), hello) for other in range(1, 6)]

        node.answers[type(WAKEUP)] = speak
        return node

    def heard(self, daemon: int, first: int, last: int) -> set[int]:
        """Whom it heard between these milliseconds."""
        offset = self.run.world.hosts[DaemonId(daemon)].offset
        return {
            event.packet[-1]
            for node in self.nodes
            if node.member.daemon == daemon
            for at, event in node.seen
            if type(event) is Received and first <= (at - offset) / 1_000 < last
        } - {daemon}


def test_a_multicast_stays_in_its_site() -> None:
    """SP-12."""
    stage = Stage(SITES + "until 15ms")
    assert [len(stage.times(daemon)) for daemon in range(1, 6)] == [1, 1, 1, 1, 0]


def test_a_pair_of_sites_is_cut_in_one_direction_or_both_and_healed() -> None:
    stage = Speakers(
        SITES + "at 15ms oneway site1 > site2\nat 15ms oneway site2 - site3\n"
        "at 35ms heal site1 > site2\nat 55ms heal\nuntil 79ms"
    )
    assert stage.heard(3, 0, 15) == {1, 2, 4, 5}
    assert (stage.heard(3, 15, 35), stage.heard(1, 15, 35)) == ({4}, {2, 3, 4, 5})
    assert stage.heard(5, 15, 35) == {1, 2}, "both still reach the third"
    assert (stage.heard(3, 35, 55), stage.heard(5, 35, 55)) == ({1, 2, 4}, {1, 2})
    assert stage.heard(5, 55, 79) == {1, 2, 3, 4}


def test_a_site_alone() -> None:
    stage = Speakers(SITES + "at 15ms cut site2\nat 35ms heal\nuntil 55ms")
    assert [stage.heard(daemon, 15, 35) for daemon in (1, 3, 5)] == [{2, 5}, {4}, {1, 2}]
    assert stage.heard(3, 40, 55) == {1, 2, 4, 5}


def test_a_whole_site_crashes_and_comes_back() -> None:
    stage = Stage(SITES + "at 5ms crash site2\nat 8ms restart site2\nuntil 10ms")
    assert [(row.time, row.node) for row in stage.rows(Kind.STOP)] == [(5_000, 3), (5_000, 4)]
    started = [(row.time, row.node) for row in stage.rows(Kind.START)]
    assert started[5:] == [(8_000, 3), (8_000, 4)]


def test_whoever_leads_crashes_or_stands_still() -> None:
    stage = Stage(
        SITES + "at 5ms crash lead1\nat 6ms crash lead1\nat 7ms crash lead1\n"
        "at 8ms restart site1\nat 9ms pause lead2 20ms\nuntil 25ms"
    )
    assert [row.node for row in stage.rows(Kind.STOP)] == [1, 2]
    told = [row.detail for row in stage.rows(Kind.FAULT)]
    assert told == ["lead1=1", "lead1=2", "lead1=none", "", "lead2=3"]
    assert stage.times(1) == stage.times(2) == [18]
    assert (stage.times(3), stage.times(4)) == ([], [])


def test_a_trigger_by_role_waits_for_who_leads() -> None:
    """SP-13: it is the lowest that runs at that time, not the lowest there is."""
    text = SITES + "at 5ms crash 3\nat 6ms when lead2 enters gather crash lead2\n"
    stage = Stage(text + "at 7ms crash 4\nat 8ms restart 4\nat 9ms restart 4\nuntil 10ms")
    assert [(row.time, row.node) for row in stage.rows(Kind.STOP)] == [
        (5_000, 3),
        (7_000, 4),
        (8_000, 4),
    ]
    stage = Stage(
        SITES + "at 1ms crash 4\nat 2ms when lead2 enters gather crash 3\n"
        "at 3ms restart 4\nuntil 5ms"
    )
    assert [row.node for row in stage.rows(Kind.STOP)] == [4], "3 runs, so 4 does not lead"


def test_a_trigger_at_a_site_waits_for_any_of_it() -> None:
    text = SITES + "at 1ms when site2 enters gather crash 1\nat 2ms crash 2\nat 3ms restart 2\n"
    assert [row.node for row in Stage(text + "until 9ms").rows(Kind.STOP)] == [2]
    both = Stage(text + "at 4ms crash 4\nat 5ms restart 4\nuntil 9ms")
    assert [row.node for row in both.rows(Kind.STOP)] == [2, 4, 1]


def test_an_edge_can_be_slow_or_lossy() -> None:
    stage = Speakers(
        SITES + "at 15ms delay +7ms 20ms site1 > site2\nat 15ms loss 1.0 20ms site3 - site2\n"
        "until 49ms"
    )
    assert stage.heard(3, 15, 28) == {4}
    assert stage.heard(3, 28, 31) == {1, 2, 4}
    assert stage.heard(5, 15, 35) == {1, 2} and stage.heard(1, 15, 25) == {2, 3, 4, 5}
    assert stage.heard(5, 40, 49) == {1, 2, 3, 4}


def reaches(stage: Stage) -> list[tuple[int, ...]]:
    return sorted({tuple(one.daemon for one in row.members) for row in stage.rows(Kind.REACH)})


def test_sites_that_a_third_one_joins_must_come_together() -> None:
    """X-01: a pair of sites that cannot talk excludes nobody while there is another way."""
    end = "quiet 5ms\nuntil 9ms"
    assert reaches(Stage(SITES + end)) == [(1, 2, 3, 4, 5)]
    assert reaches(Stage(SITES + "at 1ms break site1 - site2\n" + end)) == [(1, 2, 3, 4, 5)]
    assert reaches(Stage(SITES + "at 1ms break site1 > site2\n" + end)) == [(1, 2, 3, 4, 5)]
    alone = SITES + "at 1ms break site3 > site2\nat 1ms break site1 - site3\n"
    assert reaches(Stage(alone + end)) == [(1, 2, 3, 4), (5,)]


def test_only_who_leads_makes_an_edge() -> None:
    end = "quiet 5ms\nuntil 9ms"
    lost = "at 1ms break 2 - site2\nat 1ms break 2 - 5\n"
    assert reaches(Stage(SITES + lost + end)) == [(1, 2, 3, 4, 5)]
    apart = "at 1ms break 1 - site2\nat 1ms break 1 - 5\n"
    assert reaches(Stage(SITES + apart + end)) == [(1, 2), (3, 4, 5)]
    assert reaches(Stage(SITES + apart + "at 2ms dead 1\n" + end)) == [(2, 3, 4, 5)]


def test_a_site_torn_apart_counts_as_several_and_owes_nothing_where_it_hangs_together() -> None:
    end = "quiet 5ms\nuntil 9ms"
    assert reaches(Stage(SITES + "at 1ms break 1 - 2\n" + end)) == [(1, 2, 3, 4, 5)]
    three = "daemons 4\nsites 1 2 3 | 4\nat 1ms break 1 - 3\n"
    assert reaches(Stage(three + end)) == []


def test_clocks() -> None:
    stage = Stage("daemons 1\nat 5ms clock 1 -2s\nat 5ms crash 1\nat 5ms restart 1\nuntil 9ms")
    first, second = (row.incarnation >> 20 for row in stage.rows(Kind.START))
    assert second - first == 5 - 2_000
    stage = Stage("daemons 2\nat 5ms jump 1 +3ms\nuntil 12ms")
    assert stage.times(2) == [7]


def test_a_slow_host() -> None:
    stage = Stage("daemons 3\nat 5ms slow 1 6ms\nuntil 19ms")
    assert [len(stage.times(daemon)) for daemon in (1, 2)] == [1, 2]


def test_injected_packets_arrive_and_are_not_of_us() -> None:
    for junk in ("garbage", "other-cluster", "other-version", "old"):
        stage = Stage(f"daemons 2\nat 15ms inject {junk} 1 > 2 x3\nuntil 19ms")
        packets = stage.nodes[1].packets()
        assert len(packets) == 4 and len(stage.nodes[0].packets()) == 1
        assert (packets[1] == packets[0]) == (junk == "old")
    stage = Stage("daemons 2\nat 1ms inject garbage 1 > 2\nuntil 9ms")
    assert stage.times(2) == [], "nothing was heard yet that could be imitated"


def test_one_packet_lost_for_ever() -> None:
    class Repeater(FakeNode):
        """Sends its second packet again and again, as a retransmission would be."""

        def handle(self, now: int, event: Any) -> list[Any]:
            super().handle(now, event)
            if event is not WAKEUP:
                return []
            body = bytes(28) + self.said.to_bytes(8, "big") + min(self.said, 2).to_bytes(8, "big")
            return [Send(DaemonId(2), self.packet(Tag.DATA, body + b"p"))]

    nodes: list[Repeater] = []

    def make(member: Member, rng: Random) -> Repeater:
        nodes.append(Repeater(member, rng, period_us=0 if member.daemon == 2 else 10_000))
        return nodes[-1]

    text = "daemons 2\nat 15ms lose-forever 1 > 2\nquiet 45ms\nuntil 95ms"
    run(parse_script(STEADY + text), make)
    assert [int.from_bytes(packet[62:70], "big") for packet in nodes[1].packets()] == [1]


def test_a_trigger_fires_once_when_armed() -> None:
    text = "daemons 2\nat 5ms when 1 enters gather crash 2\nat 10ms crash 1\nat 11ms restart 1\n"
    stage = Stage(text + "at 12ms restart 2\nat 20ms crash 1\nat 21ms restart 1\nuntil 30ms")
    assert [(row.time, row.node) for row in stage.rows(Kind.STOP)] == [
        (10_000, 1),
        (11_000, 2),
        (20_000, 1),
    ]


def test_what_is_to_happen_at_once_meets_the_first_packet() -> None:
    stage = Stage("daemons 2\nat 0s oneway 1 > 2\nat 0s crash 2\nat 5ms restart 2\nuntil 19ms")
    assert (stage.times(1), stage.times(2)) == ([15], [])
    assert [row.time for row in stage.rows(Kind.START)] == [0, 0, 5_000]


def test_a_trigger_with_delay_and_other_host_or_reason() -> None:
    stage = Stage("daemons 2\nwhen 2 enters gather after 3ms crash 1\nuntil 5ms")
    assert [(row.time, row.node) for row in stage.rows(Kind.STOP)] == [(3_000, 1)]
    stage = Stage("daemons 2\nwhen 2 enters recover crash 1\nwhen 1 install crash 1\nuntil 5ms")
    assert stage.rows(Kind.STOP) == []
    stage = Stage("daemons 2\nwhen 2 enters gather after 3ms crash 1\nquiet 2ms\nuntil 5ms")
    assert stage.rows(Kind.STOP) == [], "faults are over"


def test_sessions_do_what_the_script_says() -> None:
    stage = Stage(
        "daemons 1\nsessions 2\nat 1ms join 1.2 a,b\nat 2ms send 1.1 a,b safe hi x2\n"
        "at 3ms send 1.1 a fifo big size 5000\nat 4ms leave 1.2 a\nat 5ms disconnect 1.1\n"
        "at 6ms send 1.1 a fifo gone\nat 7ms reconnect 1.1\nat 8ms stall 1.1\nuntil 19ms"
    )
    asked = [event for _, event in stage.nodes[0].seen if type(event) is not Drained]
    kinds = [Connect, Connect, Join, Join, Multicast, Multicast, Multicast]
    assert [type(event) for event in asked][:-1] == [*kinds, Leave, Disconnect, Connect]
    assert asked[2:4] == [Join(2, "a"), Join(2, "b")]
    bodies = [read_body(event.body, 1) for event in asked[4:7]]
    assert [body.payloads[0].rstrip() for body in bodies] == [b"hi1", b"hi2", b"big"]
    assert (bodies[0].table, asked[4].service) == ((("a", "b"),), Service.SAFE)
    assert len(bodies[2].payloads[0]) == 5_000
    assert asked[9].session == 3
    assert stage.rows(Kind.FAULT) == []


def test_a_run_that_takes_too_long_is_ended_and_nothing_is_demanded() -> None:
    stage = Stage("daemons 2\nquiet 1ms\nuntil 10s", events_max=50)
    assert stage.run.exhausted and stage.run.events == 50
    assert stage.rows(Kind.REACH) == []


NOISY = """
seed 3
daemons 4
sessions 2
network loss=0.1 duplicate=0.1 reorder=0.1 corrupt=0.05 bandwidth=10mbit
workload rate=40 until=1s
at 200ms cut 1 2 | 3 4
at 300ms crash 1
at 400ms heal
at 500ms loss 0.5 100ms
quiet 1s
until 2s
"""


def noisy_digest(seed: int = 3) -> str:
    script = parse_script(NOISY.replace("seed 3", f"seed {seed}"))
    return run(script, lambda member, rng: FakeNode(member, rng)).digest()


def test_the_same_seed_gives_the_same_run_under_any_hash_seed() -> None:
    here = noisy_digest()
    assert here != noisy_digest(seed=4)
    code = "from tests.unit.sim.test_faults import noisy_digest; print(noisy_digest())"
    root = Path(__file__).parents[3]
    path = os.pathsep.join([str(Path(antiphon.__file__).parents[1]), str(root)])
    for hash_seed in ("0", "4711"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path}
        there = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert there.stdout.strip() == here


def test_a_digest_depends_on_every_record() -> None:
    rows = [Record(Kind.QUIET, time, DaemonId(0)) for time in range(3)]
    assert digest(rows) != digest(rows[:2])
