"""What is measured on a stage, as the papers did (SP-210, SP-221, SP-222)."""

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec

from antiphon.core.service import Service
from antiphon.tools.bench.wan.posts import Post, Report
from antiphon.tools.bench.wan.stage import Client, Stage
from antiphon.tools.wan.echo import Echoes, echo_command
from antiphon.tools.wan.emulation import Emulation

SIZE = 1024
TRIPS = 30
SETTLE_SECONDS = 1.0
"""A load runs so long before anything is measured beside it."""


@dataclass(frozen=True, slots=True)
class Trips:
    least: float
    mean: float
    most: float

    @staticmethod
    def of(times: Sequence[float]) -> "Trips":
        return Trips(min(times), sum(times) / len(times), max(times))


def stream(
    stage: Stage,
    source: str,
    receivers: Sequence[str],
    messages: int,
    kbits: float = 0.0,
    service: Service = Service.RELIABLE,
    size: int = SIZE,
) -> dict[str, Report]:
    """So many messages from one site, and what each receiver says of them."""
    group = stage.new_group()
    sinks = [
        stage.client(host, Post("sink", stage.address(host), group, messages, size))
        for host in receivers
    ]
    post = Post("source", stage.address(source), group, messages, size, service, kbits)
    sender = stage.client(source, post)
    for client in (*sinks, sender):
        client.go()
    try:
        found = {sink.host: sink.report() for sink in sinks}
    finally:
        stage.check()
    for client in (*sinks, sender):
        client.end()
    return found


def throughput(
    stage: Stage, source: str, receivers: Sequence[str], messages: int
) -> dict[str, float]:
    """Of a stream of reliable messages, in kbit/s of payload at each receiver."""
    reports = stream(stage, source, receivers, messages)
    return {host: kbit(report, SIZE) for host, report in reports.items()}


def kbit(report: Report, size: int) -> float:
    """From the first message to the last; the first took no time of these."""
    return (report.messages - 1) * size * 8e6 / (report.ended - report.began)


def round_trips(
    stage: Stage,
    source: str,
    target: str,
    size: int = SIZE,
    count: int = TRIPS,
    service: Service = Service.RELIABLE,
) -> Trips:
    """A message there, its echo back, again and again. The first one is not counted: paths and
    caches are cold."""
    group = stage.new_group()
    echo = stage.client(target, Post("echo", stage.address(target), group))
    echo.go()
    post = Post("trips", stage.address(source), group, count + 1, size, service)
    sender = stage.client(source, post)
    sender.go()
    times = sender.report().trips_ms
    stage.check()
    sender.end()
    echo.end()
    return Trips.of(times[1:])


@contextmanager
def load(
    stage: Stage, source: str, receivers: Sequence[str], kbits: float = 0.0
) -> Iterator[list[Client]]:
    """Messages of others beside what is measured, for ever: at an even pace, or all it takes.
    Yields those that receive them."""
    group = stage.new_group()
    drains = [stage.client(host, Post("drain", stage.address(host), group)) for host in receivers]
    sender = stage.client(source, Post("source", stage.address(source), group, kbit=kbits))
    for client in (*drains, sender):
        client.go()
    time.sleep(SETTLE_SECONDS)
    try:
        yield drains
    finally:
        for client in (sender, *drains):
            client.end()


def ping(
    emulation: Emulation, source: str, target: str, size: int = SIZE, count: int = TRIPS
) -> Trips:
    """The lower bound: the kernel's own echo, with as many bytes."""
    command = echo_command(emulation.address(target), count, 50.0, size)
    said, _ = emulation.popen(source, command, stdout=subprocess.PIPE).communicate()
    echoes = msgspec.json.decode(said, type=Echoes)
    return Trips(echoes.min_ms, echoes.mean_ms, echoes.max_ms)
