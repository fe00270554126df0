"""A client process of the wide-area bench: `python -m antiphon.tools.bench.wan.client`.

It is an application like any other. Streams use the asyncio face of the client library; round
trips, which wait for one message at a time, use the blocking one.
"""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from itertools import count

import msgspec

from antiphon.client import aio, blocking
from antiphon.client.events import Message
from antiphon.core.errors import AntiphonError
from antiphon.tools.bench.payload import HEAD, PayloadMaker
from antiphon.tools.bench.wan.posts import READY, Post, Report

PATIENCE_S = 60.0
"""Without any message a run is over."""


async def _source(session: aio.Session, post: Post) -> Report:
    """Messages are always there for the daemon to take (SP-210), or come at an even pace."""
    make = PayloadMaker(0, post.size).make
    pause_s = post.size * 0.008 / post.kbit if post.kbit else 0.0
    began = time.monotonic()
    for number in range(1, post.messages + 1) if post.messages else count(1):
        payload = make(number, time.monotonic_ns())
        await session.multicast(post.group, payload, service=post.service)
        if pause_s:
            await asyncio.sleep(max(0.0, began + number * pause_s - time.monotonic()))
    return Report(messages=post.messages)


async def _sink(session: aio.Session, post: Post) -> Report:
    """How long the stream took here, and each message on its way."""
    expected = PayloadMaker(0, post.size)
    began = now = 0
    taken: dict[int, float] = {}
    while len(taken) < post.messages:
        payload = (await _next(session)).payload
        now = time.monotonic_ns()
        began = began or now
        _, number, sent = HEAD.unpack_from(payload)
        if number in taken or payload != expected.make(number, sent):
            return Report(failure=f"message {number} is wrong, or came twice")
        taken[number] = (now - sent) / 1e6
    return Report(began, now, len(taken), one_way_ms=list(taken.values()))


async def _drain(session: aio.Session, post: Post) -> Report:
    """Takes what comes until it is told to end."""
    came: dict[int, int] = {}
    told = asyncio.create_task(asyncio.to_thread(sys.stdin.buffer.readline))
    while not told.done():
        received = asyncio.create_task(session.receive())
        await asyncio.wait((told, received), return_when=asyncio.FIRST_COMPLETED)
        if not received.done():
            received.cancel()
            break
        event = received.result()
        if isinstance(event, Message):
            second = int(time.monotonic())
            came[second] = came.get(second, 0) + event.size
    return Report(by_second=came)


def _echo(session: blocking.Session, post: Post) -> Report:
    """Whatever comes goes back at once (SP-222)."""
    while True:
        message = _next_message(session)
        session.multicast(message.sender, message.payload, service=message.service)


def _trips(session: blocking.Session, post: Post) -> Report:
    """Round trips back to back (SP-222)."""
    make = PayloadMaker(1, post.size).make
    times = []
    for number in range(1, post.messages + 1):
        sent = time.monotonic_ns()
        payload = make(number, sent)
        session.multicast(post.group, payload, service=post.service)
        while _next_message(session).payload != payload:
            pass  # of somebody else
        times.append((time.monotonic_ns() - sent) / 1e6)
    return Report(messages=len(times), trips_ms=times)


def _next_message(session: blocking.Session) -> Message:
    while not isinstance(event := session.receive(timeout=PATIENCE_S), Message):
        if event is None:
            raise TimeoutError
    return event


STREAMS: dict[str, Callable[[aio.Session, Post], Awaitable[Report]]] = {
    "source": _source,
    "sink": _sink,
    "drain": _drain,
}
TRIPS: dict[str, Callable[[blocking.Session, Post], Report]] = {"echo": _echo, "trips": _trips}
RECEIVERS = ("sink", "echo", "drain")


async def _next(session: aio.Session) -> Message:
    async with asyncio.timeout(PATIENCE_S):
        while not isinstance(event := await session.receive(), Message):
            pass
        return event


async def _run_stream(post: Post) -> None:
    async with await aio.connect(post.address, timeout=PATIENCE_S, membership=False) as session:
        if post.role in RECEIVERS:
            await session.join(post.group)
        _say(READY)
        await asyncio.to_thread(sys.stdin.buffer.readline)
        _report(await STREAMS[post.role](session, post))
        await asyncio.to_thread(sys.stdin.buffer.read)


def _run_trips(post: Post) -> None:
    with blocking.connect(post.address, timeout=PATIENCE_S, membership=False) as session:
        if post.role in RECEIVERS:
            session.join(post.group)
        _say(READY)
        sys.stdin.buffer.readline()
        _report(TRIPS[post.role](session, post))
        sys.stdin.buffer.read()


def _report(report: Report) -> None:
    _say(msgspec.json.encode(report) + b"\n")


def _say(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def main() -> None:
    post = msgspec.json.decode(sys.stdin.buffer.readline(), type=Post)
    try:
        if post.role in TRIPS:
            _run_trips(post)
        else:
            asyncio.run(_run_stream(post))
        return
    except AntiphonError as error:
        failure = f"{post.role}: {error}"
    except TimeoutError:
        failure = f"{post.role}: nothing came for {PATIENCE_S:.0f} s"
    _report(Report(failure=failure))


if __name__ == "__main__":
    main()
