"""Senders and receivers with the asyncio face of the client library."""

import asyncio
import time
from itertools import cycle

from antiphon.client import aio as native
from antiphon.client.events import Message
from antiphon.client.spread import aio as spread
from antiphon.client.spread import events as spread_events
from antiphon.core.service import Service
from antiphon.tools.bench.cue import PATIENCE_S, Cue
from antiphon.tools.bench.payload import END, MESSAGE, PayloadMaker
from antiphon.tools.bench.plan import Post, Received, Sent, Window
from antiphon.tools.bench.reception import BenchFailed, Reception
from antiphon.tools.bench.round_trips import RoundTrips

PACE_S = 0.001
"""Between two bursts of a sender that keeps a pace."""

Session = native.Session | spread.Session


async def run(post: Post, cue: Cue) -> Sent | Received:
    async with await _connect(post) as session:
        return await (_send if post.role == "sender" else _receive)(session, post, cue)


async def _connect(post: Post) -> Session:
    if post.plan.client == "spread":
        return await spread.connect(post.address, name=post.short_name, timeout=PATIENCE_S)
    return await native.connect(
        post.address, name=post.name, records=post.plan.records or None, timeout=PATIENCE_S
    )


# Receivers.


async def _receive(session: Session, post: Post, cue: Cue) -> Received:
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*map(session.join, post.plan.group_names))
    cue.ready()
    reception = Reception(post.plan)
    echoes = post.plan.rate > 0 and post.number == 0
    try:
        async with asyncio.timeout(None) as limit, asyncio.TaskGroup() as tasks:
            tasks.create_task(_await_window(reception, cue, limit))
            await (_take_and_echo if echoes else _take_all)(session, reception)
    except TimeoutError:
        raise BenchFailed(f"gave up: {reception.standing()}") from None
    return reception.report()


async def _await_window(reception: Reception, cue: Cue, limit: asyncio.Timeout) -> None:
    reception.window = await asyncio.to_thread(cue.window)
    left = (reception.window.stop - time.monotonic_ns()) / 1e9
    limit.reschedule(asyncio.get_running_loop().time() + left + PATIENCE_S)


async def _take_all(session: Session, reception: Reception) -> None:
    take = reception.take
    async for event in session:
        if take(event):
            return


async def _take_and_echo(session: Session, reception: Reception) -> None:
    async for event in session:
        if reception.take(event):
            return
        if isinstance(event, Message | spread_events.Message) and event.kind == MESSAGE:
            await session.multicast(event.sender, event.payload, service=event.service)


# Senders.


async def _send(session: Session, post: Post, cue: Cue) -> Sent:
    cue.ready()
    window = await asyncio.to_thread(cue.window)
    if post.plan.rate:
        return await _ping(session, post, window)
    if post.plan.pace:
        return await _keep_pace(session, post, window)
    return await _flood(session, post, window)


async def _flood(session: Session, post: Post, window: Window) -> Sent:
    plan = post.plan
    make = PayloadMaker(post.number, plan.size).make
    groups = cycle(plan.group_names)
    service = plan.service_of(post.number)
    number = 0
    while (now := time.monotonic_ns()) < window.stop:
        number += 1
        await session.multicast(next(groups), make(number, now), service=service)
        if plan.await_each:
            await asyncio.sleep(0)
    await _end(session, post, number)
    return Sent(number)


async def _keep_pace(session: Session, post: Post, window: Window) -> Sent:
    """Every now and then all that is due, also what was due while the sender could not send."""
    plan = post.plan
    make = PayloadMaker(post.number, plan.size).make
    groups = cycle(plan.group_names)
    service = plan.service_of(post.number)
    number = 0
    began = time.monotonic_ns()
    while (now := time.monotonic_ns()) < window.stop:
        due = int((now - began) * plan.pace / 1e9)
        while number < due:
            number += 1
            payload = make(number, time.monotonic_ns())
            await session.multicast(next(groups), payload, service=service)
        await asyncio.sleep(PACE_S)
    await _end(session, post, number)
    return Sent(number)


async def _ping(session: Session, post: Post, window: Window) -> Sent:
    plan = post.plan
    trips = RoundTrips(window)
    make = PayloadMaker(post.number, plan.size).make
    service = plan.service_of(post.number)
    listening = asyncio.create_task(_hear_echoes(session, trips))
    groups = cycle(plan.group_names)
    number = 0
    began = time.monotonic_ns()
    while (due := began + int(number * 1e9 / plan.rate)) < window.stop:
        await asyncio.sleep(max(0, due - time.monotonic_ns()) / 1e9)
        number += 1
        payload = make(number, time.monotonic_ns())
        trips.sent(number, payload)
        await session.multicast(next(groups), payload, service=service)
    until = time.monotonic() + PATIENCE_S
    while trips and service > Service.UNRELIABLE and not listening.done():
        if time.monotonic() > until:
            raise BenchFailed(f"{len(trips)} messages did not come back")
        await asyncio.sleep(0.01)
    if listening.done():
        listening.result()
    listening.cancel()
    await _end(session, post, number)
    return Sent(number, trips.times)


async def _hear_echoes(session: Session, trips: RoundTrips) -> None:
    async for event in session:
        trips.take(event)


async def _end(session: Session, post: Post, last: int) -> None:
    """Receivers count on this one, so it is sent reliably."""
    plan = post.plan
    payload = PayloadMaker(post.number, plan.size).make(last, time.monotonic_ns())
    service = max(plan.service_of(post.number), Service.RELIABLE)
    await session.multicast(plan.group_names[0], payload, service=service, kind=END)
