"""The terminal that runs the pages' commands notices what goes wrong in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.tools.cluster import LocalCluster
from tests.docs.console import Terminal, with_ports


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with LocalCluster(1, tmp_path_factory.mktemp("console")) as cluster:
        yield cluster


@pytest.fixture
def terminal(cluster: LocalCluster, tmp_path: Path) -> Terminal:
    return Terminal(tmp_path, cluster)


@pytest.mark.parametrize(
    "command",
    [
        "./antiphon no-such-command",
        "./antiphon config example lan  # exits with 1",
        ".venv/bin/python no_such_file.py",
        "./antiphon config example nowhere > cluster.toml",
        "./antiphon no-such-command &",
        ".venv/bin/python examples/work_queue.py --connect 1@localhost &",
    ],
)
def test_a_command_that_ends_wrongly(terminal: Terminal, command: str) -> None:
    with pytest.raises(AssertionError):
        terminal.run(command)


@pytest.mark.parametrize(
    "command",
    [
        "./antiphon config example lan",
        "./antiphon config example nowhere  # exits with 2",
        "./antiphon config example lan > cluster.toml",
        ".venv/bin/python examples/chat.py --say hello --lines 1",
        ".venv/bin/python examples/chat.py --connect 4803@localhost --say hello --lines 1",
        "./antiphon sim --seeds 0:50",
        "make demo",
    ],
)
def test_a_command_that_ends_well(terminal: Terminal, command: str) -> None:
    terminal.run(command)


def test_a_command_behind_the_scenes_is_awaited(terminal: Terminal) -> None:
    terminal.run(".venv/bin/python examples/work_queue.py --until 3 &")
    terminal.run(".venv/bin/python examples/work_queue.py --submit 3")
    terminal.close()


def test_only_the_usual_ports_are_others(cluster: LocalCluster) -> None:
    port = cluster.daemons[0].client_port
    assert with_ports("4803@localhost 4813 24803 4804", cluster) == (
        f"{port}@localhost 4813 24803 4804"
    )
