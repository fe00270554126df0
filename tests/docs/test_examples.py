"""Every example on a page runs. Commands that take long run with fewer seeds."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from antiphon.sim.scenario import parse_scenario
from tests.docs.pages import PAGES, ROOT, Block, blocks, name_of

SEEDS = 2
"""Of a range in an example."""

LANGUAGES = {"console", "python", "text", ""}
"""A picture has no language; a text that begins with `# name.txt` is that file."""

EXAMPLES = [(page, block) for page in PAGES for block in blocks(page)]


def named(language: str) -> list[object]:
    return [
        pytest.param(page, block, id=f"{name_of(page)}:{block.line}")
        for page, block in EXAMPLES
        if block.language == language
    ]


def test_every_block_is_of_a_kind_that_is_tested() -> None:
    assert {block.language for _, block in EXAMPLES} <= LANGUAGES


@pytest.mark.parametrize(("page", "block"), named("python"))
def test_python_runs(page: Path, block: Block) -> None:
    code = compile(block.text, f"{name_of(page)}:{block.line}", "exec")
    exec(code, {"__name__": "example"})


@pytest.mark.parametrize(("page", "block"), named("console"))
def test_commands_run(page: Path, block: Block, tmp_path: Path) -> None:
    write_files(page, block, tmp_path)
    for line in block.text.splitlines():
        assert line.startswith("$ "), line
        command, _, remark = line[2:].partition("#")
        words = quickened(shlex.split(command))
        ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
        told = f"{line}\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}"
        assert ran.returncode in exit_codes(words, remark), told


def write_files(page: Path, block: Block, folder: Path) -> None:
    """The files that stand above the commands on the page."""
    for other in blocks(page):
        name = re.match(r"# ([\w.-]+\.txt)\n", other.text)
        if other.language == "text" and other.line < block.line and name:
            (folder / name[1]).write_text(other.text)


def quickened(words: list[str]) -> list[str]:
    """The same command with this Python, and over few seeds."""
    if words[0] == "make":
        return ["make", "--directory", str(ROOT), "--dry-run", *words[1:]]
    assert words[0] == "./antiphon", words
    quick = [sys.executable, "-m", "antiphon"]
    for word in words[1:]:
        wide = re.fullmatch(r"(\d+):(\d+)", word)
        quick += [f"{wide[1]}:{int(wide[1]) + SEEDS}", "--jobs", "1"] if wide else [word]
    return quick


def exit_codes(words: list[str], remark: str) -> set[int]:
    if "--mutant" in words:
        return {0, 1}  # not every seed shows every bug
    said = re.search(r"exits with (\d)", remark)
    return {int(said[1])} if said else {0}


@pytest.mark.parametrize(("page", "block"), named("text"))
def test_scripts_can_be_read(page: Path, block: Block) -> None:
    assert str(parse_scenario(block.text).script)
