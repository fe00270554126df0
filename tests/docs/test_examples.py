"""Every example on a page runs, those that need a daemon against a real cluster. Commands that
take long run with fewer seeds and for less time."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import antiphon
from antiphon.sim.scenario import parse_scenario
from antiphon.tools.cluster import LocalCluster
from tests.docs.console import SECONDS, Terminal, with_ports
from tests.docs.pages import PAGES, Block, blocks, name_of

LANGUAGES = {"console", "python", "text", ""}
"""A picture has no language; a text that begins with `# name.txt` is that file."""

EXAMPLES = [(page, block) for page in PAGES for block in blocks(page)]


def named(language: str) -> list[object]:
    return [
        pytest.param(page, block, id=f"{name_of(page)}:{block.line}")
        for page, block in EXAMPLES
        if block.language == language
    ]


@pytest.fixture(scope="module")
def shared_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with LocalCluster(3, tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture
def cluster(shared_cluster: LocalCluster) -> Iterator[LocalCluster]:
    """In one piece at the beginning of every example, whatever the last one did."""
    shared_cluster.await_merge()
    yield shared_cluster
    for address in shared_cluster.addresses:
        with antiphon.blocking.connect(address) as session:
            session.query("partition")


def test_every_block_is_of_a_kind_that_is_tested() -> None:
    assert {block.language for _, block in EXAMPLES} <= LANGUAGES


@pytest.mark.parametrize(("page", "block"), named("python"))
def test_python_runs(page: Path, block: Block, cluster: LocalCluster, tmp_path: Path) -> None:
    # Empty lines above: what goes wrong is told with its line on the page.
    text = "\n" * block.line + with_ports(block.text, cluster)
    is_test = re.search(r"^def test_", text, re.M) is not None
    file = tmp_path / ("test_example.py" if is_test else "example.py")
    file.write_text(text)
    tool = ["-m", "pytest", "-q"] if is_test else ["-W", "error"]
    ran = subprocess.run(
        [sys.executable, *tool, str(file)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert ran.returncode == 0, f"{name_of(page)}\n{ran.stdout}{ran.stderr}"


@pytest.mark.parametrize(("page", "block"), named("console"))
def test_commands_run(page: Path, block: Block, cluster: LocalCluster, tmp_path: Path) -> None:
    write_files(page, block, tmp_path, cluster)
    terminal = Terminal(tmp_path, cluster)
    try:
        for line in block.text.splitlines():
            assert line.startswith("$ "), line
            terminal.run(line.removeprefix("$ "))
    finally:
        terminal.close()


def write_files(page: Path, block: Block, folder: Path, cluster: LocalCluster) -> None:
    """The files that stand above the commands on the page."""
    for other in blocks(page):
        name = re.match(r"# ([\w.-]+\.(?:txt|py))\n", other.text)
        if other.language in ("text", "python") and other.line < block.line and name:
            (folder / name[1]).write_text(with_ports(other.text, cluster))


@pytest.mark.parametrize(("page", "block"), named("text"))
def test_scripts_can_be_read(page: Path, block: Block) -> None:
    assert str(parse_scenario(block.text).script)
