"""Workers that share tasks without a master, and take over from one that dies.

    python examples/work_queue.py --connect 4803@localhost --until 20 &
    python examples/work_queue.py --connect 4804@localhost --until 20 &
    python examples/work_queue.py --connect 4803@localhost --submit 20

A worker ends when it has seen --until results. --die-after N is for a drill: after N tasks it is
gone without a word, in the middle of the next.

Tasks, results and views come to all workers in one order. So all make the same plan, each on
its own, and nobody has to be asked. A task of a worker that died is done again: perhaps twice,
if it died between its work and the result.
"""

import argparse
import asyncio
import os
import sys

import antiphon

GROUP = "work"
TASK, RESULT = 0, 1  # kinds of messages


class Plan:
    """Who does what: the same at all workers that were here for it."""

    def __init__(self) -> None:
        self.workers: list[antiphon.SessionId] = []
        self.open: dict[str, tuple[antiphon.SessionId, bytes]] = {}  # task: its worker, its text

    def add(self, task: antiphon.Message) -> None:
        worker = self.workers[task.number % len(self.workers)]
        self.open[f"{task.sender} {task.number}"] = worker, task.payload

    def change(self, view: antiphon.View) -> None:
        """What the missing had to do goes to those who know of it: who came along with me."""
        self.workers = sorted(member.id for member in view.members)
        heirs = sorted(view.together)
        for place, (task, (worker, text)) in enumerate(sorted(self.open.items())):
            if worker not in self.workers:
                self.open[task] = heirs[place % len(heirs)], text


async def work(options: argparse.Namespace) -> None:
    plan, results = Plan(), 0
    begun: set[str] = set()
    async with await antiphon.connect(options.connect) as session:
        await session.join(GROUP)
        async for event in session:
            match event:
                case antiphon.View():
                    plan.change(event)
                case antiphon.Message() if event.kind == TASK:
                    plan.add(event)
                case antiphon.Message():
                    task, _, answer = event.payload.decode().partition(" = ")
                    results += plan.open.pop(task, None) is not None
                    print(f"{event.sender.split('#')[1]}: {answer}", flush=True)
                case antiphon.Closed():
                    sys.exit(f"work_queue: the session ended: {event.reason}")
            if results >= options.until:
                return
            for task, (worker, text) in plan.open.items():
                if worker == session.id and task not in begun:
                    if len(begun) == options.die_after:
                        os._exit(9)
                    begun.add(task)
                    answer = f"{task} = {int(text) ** 2}"  # the work itself
                    await session.multicast(GROUP, answer.encode(), kind=RESULT)


async def submit(options: argparse.Namespace) -> None:
    """Groups are open: who submits need not be a member, and gets the same order."""
    async with await antiphon.connect(options.connect, membership=False) as session:
        for number in range(options.submit):
            await session.multicast(GROUP, str(number).encode(), kind=TASK)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connect", default="4803@localhost", metavar="ADDRESS")
    parser.add_argument("--submit", type=int, default=0, metavar="N", help="submit N tasks and end")
    parser.add_argument("--until", type=int, default=20, metavar="N", help="end after N results")
    parser.add_argument("--die-after", type=int, default=-1, metavar="N", help="for a drill")
    chosen = parser.parse_args()
    try:
        asyncio.run(submit(chosen) if chosen.submit else work(chosen))
    except antiphon.SessionError as error:
        sys.exit(f"work_queue: {error}")
