"""A counter that every member holds, that newcomers get, and that survives a split.

    python examples/replicated_counter.py --connect 4803@localhost --members 2 --add 5 --until 10
    python examples/replicated_counter.py --connect 4804@localhost --members 2 --add 5 --until 10

Each waits for so many members, adds so many times one, and ends when the counter is there.

A view stands at one place in the order of messages, the same for all its members. So each can
say what it held *when the view began*, and everybody knows what that does not include: what
was added in the view since. After a split each side knows only its own additions; sums are kept
for each adder, so that the larger of two is the one that knows more.
"""

import argparse
import asyncio
import json
import sys
from collections import Counter

import antiphon

GROUP = "counter"
ADD, STATE = 0, 1  # kinds of messages


class Replica:
    def __init__(self) -> None:
        self.base: Counter[str] = Counter()  # for each adder, when the view began
        self.since: Counter[str] = Counter()  # and what it added in this view
        self.view = ""

    @property
    def total(self) -> int:
        return sum(self.base.values()) + sum(self.since.values())

    def begin(self, view: antiphon.View) -> bytes:
        """A new view: what I tell the others about the time before it."""
        self.base += self.since
        self.since.clear()
        self.view = str(view.id)
        return json.dumps({"view": self.view, "base": self.base}).encode()

    def apply(self, message: antiphon.Message) -> None:
        if message.kind == ADD:
            self.since[str(message.origin)] += int(message.payload)
            return
        told = json.loads(message.payload)
        if told["view"] == self.view:  # else it is said again in this view
            self.base |= Counter(told["base"])  # the larger of each


async def count(options: argparse.Namespace) -> None:
    replica = Replica()
    to_add = options.add
    async with await antiphon.connect(options.connect) as session:
        await session.join(GROUP)
        async for event in session:
            match event:
                case antiphon.View():
                    await session.multicast(GROUP, replica.begin(event), kind=STATE)
                    while to_add and len(event.members) >= options.members:
                        await session.multicast(GROUP, b"1", kind=ADD)
                        to_add -= 1
                case antiphon.Message():
                    replica.apply(event)
                    print(f"counter {replica.total}", flush=True)
                    if replica.total >= options.until:
                        return
                case antiphon.Closed():
                    sys.exit(f"replicated_counter: the session ended: {event.reason}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connect", default="4803@localhost", metavar="ADDRESS")
    parser.add_argument("--members", type=int, default=1, metavar="N", help="wait for so many")
    parser.add_argument("--add", type=int, default=5, metavar="N", help="add N times one")
    parser.add_argument("--until", type=int, default=5, metavar="N", help="end at this count")
    try:
        asyncio.run(count(parser.parse_args()))
    except antiphon.SessionError as error:
        sys.exit(f"replicated_counter: {error}")
