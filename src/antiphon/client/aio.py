"""The asyncio face of a session: `await antiphon.connect(...)`.

    application --> Session --> ClientSession --> Line --> daemon
                    who waits   bytes, events     socket

When the daemon is lost and failover is wished, a task finds another one and makes a new
ClientSession that resumes the old (client/crossing.py); to the application it is one session.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from antiphon.client.buffers import Writable, fill
from antiphon.client.destinations import Groups
from antiphon.client.errors import Unsent, disconnected
from antiphon.client.events import Event, View
from antiphon.client.greeting import Found, greet_again, greet_any
from antiphon.client.line import Line
from antiphon.client.log import Log
from antiphon.client.options import ORDER, TIMEOUT_S, Options, check_options, check_profile
from antiphon.client.outbox import LOOK_BYTES, Payload, join_payload
from antiphon.client.outbox import Key as SendKey
from antiphon.client.outcomes import QUERY, Key, unread
from antiphon.client.records import Sink
from antiphon.client.session import PATIENCE
from antiphon.core.ids import GroupName, SessionId
from antiphon.core.service import Service


async def connect(
    address: str | Sequence[str] = "4803@localhost",
    *,
    name: str | None = None,
    membership: bool = True,
    priority: int = 0,
    token: str = "",
    choose: str = ORDER,
    tls: ssl.SSLContext | None = None,
    records: str | Path | Sink | None = None,
    timeout: float = TIMEOUT_S,
    failover: bool = False,
) -> "Session":
    """Open a session with a daemon.

    Several addresses are tried in order, or all at once with `choose="nearest"`. Without
    `membership` the session gets messages and no views. `timeout` bounds connecting,
    closing, and the search for another daemon if `failover` is wished.
    """
    options = check_options(
        address, name, membership, priority, token, choose, tls, records, timeout, failover
    )
    session = Session(options)
    session._install(await greet_any(options))
    return session


class Session:
    """Made by `connect`. All its methods belong to the loop it was made in."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._loop = asyncio.get_running_loop()
        self._core = options.new_session()
        self._go_along = self._core.outbox.go_along
        self._line: Line | None = None
        self._place = 0
        """Of the address in use."""

        self._asked: dict[Key, asyncio.Future[Any]] = {}
        self._receivers: list[asyncio.Future[None]] = []
        self._senders: list[asyncio.Future[None]] = []
        self._search: asyncio.Task[None] | None = None
        self._closing = False
        self._over = ""
        """Why there is no session any more; empty while there is or may be one."""

    # What it is.

    @property
    def id(self) -> SessionId:
        """Another one after a Gap."""
        return self._core.id

    @property
    def name(self) -> str:
        return self._core.name

    @property
    def private_group(self) -> GroupName:
        """Reaches this session alone."""
        return self._core.private_group

    @property
    def daemon(self) -> str:
        """Name of the daemon."""
        assert self._core.welcome is not None, "connected"
        return self._core.welcome.daemon

    @property
    def groups(self) -> tuple[GroupName, ...]:
        """Joined groups."""
        return tuple(self._core.joined)

    @property
    def views(self) -> dict[GroupName, View]:
        """The latest that has arrived of each group; events that wait may be older."""
        return self._core.views

    # Requests.

    async def join(
        self, group: GroupName, *, guarantee: None = None, role: str = "both"
    ) -> View | None:
        """Returns when the join is ordered: with the first view, or None without membership."""
        check_profile(guarantee, role)
        await self._until_live()
        view: View | None = await self._outcome(self._core.join(group))
        return view

    async def leave(self, group: GroupName) -> None:
        """Returns when the leave is ordered; what was sent before it has been received."""
        await self._until_live()
        await self._outcome(self._core.leave(group))

    async def multicast(
        self,
        groups: Groups,
        payload: Payload,
        *,
        service: Service = Service.AGREED,
        kind: int = 0,
        self_discard: bool = False,
        key: SendKey | None = None,
    ) -> None:
        """Send one message to a group, or to each member of several groups once.

        Returns at once, unless too much waits for the daemon already. With `key`, a producer's
        name and a rising number, the group is given it once however often it is sent.
        """
        if key is None and self._go_along(groups, payload, service, kind, self_discard):
            return
        whole = payload if type(payload) is bytes else join_payload(payload)
        await self._may_send(len(whole))
        self._core.multicast(groups, whole, service, kind, self_discard, key)
        assert self._line is not None, "a live session has a line"
        # Who sent several the last time most likely sends several now, and they go together.
        self._line.flush_now_or_soon(self._core.outbox.last_count <= 1)

    async def feed(
        self,
        groups: Groups,
        source: Callable[[], Payload | None],
        *,
        service: Service = Service.AGREED,
        kind: int = 0,
        self_discard: bool = False,
        key: SendKey | None = None,
    ) -> int:
        """Call `source` for the next payload whenever flow control permits, until it returns
        None. Returns how many were sent. `key` is that of the first; the others have the
        numbers that follow."""
        count = 0
        sent_bytes = 0
        while True:
            while self._core.ended or not self._core.writable:
                await self._room()
            payload = source()
            if payload is None:
                return count
            now = None if key is None else (key[0], key[1] + count)
            await self.multicast(
                groups, payload, service=service, kind=kind, self_discard=self_discard, key=now
            )
            count += 1
            sent_bytes += len(payload)
            if sent_bytes >= LOOK_BYTES:
                sent_bytes = 0
                await asyncio.sleep(0)  # others live in this loop too

    async def query(self, what: str, **arguments: Any) -> Any:
        """Ask the daemon about itself, as the command line does."""
        await self._until_live()
        return await self._outcome(self._core.query(what, arguments))

    def log(self, group: GroupName) -> Log:
        """The log of a kept group."""
        return Log(self.query, group)

    # Events.

    async def receive(self) -> Event:
        """The next event. After `Closed` there is none: raises Disconnected."""
        if not self._core.events:
            await self._until_event()
        event = self._core.next_event()
        self._read_on()
        return event

    async def receive_many(self) -> list[Event]:
        """The next events, as many as came together and at least one: where many come it costs
        far less than to receive each. After `Closed` there is none: raises Disconnected."""
        if not self._core.events:
            await self._until_event()
        events = self._core.next_events()
        self._read_on()
        return events

    async def _until_event(self) -> None:
        while not self._core.events:
            if self._over:
                raise disconnected(self._over)
            await self._wait_in(self._receivers)

    def _read_on(self) -> None:
        """Events were taken: more may come."""
        line = self._line
        if line is not None and line.paused and not self._core.full():
            line.resume()

    async def receive_into(self, buffers: Writable | Sequence[Writable]) -> Event:
        """Like `receive`; the payload of a message is copied to the buffers, one after the
        other. Buffers that are too small raise UsageError, and the message stays the next."""
        while not self._core.events and not self._over:
            await self._wait_in(self._receivers)
        if self._core.events:
            fill(self._core.events.first(), buffers)
        return await self.receive()

    def poll(self) -> int:
        """How many events can be received without waiting."""
        if self._line is not None:
            self._line.read()
            self._changed()
        return len(self._core.events)

    async def __aiter__(self) -> AsyncIterator[Event]:
        """All events, up to and with `Closed`."""
        while True:
            while self._core.events:
                for event in self._core.events.portion():  # without a call for each
                    yield event
                self._read_on()
            if self._over:
                return
            await self._wait_in(self._receivers)

    # The end.

    async def close(self) -> None:
        """After everything that was sent before. Events that were not received are dropped."""
        if self._over:
            return
        self._closing = True
        if self._search is not None:
            self._search.cancel()
            self._finish("client")
            return
        self._core.goodbye()
        assert self._line is not None, "a live session has a line"
        self._line.resume()
        self._line.flush_soon()
        try:
            async with asyncio.timeout(self._options.timeout):
                while not self._over:
                    await self._wait_in(self._receivers)
        except TimeoutError:
            pass
        unsent = len(self._core.outbox)
        self._finish("client")
        if unsent:
            what = f"{unsent} messages were not taken by the daemon"
            raise Unsent("unsent", what, "wait longer, with a larger timeout")

    async def __aenter__(self) -> "Session":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    # Waiting.

    async def _outcome(self, key: Key) -> Any:
        future: asyncio.Future[Any] = self._loop.create_future()
        self._asked[key] = future
        if self._line is not None:
            self._line.flush_soon()
        self._changed()
        try:
            return await future
        finally:
            if self._asked.get(key) is future:
                del self._asked[key]

    async def _until_live(self) -> None:
        while self._core.ended:
            await self._room()

    async def _may_send(self, payload_bytes: int) -> None:
        """Until there is room for a message. A sender that does not let the loop turn has its
        bundles written here, when they are full."""
        while True:
            core, line = self._core, self._line
            if core.ended or line is None:
                await self._room()
            elif not line.blocked and core.outbox.is_ready(payload_bytes) and core.wants_to_send:
                line.flush()
                line.read()  # the daemon may have closed the flow
                self._changed()
            elif core.writable:
                return
            else:
                await self._room()

    async def _room(self) -> None:
        """Until a sender may go on, perhaps at another daemon."""
        if self._over or self._closing:
            raise disconnected(self._over or "client")
        self._changed()
        if self._core.ended or not self._core.writable:
            await self._wait_in(self._senders)

    async def _wait_in(self, queue: list[asyncio.Future[None]]) -> None:
        future: asyncio.Future[None] = self._loop.create_future()
        queue.append(future)
        try:
            if queue is self._senders:
                self._mind_the_backlog()
            await future
        finally:
            if future in queue:
                queue.remove(future)

    def _changed(self) -> None:
        """Something came or went: whoever waited for it goes on."""
        core = self._core
        outcomes, core.outcomes = core.outcomes, []
        for key, value, error in outcomes:
            future = self._asked.pop(key, None)
            if future is not None and not future.done():
                future.set_result(value) if error is None else future.set_exception(error)
        if core.ended:
            self._lose()
            return
        if core.events:
            wake(self._receivers)
        if core.writable:
            wake(self._senders)
        self._mind_the_backlog()
        if core.wants_to_send and self._line is not None:
            self._line.flush_soon()

    def _mind_the_backlog(self) -> None:
        """Stop reading for an application that does not receive, a while later if it waits
        for something that only reading can bring."""
        line = self._line
        if line is None or self._closing:
            return
        waiting = bool(self._asked or self._senders)
        if not self._core.full(PATIENCE if waiting else 1):
            line.resume()
            return
        line.pause()
        if waiting:
            error = unread(len(self._core.events))
            wake(self._senders, error)
            for future in self._asked.values():
                if not future.done():
                    future.set_exception(error)

    # Connections.

    def _install(self, found: Found) -> None:
        self._place, core, self._line = found
        if self._core.ended:
            core.resume(self._core)
        self._core = core
        self._go_along = core.outbox.go_along
        self._line.changed = self._changed
        self._changed()

    def _lose(self) -> None:
        """The session with this daemon has ended."""
        if self._line is not None:
            self._line.close()
            self._line = None
        lost = disconnected(self._core.ended)
        for key in [key for key in self._asked if key[0] == QUERY]:
            future = self._asked.pop(key)
            if not future.done():
                future.set_exception(lost)
        if not self._options.failover or self._closing:
            self._finish(self._core.ended)
        elif self._search is None and not self._over:
            self._search = self._loop.create_task(self._search_daemon())
        if self._core.events:
            wake(self._receivers)

    async def _search_daemon(self) -> None:
        found = await greet_again(self._options, self._place)
        self._search = None
        if isinstance(found, Found):
            self._install(found)
        else:
            self._core.ended = found.code
            self._finish(found.code)

    def _finish(self, reason: str) -> None:
        """No session follows."""
        if self._over:
            return
        self._over = reason
        if self._line is not None:
            self._line.close()
            self._line = None
        if not self._core.ended:
            self._core.connection_lost(reason)
        self._core.close_events(quietly=self._closing)
        error = disconnected(reason)
        for future in self._asked.values():
            if not future.done():
                future.set_exception(error)
        self._asked.clear()
        wake(self._senders, error)
        wake(self._receivers)
        if self._options.sink is not None:
            self._options.sink.close()


def wake(queue: list[asyncio.Future[None]], error: Exception | None = None) -> None:
    for future in queue:
        if not future.done():
            future.set_result(None) if error is None else future.set_exception(error)
    queue.clear()
