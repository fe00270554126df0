"""Senders and receivers with the asyncio face of the client library."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from itertools import cycle

from antiphon.client import aio as native
from antiphon.client.events import Message
from antiphon.client.spread import aio as spread
from antiphon.client.spread import events as spread_events
from antiphon.core.service import Service
from antiphon.tools.bench.cue import PATIENCE_S, Cue, SharedCue
from antiphon.tools.bench.payload import END, MESSAGE, PayloadMaker, payloads_until, portion_of
from antiphon.tools.bench.plan import ACTIVE_NS, Done, Idled, Plan, Post, Received, Sent, Window
from antiphon.tools.bench.reception import BenchFailed, Reception, check_news
from antiphon.tools.bench.round_trips import RoundTrips

PACE_S = 0.001
"""Between two bursts of a sender that keeps a pace."""

Session = native.Session | spread.Session


async def run(posts: Sequence[Post], cue: Cue) -> list[Done]:
    """In one loop; when one fails, all end."""
    shared = SharedCue(cue, len(posts))
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(_run(post, shared)) for post in posts]
    return [one.result() for one in running]


async def _run(post: Post, cue: SharedCue) -> Done:
    async with await _connect(post) as session:
        match post.role:
            case "sender":
                return await _send(session, post, cue)
            case "receiver":
                return await _receive(session, post, cue)
            case "idle":
                return await _idle(session, post, cue)


async def _connect(post: Post) -> Session:
    if post.plan.client == "spread":
        return await spread.connect(post.address, name=post.short_name, timeout=PATIENCE_S)
    return await native.connect(
        post.address, name=post.name, records=post.plan.records or None, timeout=PATIENCE_S
    )


# Receivers.


async def _receive(session: Session, post: Post, cue: SharedCue) -> Received:
    reception = Reception(post.plan)
    echoes = post.plan.rate > 0 and post.number == 0
    async with asyncio.TaskGroup() as tasks:
        # Views of other receivers are taken while this one joins: of thousands of groups they
        # are more than a daemon keeps for a client.
        watching = tasks.create_task(_join_and_watch(session, post, reception, cue))
        take = _take_and_echo if echoes else _take_each if post.plan.receive_each else _take_all
        await take(session, reception)
        watching.cancel()
    return reception.report()


async def _join_and_watch(
    session: Session, post: Post, reception: Reception, cue: SharedCue
) -> None:
    """Gives up when nothing has come for long: where many receivers share a machine, what is
    under way when senders stop may take minutes."""
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*map(session.join, post.plan.group_names))
    cue.ready()
    reception.window = await cue.window()
    await asyncio.sleep((reception.window.stop - time.monotonic_ns()) / 1e9)
    before = -1
    while reception.count > before:
        before = reception.count
        await asyncio.sleep(PATIENCE_S)
    raise BenchFailed(f"gave up: {reception.standing()}")


async def _take_all(session: Session, reception: Reception) -> None:
    while not reception.take_many(await session.receive_many()):
        pass


async def _take_each(session: Session, reception: Reception) -> None:
    async for event in session:
        if reception.take(event):
            return


async def _take_and_echo(session: Session, reception: Reception) -> None:
    async for event in session:
        if reception.take(event):
            return
        if isinstance(event, Message | spread_events.Message) and event.kind == MESSAGE:
            await session.multicast(event.sender, event.payload, service=event.service)


# Idle sessions.


async def _idle(session: Session, post: Post, cue: SharedCue) -> Idled:
    async with asyncio.timeout(PATIENCE_S):
        await session.join(post.own_group)
    cue.ready()
    window = await cue.window()
    try:
        async with asyncio.timeout((window.stop - time.monotonic_ns()) / 1e9):
            async for event in session:
                check_news(event)
                if isinstance(event, Message | spread_events.Message):
                    raise BenchFailed("a message came to an idle session")
    except TimeoutError:
        pass
    return Idled()


# Senders.


async def _send(session: Session, post: Post, cue: SharedCue) -> Sent:
    cue.ready()
    window = await cue.window()
    if post.plan.rate:
        return await _ping(session, post, window)
    if post.plan.pace:
        return await _keep_pace(session, post, window)
    return await _flood(session, post, window)


async def _flood(session: Session, post: Post, window: Window) -> Sent:
    plan = post.plan
    groups = cycle(plan.group_names)
    service = plan.service_of(post.number)
    number = 0
    async for stop in _turns(plan, window):
        for payload in payloads_until(stop, post.number, plan.size, number):
            number += 1
            await session.multicast(next(groups), payload, service=service)
            if plan.await_each:
                await asyncio.sleep(0)
    await _end(session, post, number)
    return Sent(number)


async def _turns(plan: Plan, window: Window) -> AsyncIterator[int]:
    """Comes back when it is this flood's turn, with when that ends."""
    if plan.turns == 1:
        yield window.stop
        return
    begin = plan.turn_began(time.monotonic_ns()) + plan.round_ns
    while begin < window.end:
        await asyncio.sleep((begin - time.monotonic_ns()) / 1e9)
        yield begin + ACTIVE_NS
        begin += plan.round_ns


async def _keep_pace(session: Session, post: Post, window: Window) -> Sent:
    """Every now and then all that is due, also what was due while the sender could not send."""
    plan = post.plan
    make = PayloadMaker(post.number, plan.size).make
    groups = cycle(plan.group_names)
    service = plan.service_of(post.number)
    portion = portion_of(plan.size)
    number = 0
    began = time.monotonic_ns()
    while (now := time.monotonic_ns()) < window.stop:
        due = int((now - began) * plan.pace / 1e9)
        while number < due:
            number += 1
            payload = make(number, 0 if number % portion else time.monotonic_ns())
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
