"""The built-in random application: everything a client may do, drawn from a seed."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from antiphon.core.effects import Closed, Message
from antiphon.core.ids import DaemonId, GroupName, private_group
from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.core.service import Service
from antiphon.sim.session import App, News, Session
from antiphon.wire.body import letters

REPLY_DEPTH_MAX = 3
"""A reply carries its depth as its kind: chains of cause and effect, but short ones."""

LARGE_MAX = 40_000
FILLER = b"".join(b"%07d " % place for place in range(LARGE_MAX // 8))
"""Tells its own place, so that a part at the wrong place shows."""

KEYS_AGAIN = 5
"""So many keyed messages are sent again by a new session."""

TABLES = 0.3
"""Part of the sessions that begin with a table of all groups."""

TABLES_GROW = 0.02
"""Chance that one more destination is defined when something is sent."""

RECONNECT_US = 50 * MILLISECOND


@dataclass(frozen=True, slots=True)
class WorkloadSettings:
    """What the applications of one daemon do together."""

    rate: float = 10.0
    """Actions in a second at each daemon."""

    until_us: int = 1 << 62
    groups: int = 4
    replies: float = 0.05
    """Chance that a message is answered by one who receives it."""

    large: float = 0.01
    """Chance that a message has many kilobytes."""

    churn: float = 0.15
    """Part of the actions that are joins, leaves, pauses and disconnects."""

    slow: float = 0.0
    """Chance that an application takes its time with what it receives."""

    keyed: float = 0.0
    """Chance that what is sent is keyed. The producer is the slot: applications of the same slot
    send the same keys, and after each break some of them again."""


def make_random_app(
    settings: WorkloadSettings, daemons: int, sessions: int
) -> Callable[[DaemonId, int, Random], App]:
    """The `make_app` of a world with so many daemons and so many sessions at each."""

    def make(daemon: DaemonId, slot: int, rng: Random) -> App:
        return RandomApp(settings, daemons, sessions, rng, f"p{slot}")

    return make


class RandomApp:
    """Joins, leaves, multicasts with every service, replies, pauses, comes and goes."""

    def __init__(
        self,
        settings: WorkloadSettings,
        daemons: int,
        sessions: int,
        rng: Random,
        producer: str = "p",
    ) -> None:
        self._settings = settings
        self._daemons = daemons
        self._sessions = sessions
        self._rng = rng
        self._mean_gap_us = sessions * SECOND / settings.rate
        self._groups = tuple(f"g{index}" for index in range(1, settings.groups + 1))
        self._joined: set[GroupName] = set()
        self._sent = 0
        self._producer = producer
        self._key = 0

    def on_start(self, session: Session) -> None:
        self._joined.clear()
        self._key = max(0, self._key - KEYS_AGAIN)
        if self._settings.slow and self._rng.random() < self._settings.slow:
            session.lag_us = self._rng.randrange(5 * MILLISECOND)
        self._join(session)
        if self._rng.random() < TABLES:
            session.define(*[(group,) for group in self._groups])
        session.after(self._gap())

    def on_news(self, session: Session, news: News) -> None:
        if type(news) is Closed:
            session.reconnect(RECONNECT_US)
        elif type(news) is Message and self._wants_to_reply(session, news):
            first = letters(news)[0]
            self._send(session, [(first.groups, self._payload(session), first.kind + 1)])

    def on_timer(self, session: Session) -> None:
        if session.now >= self._settings.until_us:
            return
        gap = self._gap()
        if self._rng.random() >= self._settings.churn:
            if session.open:
                self._send_some(session)
        elif self._change(session):
            gap = 20 * gap
        session.after(gap)

    def _gap(self) -> int:
        return 1 + int(self._rng.expovariate(1.0) * self._mean_gap_us)

    def _wants_to_reply(self, session: Session, news: Message) -> bool:
        if not self._settings.replies or session.now >= self._settings.until_us:
            return False
        if letters(news)[0].kind >= REPLY_DEPTH_MAX or not session.open:
            return False
        return self._rng.random() < self._settings.replies

    def _change(self, session: Session) -> bool:
        """Something other than sending; true for a long silence after it."""
        draw = self._rng.random()
        if draw < 0.45:
            self._join(session)
        elif draw < 0.8:
            self._leave(session)
        elif draw < 0.9:
            session.disconnect()
            session.reconnect(RECONNECT_US)
        return draw >= 0.9

    def _join(self, session: Session) -> None:
        group = self._rng.choice(self._groups)
        if group not in self._joined:
            self._joined.add(group)
            session.join(group)

    def _leave(self, session: Session) -> None:
        if self._joined:
            group = self._rng.choice(sorted(self._joined))
            self._joined.discard(group)
            session.leave(group)

    def _send_some(self, session: Session) -> None:
        if self._rng.random() < TABLES_GROW:
            session.define(self._destination())
        if not self._settings.keyed or self._rng.random() >= self._settings.keyed:
            self._send(session, self._messages(session))
            return
        numbers = range(self._key, self._key + self._rng.randrange(1, 4))
        payloads = tuple(b"%s %d" % (self._producer.encode(), number) for number in numbers)
        session.multicast_keyed(self._groups[0], self._producer, self._key, payloads)
        self._key = numbers.stop

    def _send(
        self, session: Session, messages: list[tuple[tuple[GroupName, ...], bytes, int]]
    ) -> None:
        service = Service(self._rng.randrange(len(Service)))
        session.multicast_bundle(service, messages, self._rng.random() < 0.05)

    def _messages(self, session: Session) -> list[tuple[tuple[GroupName, ...], bytes, int]]:
        count = self._rng.randrange(2, 9) if self._rng.random() < 0.15 else 1
        return [(self._destination(), self._payload(session), 0) for _ in range(count)]

    def _destination(self) -> tuple[GroupName, ...]:
        draw = self._rng.random()
        if draw < 0.8:
            return (self._rng.choice(self._groups),)
        if draw < 0.93:
            few = min(len(self._groups), self._rng.randrange(2, 4))
            return tuple(self._rng.sample(self._groups, few))
        somebody = DaemonId(self._rng.randrange(1, self._daemons + 1))
        return (private_group(f"s{self._rng.randrange(1, self._sessions + 1)}", somebody),)

    def _payload(self, session: Session) -> bytes:
        """Tells whose and which it is, so that no two are alike."""
        self._sent += 1
        name = b"%d.%d.%d " % (session.daemon, session.slot, self._sent)
        draw = self._rng.random()
        if draw < self._settings.large:
            size = self._rng.randrange(2_000, LARGE_MAX)
        elif draw < 0.1:
            size = self._rng.randrange(200, 1_500)
        else:
            size = self._rng.randrange(100)
        return name + FILLER[:size]
