"""A simulated application's end of a session, and what an application looks like.

Users run their own handlers in a world: any object with the three methods of `App`.
"""

from __future__ import annotations

from collections import deque
from random import Random
from typing import TYPE_CHECKING, Protocol

from antiphon.core.effects import (
    Closed,
    Connect,
    Define,
    Defined,
    Disconnect,
    Drained,
    Flow,
    Join,
    Joined,
    Leave,
    Left,
    Message,
    Multicast,
    Refused,
    Transition,
    View,
)
from antiphon.core.ids import DaemonId, GroupName
from antiphon.core.service import ORDERED, Service
from antiphon.wire.body import Destination, Table, pack_body, referring_parts

if TYPE_CHECKING:
    from antiphon.sim.host import Host
    from antiphon.sim.world import World

News = Message | View | Joined | Defined | Transition | Left | Refused | Flow | Closed
Request = Connect | Disconnect | Join | Leave | Define | Multicast | Drained

DRAIN_BATCH = 8
DRAIN_IDLE_US = 2_000
"""Consumed news is reported when so many are together, or this time after the first."""


class App(Protocol):
    """An application. Its session, handed to each call, is all it can touch."""

    def on_start(self, session: Session) -> None:
        """A session is open; also after a reconnect or a restart of the daemon."""

    def on_news(self, session: Session, news: News) -> None: ...

    def on_timer(self, session: Session) -> None:
        """What `session.after` asked for."""


class Listener:
    """An application that connects, consumes, and does nothing by itself."""

    def on_start(self, session: Session) -> None:
        pass

    def on_news(self, session: Session, news: News) -> None:
        pass

    def on_timer(self, session: Session) -> None:
        pass


class Session:
    """What an application sees of the world.

    While the daemon says that the flow is closed, requests wait here in their order.
    """

    __slots__ = (
        "_world",
        "host",
        "slot",
        "number",
        "name",
        "life",
        "app",
        "rng",
        "live",
        "open",
        "stalled",
        "lag_us",
        "_free_at",
        "_asked",
        "_places",
        "_waiting",
        "_taken",
        "_taken_bytes",
        "_flushing",
    )

    def __init__(self, world: World, host: Host, slot: int, app: App, rng: Random) -> None:
        self._world = world
        self.host = host
        self.slot = slot
        self.number = host.next_session
        self.name = f"s{self.number}"
        self.life = host.life
        self.app = app
        self.rng = rng
        self.live = True
        self.open = True
        self.stalled = False
        self.lag_us = 0  # how long this application thinks about each piece of news
        self._free_at = 0
        self._asked: Table = ()
        self._places: dict[Destination, int] = {}
        """What this session has defined."""

        self._waiting: deque[Request] = deque()
        self._taken = 0
        self._taken_bytes = 0
        self._flushing = False

    # What an application may do.

    @property
    def now(self) -> int:
        return self._world.now

    @property
    def daemon(self) -> DaemonId:
        return self.host.id

    def join(self, group: GroupName) -> None:
        self._ask(Join(self.number, group))

    def leave(self, group: GroupName) -> None:
        self._ask(Leave(self.number, group))

    def define(self, *destinations: Destination) -> None:
        """When the daemon has taken them, bundles refer to them instead of naming groups."""
        if not self._asked:
            self._asked = destinations
            self._ask(Define(self.number, destinations))

    def multicast(
        self, groups: tuple[GroupName, ...], service: Service, payload: bytes, kind: int = 0
    ) -> None:
        """One message to one or more groups."""
        self.multicast_bundle(service, [(groups, payload, kind)])

    def multicast_bundle(
        self,
        service: Service,
        messages: list[tuple[tuple[GroupName, ...], bytes, int]],
        self_discard: bool = False,
    ) -> None:
        """Several messages of one service, each (groups, payload, kind), as one bundle."""
        destinations = [groups for groups, _, _ in messages]
        kinds = tuple(kind for _, _, kind in messages)
        payloads = tuple(payload for _, payload, _ in messages)
        if service in ORDERED and all(groups in self._places for groups in destinations):
            places = [self._places[groups] for groups in destinations]
            body = b"".join(referring_parts(places, kinds, payloads, self.name))
        else:
            table = tuple(dict.fromkeys(destinations))
            where = tuple(table.index(groups) for groups in destinations)
            body = pack_body(table, where, kinds, payloads, self.name)
        self._ask(Multicast(self.number, service, len(messages), body, self_discard))

    def multicast_keyed(
        self, group: GroupName, producer: str, key: int, payloads: tuple[bytes, ...]
    ) -> None:
        """Agreed messages whose repeats are filtered, as one bundle."""
        zeros = (0,) * len(payloads)
        body = pack_body(((group,),), zeros, zeros, payloads, self.name, False, producer, key)
        self._ask(Multicast(self.number, Service.AGREED, len(payloads), body))

    def disconnect(self) -> None:
        """At once, whatever still waits."""
        if self.live:
            self._world.request(self, Disconnect(self.number))
            self.end()

    def reconnect(self, delay_us: int) -> None:
        """Open another session for the same application; this one must have ended."""
        self._world.call_at(self.now + delay_us, lambda: self._world.open(self.host, self.slot))

    def after(self, delay_us: int) -> None:
        """Call `on_timer` of the application."""
        self._world.set_timer(self, delay_us)

    def stall(self) -> None:
        """Stop consuming for good, as a stuck process would."""
        self.stalled = True

    # What the world does with it.

    def connect(self) -> None:
        self._world.request(self, Connect(self.number, self.name))
        self.app.on_start(self)

    def end(self) -> None:
        self.live = False
        self._waiting.clear()

    def fail(self, reason: str) -> None:
        """The daemon is gone."""
        if self.live:
            self.end()
            self.app.on_news(self, Closed(reason))

    def notify(self, news: News) -> None:
        if self.stalled and type(news) is Closed:
            self.end()  # the connection is gone, though the application does not look
        if self.stalled or not self.live:
            return
        if self.lag_us:
            self._free_at = max(self.now, self._free_at) + self.lag_us
            self._world.call_at(self._free_at, lambda: self._take(news))
        else:
            self._take(news)

    def _take(self, news: News) -> None:
        if self.stalled or not self.live:
            return
        if type(news) is Flow:
            self._set_flow(news.open)
        elif type(news) is Closed:
            self.end()
        else:
            self._count_taken(news)
        if type(news) is Defined:
            self._take_defined(news.places)
        self.app.on_news(self, news)

    def _take_defined(self, places: int) -> None:
        known = len(self._places)
        if places > known:
            self._places.update({one: known + at for at, one in enumerate(self._asked)})
        self._asked = ()

    def _count_taken(self, news: News) -> None:
        self._taken += 1
        self._taken_bytes += len(news.body) if type(news) is Message else 0
        if self._taken >= DRAIN_BATCH:
            self._drain()
        elif not self._flushing:
            self._flushing = True
            self._world.call_at(self.now + DRAIN_IDLE_US, self._flush)

    def _flush(self) -> None:
        self._flushing = False
        if self._taken and self.live:
            self._drain()

    def _drain(self) -> None:
        self._world.request(self, Drained(self.number, self._taken, self._taken_bytes))
        self._taken = self._taken_bytes = 0

    def _set_flow(self, is_open: bool) -> None:
        self.open = is_open
        while self.open and self._waiting:
            self._world.request(self, self._waiting.popleft())

    def _ask(self, request: Request) -> None:
        if not self.live:
            return
        if self.open:
            self._world.request(self, request)
        else:
            self._waiting.append(request)
