"""Finds a daemon that lets a session in, for the blocking face."""

import socket
import time

from antiphon.client.errors import Disconnected, Refused, SessionError, Unreachable
from antiphon.client.options import NEAREST, TRY_ANOTHER, Address, Options, pauses
from antiphon.client.outcomes import HELLO
from antiphon.client.pipe import Pipe
from antiphon.client.session import ClientSession
from antiphon.client.sockets import open_nearest, open_socket, unreachable

NativePipe = Pipe[ClientSession]


def greet_any(options: Options) -> tuple[int, NativePipe]:
    """The first that lets us in, or the nearest. Raises Refused or Unreachable."""
    deadline = time.monotonic() + options.timeout
    if options.choose == NEAREST and len(options.addresses) > 1:
        try:
            place, sock = open_nearest(options.addresses, options.timeout, options.tls)
        except (OSError, ValueError) as error:
            raise unreachable([(address, error) for address in options.addresses]) from error
        return place, greet(options, place, sock, deadline)
    share = options.timeout / len(options.addresses)
    faults: list[tuple[Address, SessionError]] = []
    for place, address in enumerate(options.addresses):
        try:
            return place, greet_at(options, place, time.monotonic() + share)
        except Refused as error:
            if error.code not in TRY_ANOTHER:
                raise
            faults.append((address, error))
        except Unreachable as error:
            faults.append((address, error))
    raise faults[0][1] if len(faults) == 1 else unreachable(faults)


def greet_at(options: Options, place: int, deadline: float) -> NativePipe:
    address = options.addresses[place]
    try:
        sock = open_socket(address, max(0.001, deadline - time.monotonic()), options.tls)
    except (OSError, ValueError) as error:
        raise unreachable([(address, error)]) from error
    return greet(options, place, sock, deadline)


def greet(options: Options, place: int, sock: socket.socket, deadline: float) -> NativePipe:
    """A new session on a new socket. Raises Refused, or Unreachable."""
    at = options.addresses[place]
    core = options.new_session()
    pipe = Pipe(core, sock)
    try:
        pipe.flush()
        if not pipe.until(lambda: bool(core.outcomes or core.ended), deadline):
            raise unreachable([(at, TimeoutError("no welcome in time"))])
        for key, _, error in core.outcomes:
            if key == (HELLO, "") and error is not None:
                raise error
        if core.ended:
            raise unreachable([(at, ConnectionError(core.ended))])
    except Disconnected as error:
        sock.close()
        raise unreachable([(at, error)]) from error
    except (OSError, SessionError):
        sock.close()
        raise
    return pipe


class Search:
    """Around all addresses, beginning with the next, until one lets us in."""

    def __init__(self, options: Options, place: int) -> None:
        self._options = options
        self._place = place
        self._pauses = pauses()
        self._next = time.monotonic()
        self._give_up = self._next + options.timeout
        self.reason = "no_daemon"

    @property
    def over(self) -> bool:
        return time.monotonic() >= self._give_up

    def attempt(self, deadline: float) -> tuple[int, NativePipe] | None:
        """One, when its time has come and if that is before the deadline."""
        time.sleep(max(0.0, min(self._next, self._give_up, deadline) - time.monotonic()))
        if self.over or time.monotonic() < self._next:
            return None
        self._place = (self._place + 1) % len(self._options.addresses)
        try:
            return self._place, greet_at(self._options, self._place, self._give_up)
        except SessionError as error:
            self.reason = error.code
        self._next = time.monotonic() + next(self._pauses)
        return None
