"""The pytest fixture `antiphon_cluster`: real daemons for the tests of an application.

    def test_my_service(antiphon_cluster):
        cluster = antiphon_cluster(3)
        with antiphon.blocking.connect(cluster.addresses) as session:
            ...
        cluster.kill("two")

It comes with the package: pytest finds it by the entry point `pytest11`.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from antiphon.client import blocking
from antiphon.client.errors import SessionError
from antiphon.tools.cluster import LocalCluster

MERGE_SECONDS = 20.0
GLANCE_SECONDS = 0.02

StartCluster = Callable[..., LocalCluster]
"""`start(count=3, *, level="views", extra="")`: a cluster that runs until the test ends.
`extra` is appended to its configuration."""


@pytest.fixture
def antiphon_cluster(tmp_path: Path) -> Iterator[StartCluster]:
    """A function that starts a cluster of daemons on loopback and returns it when all have found
    each other. Its files are below tmp_path, its ports are free ones."""
    with ExitStack() as running:
        started = 0

        def start(count: int = 3, *, level: str = "views", extra: str = "") -> LocalCluster:
            nonlocal started
            started += 1
            folder = tmp_path / f"antiphon-{started}"
            folder.mkdir()
            cluster = LocalCluster(count, folder, level=level, extra=extra)
            running.enter_context(cluster)
            await_merge(cluster)
            return cluster

        yield start


def await_merge(cluster: LocalCluster, seconds: float = MERGE_SECONDS) -> None:
    """Until all daemons that run are in one configuration, and agree on the groups in it."""
    wanted = sorted(daemon.name for daemon in cluster.daemons if daemon.alive)
    until = time.monotonic() + seconds
    for daemon in cluster.daemons:
        while daemon.alive and not has_settled(daemon.address, wanted):
            assert time.monotonic() < until, f"{daemon.name} did not meet {wanted}: {daemon.log}"
            time.sleep(GLANCE_SECONDS)


def has_settled(address: str, wanted: list[str]) -> bool:
    try:
        with blocking.connect(address) as session:
            status = session.query("status")
    except SessionError:
        return False
    return status["groups_state"] == "settled" and sorted(status["members"]) == wanted
