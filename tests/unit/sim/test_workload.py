"""The random application does everything a client may do, and the same for the same seed."""

from collections import Counter
from random import Random

from antiphon.core.effects import Closed, Connect, Disconnect, Flow, Join, Leave, Multicast, Notify
from antiphon.core.ids import PRIVATE_MARK, DaemonId, Member
from antiphon.core.machine import SECOND
from antiphon.core.service import Service
from antiphon.sim.workload import REPLY_DEPTH_MAX, WorkloadSettings, make_random_app
from antiphon.sim.world import World
from antiphon.wire.body import Body, read_body
from tests.unit.sim.fakes import FakeNode

ONE = DaemonId(1)


class Stage:
    def __init__(self, settings: WorkloadSettings, seed: int = 1) -> None:
        self.nodes: list[FakeNode] = []
        self.world = World(
            self.make,
            seed=seed,
            daemons=2,
            sessions=2,
            make_app=make_random_app(settings, daemons=2, sessions=2),
        )

    def make(self, member: Member, rng: Random) -> FakeNode:
        self.nodes.append(FakeNode(member, rng, period_us=0))
        return self.nodes[-1]

    def asked(self, kind: type) -> list[tuple[int, object]]:
        """What applications asked of the first daemon, with the time."""
        offset = self.world.hosts[ONE].offset
        return [(at - offset, event) for at, event in self.nodes[0].seen if type(event) is kind]

    def bodies(self) -> list[Body]:
        return [read_body(sent.body, sent.count) for _, sent in self.asked(Multicast)]


def test_everything_happens() -> None:
    stage = Stage(WorkloadSettings(rate=200, churn=0.3, large=0.05, replies=0.2))
    stage.world.run(20 * SECOND)
    sent = [event for _, event in stage.asked(Multicast)]
    assert {event.service for event in sent} == set(Service)
    assert {event.self_discard for event in sent} == {False, True}
    assert max(event.count for event in sent) > 3
    bodies = stage.bodies()
    groups = [destination for body in bodies for destination in body.table]
    assert {len(destination) for destination in groups} >= {1, 2, 3}
    assert any(destination[0].startswith(PRIVATE_MARK) for destination in groups)
    payloads = [payload for body in bodies for payload in body.payloads]
    assert max(map(len, payloads)) > 10_000 and min(map(len, payloads)) < 50
    assert len(set(payloads)) == len(payloads), "no two are alike"
    depths = Counter(kind for body in bodies for kind in body.kinds)
    assert set(depths) == set(range(REPLY_DEPTH_MAX + 1))
    for kind in (Join, Leave, Disconnect):
        assert len(stage.asked(kind)) > 5
    assert len(stage.asked(Connect)) > len(stage.asked(Disconnect))


def test_the_rate_is_that_of_the_daemon() -> None:
    stage = Stage(WorkloadSettings(rate=50, churn=0.0, replies=0.0))
    stage.world.run(20 * SECOND)
    assert 800 < len(stage.asked(Multicast)) < 1200


def test_it_stops_when_told() -> None:
    stage = Stage(WorkloadSettings(rate=50, until_us=2 * SECOND))
    stage.world.run(20 * SECOND)
    last = max(at for at, _ in stage.asked(Multicast))
    assert 1.5 * SECOND < last < 2.1 * SECOND


def test_it_sends_nothing_new_while_the_flow_is_closed() -> None:
    stage = Stage(WorkloadSettings(rate=50, churn=0.0))
    stage.world.run(SECOND)
    host = stage.world.hosts[ONE]
    for number in (1, 2):
        stage.world._perform(host, [Notify(number, Flow(open=False))])
    before = stage.world.messages
    count = len(stage.asked(Multicast))
    stage.world.run(3 * SECOND)
    assert len(stage.asked(Multicast)) == count
    for number in (1, 2):
        stage.world._perform(host, [Notify(number, Flow(open=True))])
    stage.world.run(3 * SECOND + 1_000)
    assert len(stage.asked(Multicast)) <= count + 1, "nothing was piled up meanwhile"
    stage.world.run(4 * SECOND)
    assert len(stage.asked(Multicast)) > count + 10
    assert stage.world.messages > before


def test_one_that_is_cut_off_comes_back() -> None:
    stage = Stage(WorkloadSettings(rate=5, churn=0.0))
    stage.world.run(SECOND)
    stage.world._perform(stage.world.hosts[ONE], [Notify(1, Closed("too_slow"))])
    stage.world.run(2 * SECOND)
    assert [event.session for _, event in stage.asked(Connect)] == [1, 2, 3]


def test_the_same_seed_asks_the_same_and_another_does_not() -> None:
    def bodies(seed: int) -> list[bytes]:
        stage = Stage(WorkloadSettings(rate=50), seed)
        stage.world.run(2 * SECOND)
        return [event.body for _, event in stage.asked(Multicast)]

    assert bodies(1) == bodies(1) != bodies(2)
