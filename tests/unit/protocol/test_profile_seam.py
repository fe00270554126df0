"""The seam where other profiles join in: a second machinery behind some group names.

The toy profile stores every message, and when the disk has it, tells it back to its sender; a
while later it says so again. It knows nothing of daemons, rings and views.
"""

from dataclasses import replace
from random import Random

from antiphon.core.bundle import CHANGE_BYTES
from antiphon.core.effects import (
    Ask,
    Closed,
    Connect,
    Disconnect,
    Drained,
    Ended,
    Flow,
    Join,
    Leave,
    Left,
    Message,
    Multicast,
    Notify,
    Opened,
    Persist,
    Persisted,
    Refused,
    Taken,
    Tell,
    View,
    Word,
)
from antiphon.core.ids import DaemonId, Incarnation, Member, SessionId
from antiphon.core.machine import NEVER, WAKEUP, Instant, Wakeup
from antiphon.core.service import Service
from antiphon.protocol.node import Node
from antiphon.protocol.presets import SIMULATION
from antiphon.wire.body import letters, pack_body

ECHO = "echo"
ME = Member(DaemonId(1), Incarnation(5))
AGAIN_US = 5_000
SETTINGS = replace(
    SIMULATION,
    daemons=(ME.daemon,),
    sessions=replace(SIMULATION.sessions, profiles=(("echo.*", ECHO),)),
)


class EchoProfile:
    """Takes `Ask`, `Persisted` and `Wakeup`; answers with `Persist`, `Tell` and `Taken`."""

    def __init__(self) -> None:
        self.asked: list[Opened | Ended | Join | Leave | Multicast] = []
        self._stored: dict[str, Multicast] = {}
        self._again: list[Multicast] = []
        self._due: Instant = NEVER

    def deadline(self) -> Instant:
        return self._due

    def handle(self, now: Instant, event: Word | Wakeup) -> list[Word]:
        match event:
            case Ask(_, Multicast() as multicast):
                self.asked.append(multicast)
                key = f"{ECHO}/{len(self.asked)}"
                self._stored[key] = multicast
                return [Persist(key, multicast.body), Taken(multicast.session, len(multicast.body))]
            case Ask(_, Join(session, group) as join):
                self.asked.append(join)
                return [Taken(session, CHANGE_BYTES)]
            case Ask(_, Leave(session, group) as leave):
                self.asked.append(leave)
                return [Tell(session, Left(group)), Taken(session, CHANGE_BYTES)]
            case Ask(_, request):
                self.asked.append(request)
                return []
            case Persisted(key):
                multicast = self._stored.pop(key)
                self._again.append(multicast)
                self._due = now + AGAIN_US
                return [self._echo(multicast)]
            case Wakeup():
                again, self._again = self._again, []
                self._due = NEVER
                return [self._echo(multicast) for multicast in again]
        raise AssertionError(event)

    def _echo(self, multicast: Multicast) -> Tell:
        origin = SessionId(*ME, multicast.session)
        message = Message(origin, 1, multicast.count, multicast.service, multicast.body, False)
        return Tell(multicast.session, message)


class Daemon:
    """A node with both profiles, and one client."""

    def __init__(self) -> None:
        self.echo = EchoProfile()
        self.node = Node(ME, SETTINGS, Random(1), {ECHO: self.echo})
        self.now = 1_000
        self.node.start(self.now)
        self.tell(Connect(1, "anna"))

    def tell(self, event: Word | Wakeup) -> list[Word]:
        self.now += 1
        return self.node.handle(self.now, event)

    def send(self, *groups: str, payload: bytes = b"hello") -> list[Word]:
        body = pack_body((groups,), (0,), (0,), (payload,), "anna")
        return self.tell(Multicast(1, Service.AGREED, 1, body))


def news(effects: list[Word], kind: type) -> list[object]:
    return [
        effect.news
        for effect in effects
        if isinstance(effect, Notify) and isinstance(effect.news, kind)
    ]


def payloads(told: list[object]) -> list[bytes]:
    return [one.payload for news in told if isinstance(news, Message) for one in letters(news)]


def test_everything_about_its_groups_reaches_the_profile() -> None:
    """Join, leave, multicast, and the beginning and end of every session."""
    daemon = Daemon()
    daemon.tell(Join(1, "echo.a"))
    daemon.send("echo.a")
    daemon.tell(Leave(1, "echo.a"))
    daemon.tell(Disconnect(1))
    body = pack_body((("echo.a",),), (0,), (0,), (b"hello",), "anna")
    assert daemon.echo.asked == [
        Opened(1, "anna", 0, True),
        Join(1, "echo.a"),
        Multicast(1, Service.AGREED, 1, body),
        Leave(1, "echo.a"),
        Ended(1),
    ]


def test_nothing_about_other_groups_reaches_it() -> None:
    daemon = Daemon()
    joined = daemon.tell(Join(1, "alpha"))
    sent = daemon.send("alpha")
    assert daemon.echo.asked == [Opened(1, "anna", 0, True)]
    assert len(news(joined + sent, View)) == 1
    assert payloads(news(sent, Message)) == [b"hello"]


def test_nothing_about_its_groups_reaches_the_strong_profile() -> None:
    daemon = Daemon()
    effects = daemon.tell(Join(1, "echo.a")) + daemon.send("echo.a")
    assert news(effects, View) == []
    assert news(effects, Message) == []
    assert daemon.node.groups._directory.groups == {}


def test_what_it_stores_leaves_the_node_and_comes_back_to_it_alone() -> None:
    daemon = Daemon()
    effects = daemon.send("echo.a")
    stored = [effect for effect in effects if isinstance(effect, Persist)]
    assert [one.key for one in stored] == ["echo/2"]
    assert stored[0].data == pack_body((("echo.a",),), (0,), (0,), (b"hello",), "anna")
    told = news(daemon.tell(Persisted("echo/2")), Message)
    assert payloads(told) == [b"hello"]


def test_its_deadlines_are_the_nodes() -> None:
    daemon = Daemon()
    daemon.send("echo.a")
    daemon.tell(Persisted("echo/2"))
    assert daemon.node.deadline() <= daemon.now + AGAIN_US
    told: list[object] = []
    while daemon.now < 1_000 + 2 * AGAIN_US:
        daemon.now = max(daemon.now, daemon.node.deadline())
        told += news(daemon.node.handle(daemon.now, WAKEUP), Message)
    assert len(told) == 1


def test_its_groups_and_others_do_not_go_into_one_message() -> None:
    daemon = Daemon()
    refused = news(daemon.send("echo.a", "alpha"), Refused)
    assert [one.code for one in refused if isinstance(one, Refused)] == ["bad_group"]
    assert daemon.echo.asked == [Opened(1, "anna", 0, True)]


def test_a_profile_that_takes_what_was_sent_keeps_the_flow_open() -> None:
    """P4: the queue of a session is counted whatever the profile: what it is asked, messages
    and changes, it says when it has taken."""
    daemon = Daemon()
    effects: list[Word] = []
    for _ in range(40):
        effects += daemon.send("echo.a", payload=bytes(100_000))
    for _ in range(2_000):
        effects += daemon.tell(Join(1, "echo.a")) + daemon.tell(Leave(1, "echo.a"))
        daemon.tell(Drained(1, 1))
    assert news(effects, Flow) == []
    assert news(effects, Refused) == []
    assert len(news(effects, Left)) == 2_000


def test_the_end_of_a_session_is_told_to_its_client_whatever_the_profile() -> None:
    daemon = Daemon()
    daemon.tell(Join(1, "echo.a"))
    effects = daemon.tell(Disconnect(1))
    assert news(effects, Closed) == [Closed("client")]
