"""The parts of the pages that are made from the code are up to date, and a stale one is found."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.docs.pages import ROOT

SCRIPTS = sorted(path.name for path in (ROOT / "scripts").glob("*_table"))
PAGE = "Before.\n\n<!-- made by scripts/x: part -->\n{}\n<!-- end of part -->\n\nAfter.\n"


@pytest.fixture(scope="module")
def generated() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generated", ROOT / "scripts" / "generated.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_tables() -> None:
    assert {"coverage_table", "record_table", "settings_table", "wire_table"} <= {*SCRIPTS}


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_page_says_what_the_code_says(script: str) -> None:
    """If this fails, run `make docs` and look at what changed."""
    command = [sys.executable, str(ROOT / "scripts" / script), "--check"]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_stale_part_is_found_and_nothing_is_written(
    generated: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generated, "ROOT", tmp_path)
    (tmp_path / "page.md").write_text(PAGE.format("old"))
    assert generated.main("x", {"page.md": {"part": "new"}}, ["--check"]) == 1
    assert (tmp_path / "page.md").read_text() == PAGE.format("old")


def test_a_stale_part_is_written_anew_and_nothing_else(
    generated: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generated, "ROOT", tmp_path)
    (tmp_path / "page.md").write_text(PAGE.format("old"))
    assert generated.main("x", {"page.md": {"part": "new"}}, []) == 0
    assert (tmp_path / "page.md").read_text() == PAGE.format("new")
    assert generated.main("x", {"page.md": {"part": "new"}}, ["--check"]) == 0


def test_a_page_without_marks_is_refused(generated: ModuleType) -> None:
    with pytest.raises(SystemExit):
        generated.filled("no marks here", "x", {"part": "new"})


def test_a_wrong_option_is_refused(generated: ModuleType) -> None:
    assert generated.main("x", {}, ["--chekc"]) == 2
