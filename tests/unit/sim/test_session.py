"""Simulated applications: what they are told, what they may ask, what waits."""

from random import Random
from typing import Any

from antiphon.core.effects import (
    Closed,
    Connect,
    Disconnect,
    Drained,
    Flow,
    Join,
    Left,
    Message,
    Multicast,
    Notify,
)
from antiphon.core.ids import DaemonId
from antiphon.core.service import Service
from antiphon.sim.session import DRAIN_BATCH, DRAIN_IDLE_US, Listener, News, Session
from antiphon.sim.world import World
from antiphon.wire.body import letters, read_body
from tests.unit.sim.fakes import FakeNode

ONE = DaemonId(1)


class Noter(Listener):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.news: list[News] = []
        self.starts: list[int] = []
        self.timers: list[int] = []

    def on_start(self, session: Session) -> None:
        self.starts.append(session.number)

    def on_news(self, session: Session, news: News) -> None:
        self.news.append(news)

    def on_timer(self, session: Session) -> None:
        self.timers.append(session.now)


class Stage:
    """One daemon, one application."""

    def __init__(self) -> None:
        self.app = Noter()
        self.nodes: list[FakeNode] = []
        self.world = World(self.make, daemons=1, sessions=1, make_app=lambda *_: self.app)
        self.world.run(100)
        self.nodes[0].seen.clear()

    def make(self, member: Any, rng: Random) -> FakeNode:
        self.nodes.append(FakeNode(member, rng, period_us=0))
        return self.nodes[-1]

    @property
    def session(self) -> Session:
        found = self.world.session(ONE, 1)
        assert found is not None
        return found

    def tell(self, *news: News) -> None:
        host = self.world.hosts[ONE]
        self.world._perform(host, [Notify(self.session.number, each) for each in news])

    def asked(self) -> list[Any]:
        return [event for _, event in self.nodes[-1].seen]


def test_news_reaches_the_application_and_drains_in_batches() -> None:
    stage = Stage()
    stage.tell(*[Left("g")] * (DRAIN_BATCH + 3))
    stage.world.run(1_000)
    assert len(stage.app.news) == DRAIN_BATCH + 3
    assert stage.asked() == [Drained(1, DRAIN_BATCH)]
    stage.world.run(1_000 + DRAIN_IDLE_US)
    assert stage.asked() == [Drained(1, DRAIN_BATCH), Drained(1, 3)]
    stage.world.run(10 * DRAIN_IDLE_US)
    assert len(stage.asked()) == 2


def test_requests_wait_while_the_flow_is_closed() -> None:
    stage = Stage()
    stage.tell(Flow(open=False))
    stage.session.multicast(("g",), Service.AGREED, b"1")
    stage.session.join("h")
    stage.world.run(10_000)
    assert stage.asked() == [] and not stage.session.open
    stage.tell(Flow(open=True))
    stage.session.multicast(("g",), Service.AGREED, b"2")
    stage.world.run(20_000)
    sent = [type(event) for event in stage.asked()]
    assert sent[:3] == [Multicast, Join, Multicast]


def test_a_bundle_has_a_table_of_its_destinations() -> None:
    stage = Stage()
    stage.session.multicast_bundle(
        Service.SAFE, [(("a",), b"1", 0), (("b", "c"), b"2", 5), (("a",), b"3", 0)], True
    )
    stage.world.run(1_000)
    asked = stage.asked()[0]
    assert (asked.count, asked.service, asked.self_discard) == (3, Service.SAFE, True)
    body = read_body(asked.body, 3)
    assert (body.table, body.destinations) == ((("a",), ("b", "c")), (0, 1, 0))
    assert (body.kinds, body.payloads) == ((0, 5, 0), (b"1", b"2", b"3"))
    assert stage.world.messages == 3
    message = stage.app.news[0]
    assert isinstance(message, Message)
    assert [letter.payload for letter in letters(message)] == [b"1", b"2", b"3"]


def test_a_stalled_application_takes_nothing_more() -> None:
    stage = Stage()
    stage.session.stall()
    stage.tell(*[Left("g")] * 20)
    stage.world.run(100_000)
    assert (stage.app.news, stage.asked()) == ([], [])


def test_a_slow_application_takes_one_after_another() -> None:
    stage = Stage()
    stage.session.lag_us = 1_000
    stage.tell(*[Left("g")] * 3)
    stage.world.run(2_500)
    assert len(stage.app.news) == 2
    stage.world.run(5_000)
    assert len(stage.app.news) == 3


def test_after_disconnect_another_session_has_another_number() -> None:
    stage = Stage()
    first = stage.session
    first.disconnect()
    first.disconnect()
    first.join("g")
    first.reconnect(1_000)
    first.after(100)
    stage.world.run(5_000)
    assert stage.asked() == [Disconnect(1), Connect(2, "s2")]
    assert (stage.app.starts, stage.app.timers) == ([1, 2], [])


def test_an_application_that_is_cut_off_is_told_why() -> None:
    stage = Stage()
    stage.tell(Closed("too_slow"), Left("g"))
    stage.world.run(5_000)
    assert stage.app.news == [Closed("too_slow")]
    assert stage.world.session(ONE, 1) is None


def test_applications_outlive_their_daemon() -> None:
    stage = Stage()
    lost = stage.session
    stage.world.crash(stage.world.hosts[ONE])
    assert stage.app.news == [Closed("daemon_stopped")]
    lost.join("g")
    stage.world.start(stage.world.hosts[ONE])
    lost.reconnect(0)
    stage.world.run(5_000)
    assert stage.asked() == [Connect(1, "s1")]
    assert stage.app.starts == [1, 1]


def test_a_timer_comes_after_its_delay() -> None:
    stage = Stage()
    stage.session.after(700)
    stage.world.run(5_000)
    assert stage.app.timers == [800]
