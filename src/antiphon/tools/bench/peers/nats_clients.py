"""Senders and receivers of NATS, with its own library.

A subscriber that is too slow for its publisher loses messages, so receivers tell how many they
have taken, and the sender never is further ahead than a window.
"""

import asyncio
import time

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg

from antiphon.tools.bench.cue import PATIENCE_S, Cue
from antiphon.tools.bench.payload import END, MESSAGE, PayloadMaker, payloads_until
from antiphon.tools.bench.peers.bare import Bare
from antiphon.tools.bench.peers.credit import Credit
from antiphon.tools.bench.plan import Plan, Post, Received, Sent
from antiphon.tools.bench.reception import BenchFailed, Reception


async def run(post: Post, cue: Cue) -> Sent | Received:
    client = await nats.connect(post.address, allow_reconnect=False)
    try:
        return await (_send if post.role == "sender" else _receive)(client, post, cue)
    finally:
        await client.close()


def _subject(plan: Plan, what: str) -> str:
    return f"{plan.group_names[0]}.{what}"


async def _receive(client: Client, post: Post, cue: Cue) -> Received:
    plan = post.plan
    reception = Reception(plan)
    end = _subject(plan, "sent.end")
    taken = _subject(plan, f"taken.{post.number}")
    stride = Credit.stride(plan.size)
    over = asyncio.get_running_loop().create_future()
    count = 0

    async def take(message: Msg) -> None:
        nonlocal count
        if over.done():
            return  # the first thing that is wrong is told
        try:
            kind = END if message.subject == end else MESSAGE
            if reception.take(Bare(message.data, kind)):
                over.set_result(None)
        except BenchFailed as error:
            over.set_exception(error)
        count += 1
        if count % stride == 0:
            await client.publish(taken, str(count).encode())

    await client.subscribe(_subject(plan, "sent.*"), cb=take)
    await client.flush()
    cue.ready()
    reception.window = await asyncio.to_thread(cue.window)
    left = (reception.window.stop - time.monotonic_ns()) / 1e9
    try:
        await asyncio.wait_for(over, left + PATIENCE_S)
    except TimeoutError:
        raise BenchFailed(f"gave up: {reception.standing()}") from None
    return reception.report()


async def _send(client: Client, post: Post, cue: Cue) -> Sent:
    plan = post.plan
    credit = Credit(plan.receivers, plan.size)
    more = asyncio.Event()

    async def hear(message: Msg) -> None:
        credit.hear(int(message.subject.rpartition(".")[2]), int(message.data))
        more.set()

    await client.subscribe(_subject(plan, "taken.*"), cb=hear)
    await client.flush()
    cue.ready()
    window = await asyncio.to_thread(cue.window)
    subject = _subject(plan, "sent.message")
    number = 0
    for payload in payloads_until(window.stop, post.number, plan.size):
        while number == credit.limit:
            more.clear()
            await asyncio.wait_for(more.wait(), PATIENCE_S)
        number += 1
        await client.publish(subject, payload)
    end = PayloadMaker(post.number, plan.size).make(number, 0)
    await client.publish(_subject(plan, "sent.end"), end)
    await client.flush()
    return Sent(number)
