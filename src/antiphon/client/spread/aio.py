"""The asyncio face of a session of Spread's protocol: `await antiphon.spread.aio.connect(...)`.

What is asked in one turn of the loop goes out at its end, in one piece.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Any

from antiphon.client.aio import wake
from antiphon.client.destinations import Groups
from antiphon.client.errors import Disconnected, SessionError, Unsent, disconnected
from antiphon.client.events import Event
from antiphon.client.line import Line
from antiphon.client.options import TIMEOUT_S
from antiphon.client.outbox import Payload
from antiphon.client.outcomes import HELLO, Key, unread
from antiphon.client.session import PATIENCE
from antiphon.client.sockets import open_socket, unreachable
from antiphon.client.spread.events import View
from antiphon.client.spread.options import Options, check_options
from antiphon.client.spread.session import SpreadSession
from antiphon.core.ids import GroupName
from antiphon.core.service import Service
from antiphon.wire.spread.handshake import Version

FLUSH_BYTES = 64 * 1024
"""A sender that does not let the loop turn has its messages written when so much waits."""


async def connect(
    address: str = "4803",
    *,
    name: str | None = None,
    membership: bool = True,
    priority: int = 0,
    token: str = "",
    timeout: float = TIMEOUT_S,
) -> "Session":
    """Open a session with a daemon; the options are those of `antiphon.spread.connect`."""
    options = check_options(address, name, membership, priority, token, timeout)
    try:
        async with asyncio.timeout(timeout):
            session = Session(options, await _open(options))
            try:
                await session._outcome((HELLO, ""))
            except BaseException:
                session._abandon()
                raise
    except (TimeoutError, OSError, Disconnected) as error:
        raise unreachable([(options.address, error)]) from error
    return session


async def _open(options: Options) -> socket.socket:
    """A name may have to be looked up, so a thread does it."""
    loop = asyncio.get_running_loop()
    opening = loop.run_in_executor(None, open_socket, options.address, options.timeout, None)
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_close_result)
        raise


def _close_result(opening: asyncio.Future[socket.socket]) -> None:
    """Nobody waits any more for the socket that a thread has opened."""
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


class Session:
    """Made by `connect`. All its methods belong to the loop it was made in."""

    def __init__(self, options: Options, sock: socket.socket) -> None:
        self._options = options
        self._loop = asyncio.get_running_loop()
        self._core = SpreadSession(options)
        self._asked: dict[Key, asyncio.Future[Any]] = {}
        self._receivers: list[asyncio.Future[None]] = []
        self._senders: list[asyncio.Future[None]] = []
        self._closing = False
        self._over = ""
        self._line = Line(self._loop, sock, self._core, self._changed)

    # What it is.

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
        return self._core.daemon

    @property
    def version(self) -> Version:
        """What the daemon says it is: a version of Spread."""
        assert self._core.welcome is not None, "connected"
        return self._core.welcome.version

    @property
    def groups(self) -> tuple[GroupName, ...]:
        """Joined groups."""
        return tuple(self._core.joined)

    @property
    def views(self) -> dict[GroupName, View]:
        """The latest that has arrived of each group; events that wait may be older."""
        return self._core.views

    # Requests.

    async def join(self, group: GroupName) -> View | None:
        """Returns when the join is ordered, with the first view; without membership at once."""
        self._check_open()
        view: View | None = await self._outcome(self._core.join(group))
        return view

    async def leave(self, group: GroupName) -> None:
        """Returns when the leave is ordered; without membership at once."""
        self._check_open()
        await self._outcome(self._core.leave(group))

    async def multicast(
        self,
        groups: Groups,
        payload: Payload,
        *,
        service: Service = Service.AGREED,
        kind: int = 0,
        self_discard: bool = False,
    ) -> None:
        """Send one message to a group, or to each member of several groups once.

        Returns at once, unless too much waits for the daemon already.
        """
        core, line = self._core, self._line
        while not core.writable and not core.ended:
            self._check_open()
            await self._wait_in(self._senders)
        core.multicast(groups, payload, service, kind, self_discard)
        if not line.flushing:
            line.flush_soon()
        if core.outbox.size >= FLUSH_BYTES and not line.blocked:
            line.flush()
            line.read()
            self._changed()

    async def feed(
        self,
        groups: Groups,
        source: Callable[[], Payload | None],
        *,
        service: Service = Service.AGREED,
        kind: int = 0,
        self_discard: bool = False,
    ) -> int:
        """Call `source` for the next payload whenever the daemon takes it, until it returns None.
        Returns how many were sent."""
        count = unturned_bytes = 0
        while (payload := source()) is not None:
            await self.multicast(
                groups, payload, service=service, kind=kind, self_discard=self_discard
            )
            count += 1
            unturned_bytes += len(payload)
            if unturned_bytes >= FLUSH_BYTES:
                unturned_bytes = 0
                await asyncio.sleep(0)  # others live in this loop too
        return count

    # Events.

    async def receive(self) -> Event:
        """The next event. After `Closed` there is none: raises Disconnected."""
        await self._until_event()
        event = self._core.next_event()
        self._read_on()
        return event

    async def receive_many(self) -> list[Event]:
        """All events that have come, and at least one. After `Closed` there is none: raises
        Disconnected."""
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
        if self._line.paused and not self._core.full():
            self._line.resume()

    def poll(self) -> int:
        """How many events can be received without waiting."""
        self._line.read()
        self._changed()
        return len(self._core.events)

    async def __aiter__(self) -> AsyncIterator[Event]:
        """All events, up to and with `Closed`."""
        while self._core.events or not self._over:
            try:
                yield await self.receive()
            except SessionError:
                return

    # The end.

    async def close(self) -> None:
        """After everything that was sent before. Events that were not received are dropped."""
        if self._over or self._closing:
            return
        self._closing = True
        self._core.goodbye()
        self._line.resume()
        self._line.flush_soon()
        try:
            async with asyncio.timeout(self._options.timeout):
                while not self._over:
                    await self._wait_in(self._receivers)
        except TimeoutError:
            pass
        unsent = self._core.unsent
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

    def _check_open(self) -> None:
        if self._over or self._closing:
            raise disconnected(self._over or "client")

    async def _outcome(self, key: Key) -> Any:
        future: asyncio.Future[Any] = self._loop.create_future()
        self._asked[key] = future
        self._line.flush_soon()
        self._changed()
        try:
            return await future
        finally:
            if self._asked.get(key) is future:
                del self._asked[key]

    async def _wait_in(self, queue: list[asyncio.Future[None]]) -> None:
        future: asyncio.Future[None] = self._loop.create_future()
        queue.append(future)
        try:
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
            self._finish(core.ended)
            return
        if core.events:
            wake(self._receivers)
        if core.writable:
            wake(self._senders)
        self._mind_the_backlog()
        if core.wants_to_send:
            self._line.flush_soon()

    def _mind_the_backlog(self) -> None:
        """Stop reading for an application that does not receive, a while later if it waits for
        something that only reading can bring."""
        core = self._core
        if self._closing or self._over:
            return
        if not core.full(PATIENCE if self._asked else 1):
            self._line.resume()
            return
        self._line.pause()
        for future in self._asked.values():
            if not future.done():
                future.set_exception(unread(len(core.events)))

    def _abandon(self) -> None:
        self._over = self._over or "client"
        self._line.close()

    def _finish(self, reason: str) -> None:
        if self._over:
            return
        self._over = reason
        self._line.close()
        if not self._core.ended:
            self._core.connection_lost(reason)
        self._core.close_events(quietly=self._closing)
        error = disconnected(reason)
        for future in self._asked.values():
            if not future.done():
                future.set_exception(error)
        self._asked.clear()
        wake(self._receivers)
        wake(self._senders)
