"""The blocking face of a session: `antiphon.blocking.connect(...)`.

The same session without await, and without a thread behind it. Several threads may use one
session: some receive, others send, join or close (SP-95).
"""

import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from antiphon.client.buffers import Writable, fill
from antiphon.client.calling import Search, greet_any
from antiphon.client.destinations import Groups
from antiphon.client.errors import SessionError, Unsent, disconnected
from antiphon.client.events import Event, View
from antiphon.client.log import BlockingLog
from antiphon.client.options import ORDER, TIMEOUT_S, Options, check_options, check_profile
from antiphon.client.outbox import Key as SendKey
from antiphon.client.outbox import Payload
from antiphon.client.outcomes import QUERY, Key, Outcome
from antiphon.client.pipe import FOREVER, Pipe
from antiphon.client.records import Sink
from antiphon.client.session import ClientSession
from antiphon.core.ids import GroupName, SessionId
from antiphon.core.service import Service

GLANCE_BYTES = 64 * 1024
"""A sender that never receives looks so often whether the daemon has closed the flow."""

Taken = TypeVar("Taken")


def connect(
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
    """Open a session with a daemon; the options are those of `antiphon.connect`."""
    options = check_options(
        address, name, membership, priority, token, choose, tls, records, timeout, failover
    )
    return Session(options, *greet_any(options))


class Session:
    """Made by `connect`. Any thread may call any method."""

    def __init__(self, options: Options, place: int, pipe: Pipe[ClientSession]) -> None:
        self._options = options
        self._place = place
        self._pipe = pipe
        pipe.recover = self._recover
        self._outcomes: dict[Key, Outcome] = {}
        self._asked: set[Key] = set()
        self._unglanced = 0
        self._closing = False
        self._over = ""
        self._search: Search | None = None

    # What it is.

    @property
    def id(self) -> SessionId:
        """Another one after a Gap."""
        return self._pipe.core.id

    @property
    def name(self) -> str:
        return self._pipe.core.name

    @property
    def private_group(self) -> GroupName:
        """Reaches this session alone."""
        return self._pipe.core.private_group

    @property
    def daemon(self) -> str:
        """Name of the daemon."""
        welcome = self._pipe.core.welcome
        assert welcome is not None, "connected"
        return welcome.daemon

    @property
    def groups(self) -> tuple[GroupName, ...]:
        """Joined groups."""
        with self._pipe.news:
            return tuple(self._pipe.core.joined)

    @property
    def views(self) -> dict[GroupName, View]:
        """The latest that has arrived of each group; events that wait may be older."""
        with self._pipe.news:
            return self._pipe.core.views

    def fileno(self) -> int:
        """Readable when there may be events; another one after a Gap. What has been read
        already does not show: receive with timeout=0 until None before waiting for it."""
        return self._pipe.sock.fileno()

    # Requests.

    def join(
        self,
        group: GroupName,
        *,
        guarantee: None = None,
        role: str = "both",
        timeout: float | None = None,
    ) -> View | None:
        """Returns when the join is ordered: with the first view, or None without membership."""
        check_profile(guarantee, role)
        view: View | None = self._ask(lambda: self._pipe.core.join(group), timeout)
        return view

    def leave(self, group: GroupName, *, timeout: float | None = None) -> None:
        """Returns when the leave is ordered."""
        self._ask(lambda: self._pipe.core.leave(group), timeout)

    def query(self, what: str, *, timeout: float | None = None, **arguments: Any) -> Any:
        """Ask the daemon about itself, as the command line does."""
        return self._ask(lambda: self._pipe.core.query(what, arguments), timeout)

    def multicast(
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
        self._push(groups, payload, service, kind, self_discard, key)
        self._send()

    def feed(
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
        None. Returns how many were sent. Faster than one multicast each: it fills bundles.
        `key` is that of the first; the others have the numbers that follow."""
        count = 0
        while True:
            self._until_live(writable=True)
            payload = source()
            if payload is None:
                self._send()
                return count
            now = None if key is None else (key[0], key[1] + count)
            self._push(groups, payload, service, kind, self_discard, now)
            count += 1
            if self._pipe.core.outbox.size >= self._pipe.core.outbox.bundle_bytes:
                self._send()

    def _push(
        self,
        groups: Groups,
        payload: Payload,
        service: Service,
        kind: int,
        self_discard: bool,
        key: SendKey | None = None,
    ) -> None:
        while True:
            with self._pipe.news:
                core = self._pipe.core
                if not core.ended and core.writable:
                    before = core.outbox.size
                    core.multicast(groups, payload, service, kind, self_discard, key)
                    self._unglanced += core.outbox.size - before
                    return
            self._until_live(writable=True)

    def _send(self) -> None:
        self._pipe.flush()
        if self._unglanced >= GLANCE_BYTES:
            self._unglanced = 0
            self._pipe.glance()

    def _until_live(self, writable: bool = False) -> None:
        """Until there is a daemon, and it may be given more."""

        def may_go_on() -> bool:
            if self._over or self._closing:
                raise disconnected(self._over or "client")
            core = self._pipe.core
            return not core.ended and (core.writable or not writable)

        with self._pipe.news:
            if may_go_on():
                return
        self._pipe.flush()
        self._pipe.until(may_go_on, FOREVER)

    def _ask(self, ask: Callable[[], Key], timeout: float | None) -> Any:
        deadline = FOREVER if timeout is None else time.monotonic() + timeout
        self._until_live()
        with self._pipe.news:
            key = ask()
            self._asked.add(key)
        try:
            self._pipe.flush()
            if not self._pipe.until(lambda: self._is_decided(key), deadline):
                raise SessionError("timed_out", f"no answer in {timeout} s", "allow more time")
        finally:
            with self._pipe.news:
                self._asked.discard(key)
                outcome = self._outcomes.pop(key, None)
        assert outcome is not None, "decided"
        if outcome.error is not None:
            raise outcome.error
        return outcome.value

    def _is_decided(self, key: Key) -> bool:
        """With the lock. What others asked is put aside for them."""
        outcomes, self._pipe.core.outcomes = self._pipe.core.outcomes, []
        for outcome in outcomes:
            if outcome.key in self._asked:
                self._outcomes[outcome.key] = outcome
                self._pipe.news.notify_all()
        if key not in self._outcomes and self._over:
            raise disconnected(self._over)
        return key in self._outcomes

    def log(self, group: GroupName, *, timeout: float | None = None) -> BlockingLog:
        """The log of a kept group; no answer may take longer than `timeout`."""
        return BlockingLog(partial(self.query, timeout=timeout), group)

    # Events.

    def receive(self, timeout: float | None = None) -> Event | None:
        """The next event, or None if none came in time. After `Closed` there is none: raises
        Disconnected."""
        return self._receive(timeout, lambda core: core.next_event())

    def receive_many(self, timeout: float | None = None) -> list[Event]:
        """The next events, as many as came together; none if none came in time. After `Closed`
        there is none: raises Disconnected."""
        return self._receive(timeout, lambda core: core.next_events()) or []

    def receive_into(
        self, buffers: Writable | Sequence[Writable], timeout: float | None = None
    ) -> Event | None:
        """Like `receive`; the payload of a message is copied to the buffers, one after the
        other. Buffers that are too small raise UsageError, and the message stays the next."""

        def take(core: ClientSession) -> Event:
            fill(core.events.first(), buffers)
            return core.next_event()

        return self._receive(timeout, take)

    def _receive(
        self, timeout: float | None, take: Callable[[ClientSession], Taken]
    ) -> Taken | None:
        deadline = FOREVER if timeout is None else time.monotonic() + timeout
        while True:
            with self._pipe.news:
                if self._pipe.core.events:
                    return take(self._pipe.core)
            if not self._pipe.until(self._has_event, deadline, takes_events=True):
                return None

    def _has_event(self) -> bool:
        if self._over and not self._pipe.core.events:
            raise disconnected(self._over)
        return bool(self._pipe.core.events)

    def poll(self) -> int:
        """How many events can be received without waiting."""
        if not self._over:
            self._pipe.glance()
        return len(self._pipe.core.events)

    def __iter__(self) -> Iterator[Event]:
        """All events, up to and with `Closed`."""
        while True:
            try:
                event = self.receive()
            except SessionError:
                return
            assert event is not None, "waited for ever"
            yield event

    # The end.

    def close(self) -> None:
        """After everything that was sent before. Events that were not received are dropped."""
        pipe = self._pipe
        with pipe.news:
            if self._over or self._closing:
                return
            self._closing = True
            if not pipe.core.ended:
                pipe.core.goodbye()
        pipe.flush()
        pipe.until(lambda: bool(self._over), time.monotonic() + self._options.timeout)
        with pipe.news:
            unsent = len(pipe.core.outbox)
            self._finish("client")
        if unsent:
            what = f"{unsent} messages were not taken by the daemon"
            raise Unsent("unsent", what, "wait longer, with a larger timeout")

    def __enter__(self) -> "Session":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _finish(self, reason: str) -> None:
        """No session follows. With the lock."""
        if self._over:
            return
        self._over = reason
        core = self._pipe.core
        if not core.ended:
            core.connection_lost(reason)
        core.close_events(quietly=self._closing)
        self._pipe.cut()
        if self._options.sink is not None:
            self._options.sink.close()
        self._pipe.news.notify_all()

    # Another daemon.

    def _recover(self, deadline: float) -> None:
        """The reader's work when the session has ended: one attempt at another daemon."""
        pipe = self._pipe
        with pipe.news:
            self._fail_queries()
            if self._over or self._closing or not self._options.failover:
                self._finish(pipe.core.ended)
                return
            if self._search is None:
                self._search = Search(self._options, self._place)
            search = self._search
        found = search.attempt(deadline)
        with pipe.news:
            if found is not None:
                self._search = None
                self._place, new = found
                new.core.resume(pipe.core)
                pipe.replace(new.core, new.sock)
            elif search.over and not self._over:
                pipe.core.ended = search.reason
                self._finish(search.reason)

    def _fail_queries(self) -> None:
        error = disconnected(self._pipe.core.ended)
        for key in self._asked:
            if key[0] == QUERY and key not in self._outcomes:
                self._outcomes[key] = Outcome(key, None, error)
