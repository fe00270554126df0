"""A client process of a chaos run: a few sessions that join, leave, send, answer, and read.

    python -m antiphon.tools.chaos.workers ADDRESS RECORDS NAME SEED

It uses the public client library and nothing else, and writes its own records. A line on its
standard input says that the network is about to fail: a moment for safe messages. When its
input ends it sends no more, and reads on until it is killed.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from random import Random

import antiphon
from antiphon import Service

SESSIONS = 2
GROUPS = tuple(f"g{number}" for number in range(6))
GROUPS_JOINED = (2, 4)
TIMEOUT_S = 5.0
AGAIN_S = (0.05, 0.5)
"""Before another attempt to reach the daemon."""

PAUSE_S = (0.05, 0.4)
"""Between bursts."""

SIZES = (
    # weight, bytes, messages of a burst
    (10, (0, 0), (1, 10)),
    (60, (1, 300), (1, 80)),
    (20, (300, 3_000), (1, 15)),
    (9, (3_000, 20_000), (1, 4)),
    (1, (200_000, 200_000), (1, 1)),
)
CHANGE_CHANCE = 0.04
"""That a join or leave takes the place of a burst."""

PRIVATE_CHANCE = 0.05
SEVERAL_CHANCE = 0.15
DISCARD_CHANCE = 0.1
SLOW_CHANCE = 0.2
"""That a session reads slowly for as long as it lives."""

REPLY_CHANCE = 0.01
"""That a message is answered at once: who delivers the answer before it breaks causal order."""

REPLY = 1
"""The kind of an answer; it is not answered again."""

LAST_WORDS = 60
LAST_WORDS_GAP_S = 0.002
"""Safe messages while the network fails, so that every visit of the token takes some: what is
delivered before all have it shows when they never get it."""

OWN_FAULT = ("unread_events", "change_under_way", "already_joined", "not_joined")
"""What a slow reader is told, and who asks for a change while the session fails over."""

SLOW_READ_S = 0.02
"""Before each event that a slow reader takes."""


Deed = Callable[[antiphon.Session, Random], Awaitable[None]]
Wishes = asyncio.Queue[Deed]
"""What a session is to do before anything that it would do by itself."""


class Worker:
    """The sessions of one process share the signs from outside."""

    def __init__(self, address: str, records: str, name: str, seed: str) -> None:
        self._address = address
        self._records = records
        self._name = name
        self._seed = seed
        self.quiet = asyncio.Event()
        self._wishes: dict[str, Wishes] = {}
        """Of each session, by its name."""

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._heed())
            for number in range(SESSIONS):
                tasks.create_task(self._live(f"{self._name}s{number}"))

    async def _heed(self) -> None:
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while await reader.readline():
            for wishes in self._wishes.values():
                wishes.put_nowait(last_words)
        self.quiet.set()

    async def _live(self, name: str) -> None:
        """One session after the other: their daemon is killed now and then. Half of them go
        on by failover."""
        rng = Random(f"{self._seed} {name}")
        while True:
            try:
                session = await antiphon.connect(
                    self._address,
                    name=name,
                    records=self._records,
                    timeout=TIMEOUT_S,
                    failover=rng.random() < 0.5,
                )
            except antiphon.SessionError:
                await asyncio.sleep(rng.uniform(*AGAIN_S))
                continue
            wishes = self._wishes[name] = Wishes()
            slowly = rng.random() < SLOW_CHANCE
            read = self._read_slowly(session) if slowly else self._read(session, rng, wishes)
            reading = asyncio.create_task(read)
            try:
                await self._speak(session, rng, wishes)
                await reading
            except antiphon.SessionError:
                reading.cancel()  # it has ended; what a slow reader has not read is let go
                await asyncio.wait([reading])

    async def _read(self, session: antiphon.Session, rng: Random, wishes: Wishes) -> None:
        async for event in session:
            if isinstance(event, antiphon.Message) and event.kind != REPLY:
                if rng.random() < REPLY_CHANCE:
                    wishes.put_nowait(partial(reply, event.groups))

    async def _read_slowly(self, session: antiphon.Session) -> None:
        async for _ in session:
            if not self.quiet.is_set():
                await asyncio.sleep(SLOW_READ_S)

    async def _speak(self, session: antiphon.Session, rng: Random, wishes: Wishes) -> None:
        for group in rng.sample(GROUPS, rng.randint(*GROUPS_JOINED)):
            await session.join(group)
        loop = asyncio.get_running_loop()
        own_turn = loop.time()
        while not self.quiet.is_set():
            try:
                async with asyncio.timeout_at(own_turn):
                    deed = await wishes.get()
            except TimeoutError:
                deed = change if rng.random() < CHANGE_CHANCE else burst
                own_turn = loop.time() + rng.uniform(*PAUSE_S)
            try:
                await deed(session, rng)
            except antiphon.UsageError as error:
                if error.code not in OWN_FAULT:
                    raise


async def change(session: antiphon.Session, rng: Random) -> None:
    """Leave a group or join one."""
    group = rng.choice(GROUPS)
    if group in session.groups:
        await session.leave(group)
    else:
        await session.join(group)


async def burst(session: antiphon.Session, rng: Random) -> None:
    """Some messages of one service to one place."""
    (_, sizes, counts) = rng.choices(SIZES, [weight for weight, _, _ in SIZES])[0]
    groups = draw_groups(session, rng)
    service = rng.choice(tuple(Service))
    discard = rng.random() < DISCARD_CHANCE
    for _ in range(rng.randint(*counts)):
        payload = rng.randbytes(rng.randint(*sizes))
        await session.multicast(groups, payload, service=service, self_discard=discard)


async def reply(groups: tuple[str, ...], session: antiphon.Session, rng: Random) -> None:
    """A causal answer to those who got the message, too."""
    await session.multicast(groups, b"", service=Service.CAUSAL, kind=REPLY)


async def last_words(session: antiphon.Session, rng: Random) -> None:
    group = rng.choice(GROUPS)
    for _ in range(LAST_WORDS):
        await session.multicast(group, b"", service=Service.SAFE)
        await asyncio.sleep(LAST_WORDS_GAP_S)


def draw_groups(session: antiphon.Session, rng: Random) -> tuple[str, ...]:
    """Also groups that the session is not in, several at once, and single members."""
    if rng.random() < PRIVATE_CHANCE and session.views:
        view = rng.choice(list(session.views.values()))
        return (rng.choice(view.members).private_group,)
    several = rng.random() < SEVERAL_CHANCE
    return tuple(rng.sample(GROUPS, rng.randint(2, 3) if several else 1))


def main() -> None:
    async def work() -> None:
        await Worker(*sys.argv[1:5]).run()

    asyncio.run(work())


if __name__ == "__main__":
    main()
