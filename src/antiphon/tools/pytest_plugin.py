"""The pytest fixture `antiphon_cluster`: real daemons for the tests of an application.

    def test_my_service(antiphon_cluster):
        cluster = antiphon_cluster(3)
        with antiphon.blocking.connect(cluster.addresses) as session:
            ...
        cluster.kill("two")

It comes with the package: pytest finds it by the entry point `pytest11`.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from antiphon.tools.cluster import LocalCluster

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
            cluster.await_merge()
            return cluster

        yield start
