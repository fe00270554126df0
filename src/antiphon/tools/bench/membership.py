"""`bench membership`: how long it takes until all clients know who is there.

One client watches at each daemon. A drill begins when something is done, and ends when the last
watcher that can know has the view that it leads to.
"""

import asyncio
import os
import time
from collections.abc import Mapping
from statistics import median

from antiphon.client.aio import Session, connect
from antiphon.client.errors import SessionError
from antiphon.client.events import View
from antiphon.tools.bench.reception import BenchFailed
from antiphon.tools.bench.traffic import Figures, Say
from antiphon.tools.cluster import LocalCluster, LocalDaemon

GROUP = "bench-views"
GUEST = "guest"
PATIENCE_S = 60.0
DRILLS = ("join", "leave", "kill", "kill_lead", "restart", "split", "heal")
"""A lead is who represents its site, if there are several."""


class Watcher:
    """A client at one daemon, and the members of the latest view that it received."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.name = session.name
        self._members: frozenset[str] = frozenset()
        self._changed = asyncio.Event()
        self._task = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        async for event in self.session:
            if isinstance(event, View):
                self._members = frozenset(member.name for member in event.members)
                self._changed.set()

    async def sees(self, members: frozenset[str]) -> None:
        while self._members != members:
            self._changed.clear()
            await self._changed.wait()

    async def close(self) -> None:
        self._task.cancel()
        try:
            await self.session.close()
        except SessionError:
            pass  # its daemon was killed


class Drills:
    """The drills one after the other; each leaves the cluster whole for the next."""

    def __init__(self, cluster: LocalCluster) -> None:
        self._cluster = cluster
        self._watchers: dict[str, Watcher] = {}
        self.times: dict[str, list[float]] = {drill: [] for drill in DRILLS}
        """Seconds."""

    async def run(self, repeat: int, say: Say) -> None:
        for daemon in self._cluster.daemons:
            await self._post(daemon)
        await self._all_see(self._names)
        for number in range(repeat):
            say(f"round {number + 1} of {repeat}")
            # Each daemon in turn, for the one that leads may cost more than the others.
            daemon = self._cluster.daemons[-1 - number % len(self._cluster.daemons)]
            await self._join_and_leave(daemon)
            await self._split_and_heal(daemon)
            await self._kill_and_restart(daemon)
        for watcher in self._watchers.values():
            await watcher.close()

    async def _join_and_leave(self, daemon: LocalDaemon) -> None:
        async with await connect(daemon.address, name=GUEST) as guest:
            began = time.monotonic()
            joining = asyncio.create_task(guest.join(GROUP))
            await self._note("join", began, self._names | {GUEST})
            await joining
            began = time.monotonic()
            leaving = asyncio.create_task(guest.leave(GROUP))
            await self._note("leave", began, self._names)
            await leaving

    async def _split_and_heal(self, daemon: LocalDaemon) -> None:
        """Daemons are told not to hear each other, and then to hear each other again."""
        others = self._names - {daemon.name}
        began = time.monotonic()
        await self._partition({name: sorted(others) for name in others} | {daemon.name: []})
        async with asyncio.timeout(PATIENCE_S):
            for name, watcher in self._watchers.items():
                await watcher.sees(others if name in others else frozenset([name]))
        self.times["split"].append(time.monotonic() - began)
        began = time.monotonic()
        await self._partition(dict.fromkeys(self._names))
        await self._note("heal", began, self._names)

    async def _kill_and_restart(self, daemon: LocalDaemon) -> None:
        lost = self._watchers.pop(daemon.name)
        drill = "kill_lead" if await self._leads(daemon) else "kill"
        began = time.monotonic()
        self._cluster.kill(daemon.name)
        await self._note(drill, began, self._names)
        await lost.close()
        began = time.monotonic()
        await asyncio.to_thread(self._cluster.start, [daemon.name])
        await self._post(daemon)
        await self._note("restart", began, self._names)

    async def _leads(self, daemon: LocalDaemon) -> bool:
        watcher = next(iter(self._watchers.values()))
        segments = (await watcher.session.query("status"))["segments"]
        return len(segments) > 1 and any(names[0] == daemon.name for names in segments)

    async def _post(self, daemon: LocalDaemon) -> None:
        watcher = Watcher(await connect(daemon.address, name=daemon.name))
        self._watchers[daemon.name] = watcher
        await watcher.session.join(GROUP)

    @property
    def _names(self) -> frozenset[str]:
        return frozenset(self._watchers)

    async def _partition(self, kept: Mapping[str, list[str] | None]) -> None:
        async with asyncio.TaskGroup() as tasks:
            for name, others in kept.items():
                session = self._watchers[name].session
                tasks.create_task(session.query("partition", **{"with": others}))

    async def _note(self, drill: str, began: float, members: frozenset[str]) -> None:
        try:
            await self._all_see(members)
        except TimeoutError:
            raise BenchFailed(f"{drill}: no view of all after {PATIENCE_S} s") from None
        self.times[drill].append(time.monotonic() - began)

    async def _all_see(self, members: frozenset[str]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            for watcher in self._watchers.values():
                await watcher.sees(members)


def run_membership(cluster: LocalCluster, repeat: int, say: Say) -> Figures:
    load = os.getloadavg()[0]
    drills = Drills(cluster)
    asyncio.run(drills.run(repeat, say))
    found: Figures = {}
    for drill, times in drills.times.items():
        if not times:
            continue
        found[f"{drill}_median_ms"] = round(median(times) * 1000, 1)
        found[f"{drill}_worst_ms"] = round(max(times) * 1000, 1)
    return found | {
        "daemons": len(cluster.daemons),
        "repeat": repeat,
        "load_average": round(load, 2),
    }
