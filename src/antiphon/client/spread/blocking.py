"""The blocking face of a session of Spread's protocol: `antiphon.spread.connect(...)`.

The calls are those of Spread's own library (SP-79 to SP-84, SP-87, SP-89, SP-90). No thread stands
behind it, and several threads may use one session: some receive, others send, join or close
(SP-95). Each multicast goes out at once; `feed` fills large pieces.
"""

import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, TypeVar

from antiphon.client.destinations import Groups
from antiphon.client.errors import Disconnected, SessionError, Unsent, disconnected
from antiphon.client.events import Event
from antiphon.client.options import TIMEOUT_S
from antiphon.client.outbox import Payload
from antiphon.client.outcomes import HELLO, Key, Outcome
from antiphon.client.pipe import FOREVER, Pipe
from antiphon.client.sockets import open_socket, unreachable
from antiphon.client.spread.events import View
from antiphon.client.spread.options import Options, check_options
from antiphon.client.spread.session import SpreadSession
from antiphon.core.ids import GroupName
from antiphon.core.service import Service
from antiphon.wire.client import BUNDLE_BYTES
from antiphon.wire.spread.handshake import Version

GLANCE_BYTES = 64 * 1024
"""A sender that never receives reads what has come for it so often."""

Taken = TypeVar("Taken")


def connect(
    address: str = "4803",
    *,
    name: str | None = None,
    membership: bool = True,
    priority: int = 0,
    token: str = "",
    timeout: float = TIMEOUT_S,
) -> "Session":
    """Open a session with a daemon, of Antiphon or of Spread.

    `4803@host` is a TCP port, `4803` the Unix socket /tmp/4803. Without a name the daemon
    invents one. Without `membership` the session gets messages and no views. `timeout` bounds
    connecting and closing.
    """
    options = check_options(address, name, membership, priority, token, timeout)
    deadline = time.monotonic() + timeout
    try:
        sock = open_socket(options.address, timeout, None)
    except OSError as error:
        raise unreachable([(options.address, error)]) from error
    core = SpreadSession(options)
    pipe = Pipe(core, sock)
    session = Session(options, core, pipe)
    try:
        session._greet(deadline)
    except BaseException:
        sock.close()
        raise
    return session


class Session:
    """Made by `connect`. Any thread may call any method."""

    def __init__(self, options: Options, core: SpreadSession, pipe: Pipe[SpreadSession]) -> None:
        self._options = options
        self._core = core
        self._pipe = pipe
        pipe.recover = self._recover
        self._outcomes: dict[Key, Outcome] = {}
        self._asked: set[Key] = set()
        self._unglanced = 0
        self._closing = False
        self._over = ""

    def _greet(self, deadline: float) -> None:
        at = self._options.address
        key = (HELLO, "")
        self._asked.add(key)
        try:
            self._pipe.flush()
            if not self._pipe.until(lambda: self._is_decided(key), deadline):
                raise unreachable([(at, TimeoutError("no welcome in time"))])
            error = self._outcomes.pop(key).error
            if error is not None:
                raise error
        except Disconnected as error:
            raise unreachable([(at, error)]) from error
        finally:
            self._asked.discard(key)

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
        with self._pipe.news:
            return tuple(self._core.joined)

    @property
    def views(self) -> dict[GroupName, View]:
        """The latest that has arrived of each group; events that wait may be older."""
        with self._pipe.news:
            return self._core.views

    def fileno(self) -> int:
        """Readable when there may be events. What has been read already does not show: receive
        with timeout=0 until None before waiting for it."""
        return self._pipe.sock.fileno()

    # Requests.

    def join(self, group: GroupName, *, timeout: float | None = None) -> View | None:
        """Returns when the join is ordered, with the first view; without membership at once."""
        view: View | None = self._ask(lambda: self._core.join(group), timeout)
        return view

    def leave(self, group: GroupName, *, timeout: float | None = None) -> None:
        """Returns when the leave is ordered; without membership at once."""
        self._ask(lambda: self._core.leave(group), timeout)

    def multicast(
        self,
        groups: Groups,
        payload: Payload,
        *,
        service: Service = Service.AGREED,
        kind: int = 0,
        self_discard: bool = False,
    ) -> None:
        """Send one message to a group, or to each member of several groups once. Waits while the
        daemon takes no more."""
        self._push(groups, payload, service, kind, self_discard)
        self._send()

    def feed(
        self,
        groups: Groups,
        source: Callable[[], Payload | None],
        *,
        service: Service = Service.AGREED,
        kind: int = 0,
        self_discard: bool = False,
    ) -> int:
        """Call `source` for the next payload whenever the daemon takes it, until it returns None.
        Returns how many were sent. Faster than one multicast each: it fills large pieces."""
        count = 0
        while (payload := source()) is not None:
            self._push(groups, payload, service, kind, self_discard)
            count += 1
            if self._core.outbox.size >= BUNDLE_BYTES:
                self._send()
        self._send()
        return count

    def _push(
        self, groups: Groups, payload: Payload, service: Service, kind: int, self_discard: bool
    ) -> None:
        core, news = self._core, self._pipe.news
        if not core.writable:
            self._pipe.flush()  # or somebody else does, and tells when the daemon has taken it
            with news:
                news.wait_for(lambda: bool(core.ended) or core.writable)
        with news:
            self._check_open()
            before = core.outbox.size
            core.multicast(groups, payload, service, kind, self_discard)
            self._unglanced += core.outbox.size - before

    def _check_open(self) -> None:
        if self._over or self._closing:
            raise disconnected(self._over or "client")

    def _send(self) -> None:
        self._pipe.flush()
        if self._unglanced >= GLANCE_BYTES:
            self._unglanced = 0
            self._pipe.glance()

    def _ask(self, ask: Callable[[], Key], timeout: float | None) -> Any:
        deadline = FOREVER if timeout is None else time.monotonic() + timeout
        with self._pipe.news:
            self._check_open()
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
        outcomes, self._core.outcomes = self._core.outcomes, []
        for outcome in outcomes:
            if outcome.key in self._asked:
                self._outcomes[outcome.key] = outcome
                self._pipe.news.notify_all()
        if key not in self._outcomes and self._over:
            raise disconnected(self._over)
        return key in self._outcomes

    # Events.

    def receive(self, timeout: float | None = None) -> Event | None:
        """The next event, or None if none came in time. After `Closed` there is none: raises
        Disconnected."""
        return self._receive(timeout, self._core.next_event)

    def receive_many(self, timeout: float | None = None) -> list[Event]:
        """All events that have come; none if none came in time. After `Closed` there is none:
        raises Disconnected."""
        return self._receive(timeout, self._core.next_events) or []

    def _receive(self, timeout: float | None, take: Callable[[], Taken]) -> Taken | None:
        deadline = FOREVER if timeout is None else time.monotonic() + timeout
        core = self._core
        while True:
            with self._pipe.news:
                if core.events:
                    return take()
            if not self._pipe.until(self._has_event, deadline, takes_events=True):
                return None

    def _has_event(self) -> bool:
        if self._over and not self._core.events:
            raise disconnected(self._over)
        return bool(self._core.events)

    def poll(self) -> int:
        """How many events can be received without waiting."""
        if not self._over:
            self._pipe.glance()
        return len(self._core.events)

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
        pipe, core = self._pipe, self._core
        with pipe.news:
            if self._over or self._closing:
                return
            self._closing = True
            core.goodbye()
        pipe.flush()
        pipe.until(lambda: bool(self._over), time.monotonic() + self._options.timeout)
        with pipe.news:
            unsent = core.unsent
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

    def _recover(self, deadline: float) -> None:
        """The reader's work when the session has ended: nothing follows it."""
        with self._pipe.news:
            self._finish(self._core.ended)

    def _finish(self, reason: str) -> None:
        """With the lock."""
        if self._over:
            return
        self._over = reason
        if not self._core.ended:
            self._core.connection_lost(reason)
        self._core.close_events(quietly=self._closing)
        self._pipe.cut()
        self._pipe.news.notify_all()
