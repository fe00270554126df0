"""Finds a daemon that lets a session in, for the asyncio face."""

import asyncio
from typing import Any, NamedTuple

from antiphon.client.errors import Disconnected, Refused, SessionError, Unreachable
from antiphon.client.line import Line
from antiphon.client.options import NEAREST, TRY_ANOTHER, Address, Options, pauses
from antiphon.client.outcomes import HELLO
from antiphon.client.session import ClientSession
from antiphon.client.sockets import open_nearest, open_socket, unreachable


class Found(NamedTuple):
    place: int
    """Of the address among all."""

    core: ClientSession
    line: Line


async def greet_any(options: Options) -> Found:
    """The first that lets us in, or the nearest. Raises Refused or Unreachable."""
    if options.choose == NEAREST and len(options.addresses) > 1:
        return await greet(options, None, options.timeout)
    share = options.timeout / len(options.addresses)
    faults: list[tuple[Address, SessionError]] = []
    for place, address in enumerate(options.addresses):
        try:
            return await greet(options, place, share)
        except Refused as error:
            if error.code not in TRY_ANOTHER:
                raise
            faults.append((address, error))
        except Unreachable as error:
            faults.append((address, error))
    raise faults[0][1] if len(faults) == 1 else unreachable(faults)


async def greet_again(options: Options, place: int) -> Found | SessionError:
    """Around all addresses, beginning with the one after `place`, until one lets us in or the
    time is over; then the last error."""
    error: SessionError | None = None
    try:
        async with asyncio.timeout(options.timeout):
            for pause in pauses():
                place = (place + 1) % len(options.addresses)
                try:
                    return await greet(options, place, options.timeout)
                except SessionError as fault:
                    error = fault
                await asyncio.sleep(pause)
    except TimeoutError:
        pass
    return error or unreachable([(options.addresses[place], TimeoutError())])


async def greet(options: Options, place: int | None, timeout: float) -> Found:
    """A new session at one address, or at the nearest. Raises Refused or Unreachable."""
    loop = asyncio.get_running_loop()
    at = options.addresses[place or 0]

    def call() -> tuple[int, Any]:
        if place is None:
            return open_nearest(options.addresses, timeout, options.tls)
        return place, open_socket(at, timeout, options.tls)

    calls = loop.run_in_executor(None, call)
    try:
        answered, sock = await asyncio.shield(calls)
    except asyncio.CancelledError:
        calls.add_done_callback(close_result)
        raise
    except (OSError, ValueError) as error:
        tried = options.addresses if place is None else [at]
        raise unreachable([(address, error) for address in tried]) from error
    at = options.addresses[answered]
    core = options.new_session()
    greeted: asyncio.Future[None] = loop.create_future()
    line = Line(loop, sock, core, lambda: finish_greeting(core, greeted))
    try:
        async with asyncio.timeout(timeout):
            await greeted
    except (TimeoutError, Disconnected) as error:
        line.close()
        raise unreachable([(at, error)]) from error
    except BaseException:
        line.close()
        raise
    if core.ended:
        line.close()
        raise unreachable([(at, ConnectionError(core.ended))])
    return Found(answered, core, line)


def finish_greeting(core: ClientSession, greeted: asyncio.Future[None]) -> None:
    for key, _, error in core.outcomes:
        if key == (HELLO, "") and not greeted.done():
            greeted.set_result(None) if error is None else greeted.set_exception(error)


def close_result(calls: asyncio.Future[tuple[int, Any]]) -> None:
    """Nobody waits any more for the socket that a thread has opened."""
    if not calls.cancelled() and calls.exception() is None:
        calls.result()[1].close()
