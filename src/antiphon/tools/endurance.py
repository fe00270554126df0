"""Long runs that must not grow, stall or suspect anybody falsely: figures for `antiphon soak`.

Memory is flat if the mean of the last third lies within five hundredths of the middle third's.
"""

import asyncio
import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import mean, median

import click
import msgspec

import antiphon
from antiphon.core.ids import DaemonId
from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.core.trace import Kind, Level, Record
from antiphon.protocol.presets import SIMULATION
from antiphon.sim.nodes import make_nodes
from antiphon.sim.script import Script
from antiphon.sim.session import App, News, Session
from antiphon.sim.world import World
from antiphon.tools.bench.target import cpu_seconds
from antiphon.tools.cluster import LocalCluster

Figures = dict[str, float]

FLAT = 1.05
SAMPLES = 60
GROUPS = 20
NOISE_RATE = 20_000
PAGE_KIB = os.sysconf("SC_PAGE_SIZE") // 1024


def resident_kib(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_KIB


def growth(samples: Sequence[float]) -> float:
    """The last third against the middle third."""
    third = len(samples) // 3
    return mean(samples[2 * third :]) / mean(samples[third : 2 * third])


class _Restless:
    """Joins and leaves for ever."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._joined: set[str] = set()

    def on_start(self, session: Session) -> None:
        self._joined.clear()
        session.after(MILLISECOND)

    def on_news(self, session: Session, news: News) -> None:
        pass

    def on_timer(self, session: Session) -> None:
        group = f"g{self._rng.randrange(GROUPS)}"
        if group in self._joined:
            self._joined.discard(group)
            session.leave(group)
        else:
            self._joined.add(group)
            session.join(group)
        session.after(4 * MILLISECOND)


def simulated_views(wanted: int) -> tuple[bool, Figures]:
    """View changes in the simulator, with the network cut and healed all the time."""
    views = 0

    def count(record: Record) -> None:
        nonlocal views
        views += record.kind == Kind.VIEW

    def make_app(daemon: DaemonId, slot: int, rng: Random) -> App:
        return _Restless(rng)

    make = make_nodes(Script(daemons=3), replace(SIMULATION, level=Level.VIEWS))
    world = World(make, seed=1, daemons=3, sessions=3, make_app=make_app, sink=count)
    samples: list[float] = []
    rng = Random(1)
    while views < wanted:
        draw = rng.random()
        if draw < 0.05:
            world.network.cut([[DaemonId(1)], [DaemonId(2), DaemonId(3)]])
        elif draw < 0.3:
            world.network.heal()
        world.run(world.now + SECOND // 5)
        if views > len(samples) * wanted / SAMPLES:
            samples.append(resident_kib(os.getpid()))
            click.echo(f"{views:,} views, {samples[-1]:,} KiB")
    ratio = growth(samples)
    return ratio <= FLAT, {"views": views, "growth": round(ratio, 3), "kib": samples[-1]}


def real_views(wanted: int) -> tuple[bool, Figures]:
    """View changes at three real daemons."""
    with tempfile.TemporaryDirectory() as folder, LocalCluster(3, Path(folder)) as cluster:
        return asyncio.run(_change_views(cluster, wanted))


async def _change_views(cluster: LocalCluster, wanted: int) -> tuple[bool, Figures]:
    watcher = await antiphon.connect(cluster.addresses[0], name="watcher")
    movers = [
        await antiphon.connect(address, name=f"mover{place}")
        for place, address in enumerate(cluster.addresses)
    ]
    await watcher.join("g")
    views, began = 0, time.monotonic()
    samples: list[float] = []
    while views < wanted:
        for mover in movers:
            await mover.join("g")
        for mover in movers:
            await mover.leave("g")
        while watcher.poll():
            views += isinstance(await watcher.receive(), antiphon.View)
        for mover in movers:
            while mover.poll():
                await mover.receive()
        if views > len(samples) * wanted / SAMPLES:
            samples.append(float(sum(resident_kib(one.pid) for one in cluster.daemons)))
    ratio = growth(samples)
    seconds = time.monotonic() - began
    for session in (watcher, *movers):
        await session.close()
    figures = {"views": views, "growth": round(ratio, 3), "seconds": round(seconds, 1)}
    return ratio <= FLAT, {**figures, "kib_of_three": samples[-1]}


def idle(seconds: float) -> tuple[bool, Figures]:
    """What three daemons cost that have nothing to do."""
    with tempfile.TemporaryDirectory() as folder, LocalCluster(3, Path(folder)) as cluster:
        time.sleep(3)
        before = [cpu_seconds([one.pid]) for one in cluster.daemons]
        time.sleep(seconds)
        after = [cpu_seconds([one.pid]) for one in cluster.daemons]
        shares = [(end - start) / seconds for start, end in zip(before, after, strict=True)]
        most = max(resident_kib(one.pid) for one in cluster.daemons)
    figures = {"percent_of_a_core_each": round(100 * max(shares), 2), "kib_each": float(most)}
    return max(shares) < 0.02 and most < 100 * 1024, figures


def _burn(until: float) -> None:
    while time.monotonic() < until:
        pass


def starved(seconds: float) -> tuple[bool, Figures]:
    """Two busy loops on each core: nobody may be suspected, except for stalls that a daemon
    measured at itself."""
    with tempfile.TemporaryDirectory() as folder, LocalCluster(3, Path(folder)) as cluster:
        time.sleep(3)
        before = _views(cluster)
        until = time.monotonic() + seconds
        loops = [
            multiprocessing.Process(target=_burn, args=(until,))
            for _ in range(2 * (os.cpu_count() or 1))
        ]
        for loop in loops:
            loop.start()
        for loop in loops:
            loop.join()
        changes = _views(cluster) - before
        stalls = asyncio.run(_stalls(cluster))
    return changes <= stalls, {"changes": changes, "stalls": stalls, "seconds": seconds}


def flooded(seconds: float) -> tuple[bool, Figures]:
    """What is left of the rate while a daemon gets packets of noise, many in a second. With and
    without by turns, for the machine is not the same from one moment to the next."""
    rates: dict[bool, list[float]] = {False: [], True: []}
    with tempfile.TemporaryDirectory() as folder, LocalCluster(3, Path(folder)) as cluster:
        cluster.await_merge()
        for noisy in (False, True) * 3:
            noise = multiprocessing.Process(
                target=_noise, args=(cluster.daemons[1].udp_port, seconds + 3, noisy)
            )
            noise.start()
            rates[noisy].append(_rate(cluster, seconds))
            noise.join()
        refused = asyncio.run(_refused(cluster.addresses[1]))
    ratio = median(rates[True]) / median(rates[False])
    figures = {"ratio": round(ratio, 3), "refused": refused, "rate": median(rates[False])}
    return ratio >= 0.8 and refused > 0, figures


def _noise(port: int, seconds: float, at_daemon: bool) -> None:
    """NOISE_RATE packets a second, in bursts of a hundredth, to the daemon; or to nobody, for
    who makes the noise takes time of this machine, too."""
    rng = Random(1)
    packets = [rng.randbytes(rng.randrange(1, 1400)) for _ in range(200)]
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as nobody,
    ):
        nobody.bind(("127.0.0.1", 0))
        to = ("127.0.0.1", port) if at_daemon else nobody.getsockname()
        until = time.monotonic() + seconds
        due = time.monotonic()
        while due < until:
            for packet in packets:
                sender.sendto(packet, to)
            due += len(packets) / NOISE_RATE
            time.sleep(max(0.0, due - time.monotonic()))


def _rate(cluster: LocalCluster, seconds: float) -> float:
    command = [sys.executable, "-m", "antiphon", "bench", "flood", "--seconds", str(seconds)]
    for address in cluster.addresses:
        command += ["--connect", address]
    done = subprocess.run([*command, "--json"], stdout=subprocess.PIPE, text=True, check=True)
    told = msgspec.json.decode(done.stdout.splitlines()[-1], type=dict[str, object])
    return float(str(told["messages_per_second"]))


async def _refused(address: str) -> int:
    async with await antiphon.connect(address) as session:
        status = await session.query("status")
    return sum(status["drops"].values())


def _views(cluster: LocalCluster) -> int:
    return sum(one.log.read_text().count(" view: ") for one in cluster.daemons)


async def _stalls(cluster: LocalCluster) -> int:
    found = 0
    for address in cluster.addresses:
        async with await antiphon.connect(address) as session:
            status = await session.query("status")
            found += status["stalls"].get("times", 0)
    return found
