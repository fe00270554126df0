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
    encrypted: bool = False,
) -> Iterator[tuple[Target, LocalCluster]]:
    """A cluster that has merged; its files are removed, unless a directory is named."""
    with tempfile.TemporaryDirectory(prefix="antiphon-bench-") as made:
        place = directory or Path(made)
        with LocalCluster(
            count,
            place,
            sites=sites,
            level=level,
            wrapper=wrapper,
            extra=extra,
            encrypted=encrypted,
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
    return sum(_cpu_seconds(_stat(pid)) for pid in pids)


def family_cpu_seconds(pid: int) -> dict[int, float]:
    """The same of each process that this one started, directly or not, and of itself."""
    children: dict[int, list[int]] = {}
    used: dict[int, float] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        one = int(entry.name)
        try:
            fields = _stat(one)
        except OSError:
            continue  # it has ended
        children.setdefault(int(fields[1]), []).append(one)
        used[one] = _cpu_seconds(fields)
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return {one: used[one] for one in found}


def _stat(pid: int) -> list[str]:
    """What the system tells of a process, from its state on. The name of the program may hold
    anything, so what follows its last bracket counts."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _cpu_seconds(fields: Sequence[str]) -> float:
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def _is_local(pid: int) -> bool:
    try:
        return b"antiphon" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
