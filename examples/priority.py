"""Sessions of three priorities: the higher overtakes in the daemon's queue, never in the order.

    python examples/priority.py --connect 4803@localhost

Sessions of priority 100 keep the daemon's queue full for a while. Meanwhile one of priority 0
and one of 255 send a message now and then, and note how long it takes to come back. Sessions
of one priority take turns, a higher one goes first. What has its place in the order keeps it:
no guarantee is bent.
"""

import argparse
import asyncio
import statistics
import sys
import time

import antiphon

BULK, LOW, HIGH = 100, 0, 255
BULK_SESSIONS = 4


async def flood(session: antiphon.Session, until: float) -> None:
    """As fast as flow control permits, to a group that nobody is in: it is ordered all the same.
    `feed` asks for the next payload whenever there is room for it."""
    payload = bytes(32 * 1024)
    await session.feed("bulk", lambda: payload if time.perf_counter() < until else None)


async def sample(session: antiphon.Session, until: float) -> list[float]:
    """Milliseconds from the call to the delivery, of messages to myself."""
    taken = []
    while time.perf_counter() < until:
        begun = time.perf_counter()
        await session.multicast(session.private_group, b"are you there?")
        while not isinstance(await session.receive(), antiphon.Message):
            pass
        taken.append(1000 * (time.perf_counter() - begun))
        await asyncio.sleep(0.005)
    return taken


async def main(options: argparse.Namespace) -> None:
    async def connect(priority: int) -> antiphon.Session:
        return await antiphon.connect(options.connect, priority=priority)

    busy = [await connect(BULK) for _ in range(BULK_SESSIONS)]
    low, high = await connect(LOW), await connect(HIGH)
    until = time.perf_counter() + options.seconds
    floods = [asyncio.create_task(flood(session, until)) for session in busy]
    of_low, of_high = await asyncio.gather(sample(low, until), sample(high, until))
    await asyncio.gather(*floods)
    for priority, taken in ((LOW, of_low), (HIGH, of_high)):
        print(f"priority {priority}: median {statistics.median(taken):.1f} ms of {len(taken)}")
    for session in (low, high, *busy):
        await session.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connect", default="4803@localhost", metavar="ADDRESS")
    parser.add_argument("--seconds", type=float, default=2.0)
    try:
        asyncio.run(main(parser.parse_args()))
    except antiphon.SessionError as error:
        sys.exit(f"priority: {error}")
