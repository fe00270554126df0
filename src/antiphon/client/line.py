"""A session's socket in an asyncio loop: reads when there is something, writes when it can.

What is asked in one turn of the loop is written at its end, as few large pieces.
"""

import asyncio
import socket
from collections.abc import Callable

from antiphon.client.carried import Carried
from antiphon.client.sockets import READ_BYTES, WOULD_BLOCK

READS_PER_TURN = 16
IDLE_S = 0.001
"""Whoever has written nothing for so long writes at once: it has no bundle to fill."""


class Line:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: socket.socket,
        core: Carried,
        changed: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._sock = sock
        self._core = core
        self.changed = changed
        """Called when something came, or the connection ended."""

        self._unsent = memoryview(b"")
        self.flushing = False
        """A write at the end of this turn is on its way."""

        self.blocked = False
        """The kernel takes no more for now."""

        self._flushed_at = 0.0
        self.paused = False
        self.open = True
        loop.add_reader(sock, self._on_readable)
        self.flush_soon()

    def close(self) -> None:
        if self.open:
            self.open = False
            self._loop.remove_reader(self._sock)
            self._loop.remove_writer(self._sock)
            self._sock.close()

    # Writing.

    def flush_now_or_soon(self, is_alone: bool) -> None:
        """At once on an idle line if nothing is expected to follow, else at the end of the turn,
        with what else is asked in it."""
        if self.flushing or self.blocked:
            return
        if not is_alone or self._loop.time() - self._flushed_at < IDLE_S:
            self.flush_soon()
        elif self.flush():
            self.changed()

    def flush_soon(self) -> None:
        if not self.flushing and not self.blocked:
            self.flushing = True
            self._loop.call_soon(self._flush_turn)

    def _flush_turn(self) -> None:
        self.flushing = False
        if self.flush():
            self.changed()

    def flush(self) -> bool:
        """Write what can be written; True if anything was or the connection failed."""
        moved = False
        self._flushed_at = self._loop.time()
        while self.open and not self.blocked:
            if not self._unsent:
                self._unsent = memoryview(self._core.data_to_send())
                if not self._unsent:
                    break
            try:
                sent = self._sock.send(self._unsent)
            except WOULD_BLOCK:
                self.blocked = True
                self._loop.add_writer(self._sock, self._on_writable)
                break
            except OSError:
                # What the daemon said before it went is still to be read; then comes its end.
                self._unsent = memoryview(b"")
                self._core.stop_sending()
                self.resume()
                return True
            moved = True
            self._unsent = self._unsent[sent:]
        return moved

    def _on_writable(self) -> None:
        self.blocked = False
        self._loop.remove_writer(self._sock)
        if self.flush():
            self.changed()

    # Reading.

    def read(self) -> None:
        """Take what is there without waiting."""
        core = self._core
        for _ in range(READS_PER_TURN):
            if not self.open or self.paused or core.ended:
                return
            try:
                data = self._sock.recv(READ_BYTES)
            except WOULD_BLOCK:
                return
            except OSError:
                data = b""
            if data:
                core.receive_data(data)
            else:
                core.connection_lost("connection_lost")
            if core.full():
                break
            if len(data) < READ_BYTES and not self._decrypted():
                return  # that was all
        if self.open and self._decrypted():
            self._loop.call_soon(self._on_readable)  # decrypted already: no poll shows it

    def _decrypted(self) -> bool:
        """TLS may hold bytes that no poll shows."""
        return bool(getattr(self._sock, "pending", int)())

    def _on_readable(self) -> None:
        self.read()
        self.changed()

    def pause(self) -> None:
        if self.open and not self.paused:
            self.paused = True
            self._loop.remove_reader(self._sock)

    def resume(self) -> None:
        if self.open and self.paused:
            self.paused = False
            self._loop.add_reader(self._sock, self._on_readable)
