"""The fixture that ships with the package, used as an application's tests would."""

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import antiphon
from antiphon.tools.pytest_plugin import StartCluster

LEFT_RUNNING = """
import os

def test_a(antiphon_cluster, tmp_path):
    cluster = antiphon_cluster(2)
    assert cluster.directory.is_relative_to(tmp_path)
    print("pids", *(daemon.pid for daemon in cluster.daemons))
    {end}
"""


def test_pytest_finds_it_by_itself() -> None:
    assert "antiphon.tools.pytest_plugin" in {one.value for one in entry_points(group="pytest11")}


def test_the_daemons_have_found_each_other(antiphon_cluster: StartCluster) -> None:
    cluster = antiphon_cluster(2)
    for daemon in cluster.daemons:
        with antiphon.blocking.connect(daemon.address) as session:
            assert sorted(session.query("status")["members"]) == ["one", "two"]


def test_a_daemon_can_be_killed_and_started_again(antiphon_cluster: StartCluster) -> None:
    cluster = antiphon_cluster(2)
    cluster.kill("two")
    cluster.await_merge()
    with antiphon.blocking.connect(cluster.addresses[0]) as session:
        assert session.query("status")["members"] == ["one"]
    cluster.start(["two"])
    cluster.await_merge()
    with antiphon.blocking.connect(cluster.addresses[1]) as session:
        assert sorted(session.query("status")["members"]) == ["one", "two"]


def test_two_clusters_do_not_meet(antiphon_cluster: StartCluster) -> None:
    first, second = antiphon_cluster(1), antiphon_cluster(1)
    assert first.directory != second.directory
    with (
        antiphon.blocking.connect(first.addresses) as here,
        antiphon.blocking.connect(second.addresses) as there,
    ):
        here.join("orders")
        assert there.query("groups")["groups"] == {}


def test_the_configuration_can_be_added_to(antiphon_cluster: StartCluster) -> None:
    rule = '[[access]]\ngroup = "closed"\nwho = ["*"]\nmay = []\n'
    cluster = antiphon_cluster(1, extra=rule)
    with antiphon.blocking.connect(cluster.addresses) as session:
        with pytest.raises(antiphon.Refused) as refused:
            session.join("closed")
    assert refused.value.code == "not_allowed"


def test_a_cluster_that_cannot_merge_is_told(antiphon_cluster: StartCluster) -> None:
    cluster = antiphon_cluster(2)
    with antiphon.blocking.connect(cluster.addresses[0]) as session:
        session.query("partition", **{"with": ["one"]})
    cluster.kill("two")
    cluster.await_merge()
    cluster.start(["two"])
    with pytest.raises(antiphon.UsageError, match="did not meet"):
        cluster.await_merge(seconds=0.5)


@pytest.mark.parametrize(("end", "code"), [("pass", 0), ("assert False", 1)])
def test_nothing_is_left_running(tmp_path: Path, end: str, code: int) -> None:
    """Neither after a test that passes nor after one that fails."""
    (tmp_path / "test_a.py").write_text(LEFT_RUNNING.format(end=end))
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "test_a.py"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == code, ran.stdout + ran.stderr
    pids = next(line for line in ran.stdout.splitlines() if line.startswith("pids")).split()[1:]
    assert len(pids) == 2
    assert not [pid for pid in pids if Path("/proc", pid).exists()]
