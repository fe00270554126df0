"""The daemons that a bench measures: a cluster of its own on loopback, or one that runs."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from antiphon.client import blocking
from antiphon.tools.cluster import LocalCluster

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class Status(msgspec.Struct, frozen=True):
    """What matters here of a daemon's answer."""

    daemon: str
    pid: int
    members: list[str]


class Target(msgspec.Struct, frozen=True):
    addresses: list[str]
    pids: list[int]
    """Of daemons on this host."""


@contextmanager
def own_daemons(
    count: int,
    level: str = "views",
    directory: Path | None = None,
    wrapper: Sequence[str] = (),
    sites: int = 1,
    extra: str = "",
) -> Iterator[tuple[Target, LocalCluster]]:
    """A cluster that has merged; its files are removed, unless a directory is named."""
    with tempfile.TemporaryDirectory(prefix="antiphon-bench-") as made:
        place = directory or Path(made)
        with LocalCluster(
            count, place, sites=sites, level=level, wrapper=wrapper, extra=extra
        ) as cluster:
            cluster.await_merge()
            yield Target(cluster.addresses, [one.pid for one in cluster.daemons]), cluster


def running_daemons(addresses: Sequence[str]) -> Target:
    """Daemons elsewhere have no process here, so nothing is told about their CPU."""
    found = [status(address) for address in addresses]
    here = [one.pid for one in found if _is_local(one.pid)]
    return Target([*addresses], here if len(here) == len(found) else [])


def status(address: str) -> Status:
    with blocking.connect(address) as session:
        return msgspec.convert(session.query("status"), Status)


def cpu_seconds(pids: Sequence[int]) -> float:
    """That these processes have used so far, in user and kernel mode."""
    ticks = 0
    for pid in pids:
        # The name of the program may hold anything, so what follows its last bracket counts.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / TICKS_PER_SECOND


def _is_local(pid: int) -> bool:
    try:
        return b"antiphon" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
