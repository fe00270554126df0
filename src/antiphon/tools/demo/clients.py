"""The clients of a demo, in a process of their own: one at each daemon, all with all services.

    python -m antiphon.tools.demo.clients RECORDS ADDRESS...

When all have joined their groups they say so in a line. When standard input ends each sends a
last word, and nothing more. When all have heard their own, and so everything before it, a line
of JSON tells what they sent and saw; they read on until they are killed.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Sequence
from random import Random

import msgspec

import antiphon
from antiphon import Service

GROUPS = ("orders", "news", "metrics")
SIZES = (16, 200, 1_000, 8_000)
SIZE_WEIGHTS = (50, 35, 12, 3)
PAUSE_S = 0.04
BURST = (1, 4)
"""Messages that leave together."""

LAST_WORD = b"the end"
TIMEOUT_S = 60.0


class Clients:
    def __init__(self, records: str, addresses: Sequence[str]) -> None:
        self._records = records
        self._addresses = addresses
        self._joined = asyncio.Semaphore(0)
        self._quiet = asyncio.Event()
        self._ended = asyncio.Semaphore(0)
        self.seen: Counter[str] = Counter()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for number in range(len(self._addresses)):
                tasks.create_task(self._live(number))
            await self._all(self._joined)
            print("joined", flush=True)
            await _input_ends()
            self._quiet.set()
            async with asyncio.timeout(TIMEOUT_S):
                await self._all(self._ended)
            print(msgspec.json.encode(self.seen).decode(), flush=True)

    async def _all(self, done: asyncio.Semaphore) -> None:
        for _ in self._addresses:
            await done.acquire()

    async def _live(self, number: int) -> None:
        """If its daemon is lost it goes on at the next one."""
        addresses = [*self._addresses[number:], *self._addresses[:number]]
        session = await antiphon.connect(
            addresses,
            name=f"client{number + 1}",
            records=self._records,
            timeout=TIMEOUT_S,
            failover=True,
        )
        for group in GROUPS:
            if group != GROUPS[number % len(GROUPS)]:  # each is a stranger to one group
                await session.join(group)
        self._joined.release()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._read(session))
            tasks.create_task(self._speak(session, Random(number)))

    async def _read(self, session: antiphon.Session) -> None:
        async for event in session:
            if isinstance(event, antiphon.Message):
                self.seen["received"] += 1
                if event.payload == LAST_WORD and event.origin == session.id:
                    self._ended.release()
            elif isinstance(event, antiphon.View):
                self.seen[f"views_by_{event.cause}"] += 1
            elif isinstance(event, antiphon.Gap):
                self.seen["failovers"] += 1

    async def _speak(self, session: antiphon.Session, rng: Random) -> None:
        while not self._quiet.is_set():
            service = rng.choice(tuple(Service))
            group = rng.choice(GROUPS)
            for _ in range(rng.randint(*BURST)):
                payload = rng.randbytes(rng.choices(SIZES, SIZE_WEIGHTS)[0])
                await session.multicast(group, payload, service=service)
                self.seen[f"sent_{service.name.lower()}"] += 1
            await asyncio.sleep(rng.uniform(0.5, 1.5) * PAUSE_S)
        await session.multicast(sorted(session.groups)[0], LAST_WORD, service=Service.SAFE)
        self.seen["sent_safe"] += 1


async def _input_ends() -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()


if __name__ == "__main__":
    asyncio.run(Clients(sys.argv[1], sys.argv[2:]).run())
