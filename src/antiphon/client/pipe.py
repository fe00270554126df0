"""A session's socket for the blocking face: no thread of its own, usable by many.

Whoever waits for something becomes the reader, if there is none; the others sleep until it
has read something. Whoever has something to send becomes the sender, if there is none; else
the one who sends takes it along, and that fills bundles. `lock` guards the session and the two
roles, and is never held while waiting for the socket.
"""

import select
import socket
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Generic, TypeVar

from antiphon.client.carried import Carried
from antiphon.client.outcomes import unread
from antiphon.client.session import PATIENCE
from antiphon.client.sockets import READ_BYTES, WOULD_BLOCK

FOREVER = float("inf")


Core = TypeVar("Core", bound=Carried)


class Pipe(Generic[Core]):
    def __init__(self, core: Core, sock: socket.socket) -> None:
        self.core = core
        self.sock = sock
        self.news = threading.Condition(threading.RLock())
        """Notified when something was read, written, or a role became free."""

        self.recover: Callable[[float], None] | None = None
        """Called by the reader when the session has ended, until a deadline: finds another
        daemon, or gives up."""

        self._reading = False
        self._sending = False
        self._one_at_a_time: AbstractContextManager[object] = nullcontext()
        self._guard_tls()

    def replace(self, core: Core, sock: socket.socket) -> None:
        """Another daemon. The reader calls it, with the lock."""
        self.sock.close()
        self.core, self.sock = core, sock
        self._guard_tls()

    def cut(self) -> None:
        """Whoever waits at the socket is woken."""
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the other side was faster
        self.sock.close()

    def _guard_tls(self) -> None:
        """OpenSSL cannot read and write one connection at once."""
        if hasattr(self.sock, "pending"):
            self._one_at_a_time = threading.Lock()

    # Waiting.

    def until(self, done: Callable[[], bool], deadline: float, takes_events: bool = False) -> bool:
        """Read until `done()`, which is called with the lock. False if the time is over."""
        looked = False
        while True:
            with self.news:
                if done():
                    return True
                over = time.monotonic() >= deadline
                if looked and over:
                    return False
                if self._reading:
                    if over:
                        return False
                    self.news.wait(None if deadline == FOREVER else deadline - time.monotonic())
                    continue
                if not takes_events and self.core.full(PATIENCE):
                    raise unread(len(self.core.events))
                self._reading = True
            looked = True
            try:
                self._read(deadline)
            finally:
                with self.news:
                    self._reading = False
                    self.news.notify_all()
            self.flush()

    def glance(self) -> None:
        """Read what is there, without waiting and if nobody else does."""
        with self.news:
            if self._reading or self.core.full(PATIENCE):
                return
        self.until(lambda: False, 0.0, takes_events=True)

    def _read(self, deadline: float) -> None:
        core = self.core
        if core.ended:
            assert self.recover is not None, "set before anybody waits"
            self.recover(deadline)
            return
        try:
            if not self._decrypted():
                wait_for(self.sock, select.POLLIN, deadline)
            with self._one_at_a_time:
                data = self.sock.recv(READ_BYTES)
        except WOULD_BLOCK:
            return
        except (OSError, ValueError):  # a socket that was closed is a wrong value
            data = b""
        with self.news:
            if data:
                core.receive_data(data)
            else:
                core.connection_lost("connection_lost")

    def _decrypted(self) -> bool:
        """TLS may hold bytes that no poll shows."""
        return bool(getattr(self.sock, "pending", int)())

    # Sending.

    def flush(self) -> None:
        """Write everything that may be written, or leave it to who is writing."""
        with self.news:
            if self._sending:
                return
            self._sending = True
        try:
            while True:
                with self.news:
                    data = self.core.data_to_send()
                    if not data:
                        self._sending = False
                        return
                    core, sock = self.core, self.sock
                self._send(core, sock, memoryview(data))
                with self.news:
                    self.news.notify_all()
        except BaseException:
            with self.news:
                self._sending = False
            raise

    def _send(self, core: Core, sock: socket.socket, data: memoryview) -> None:
        while data:
            try:
                data = data[self._send_some(sock, data) :]
            except (OSError, ValueError):
                with self.news:
                    core.stop_sending()  # the reader will see the end
                return

    def _send_some(self, sock: socket.socket, data: memoryview) -> int:
        try:
            with self._one_at_a_time:
                return sock.send(data)
        except WOULD_BLOCK:
            wait_for(sock, select.POLLOUT, FOREVER)
            return 0


def wait_for(sock: socket.socket, what: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(sock, what)
    if deadline == FOREVER:
        poll.poll()
    else:
        poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
