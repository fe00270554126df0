"""`antiphon sim mutants`: what it prints, how it ends, and that assertions are off."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from rich.console import Console

from antiphon.sim.mutants import MUTANTS
from antiphon.sim.mutants.hunt import PROMISES_OWED, Chase
from antiphon.tools import mutants_command
from antiphon.tools.mutants_command import Wish, hunt, mutants, seeds_text

NAMES = tuple(MUTANTS)[:2]
ALL = Wish(quick=False, sites=False, only=(), jobs=1, as_json=True, remember=False)


def end_of(
    monkeypatch: pytest.MonkeyPatch, chases: list[Chase], wish: Wish = ALL, failing: Any = ()
) -> int:
    """How the command ends if the hunt goes like this."""
    monkeypatch.setattr(Wish, "names", NAMES)
    monkeypatch.setattr(mutants_command, "chase_all", lambda *arguments: iter(chases))
    monkeypatch.setattr(mutants_command, "unsound", lambda sites, seeds, jobs: list(failing))
    return hunt(wish)


def caught(name: str, *promises: str) -> Chase:
    return Chase(name, False, 3, promises, 4, 1.5)


def test_all_caught_is_a_success(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chases = [caught(NAMES[1], "P1"), caught(NAMES[0], *PROMISES_OWED)]
    assert end_of(monkeypatch, chases) == 0
    figures = msgspec.json.decode(capsys.readouterr().out.splitlines()[-1])
    assert figures["planted"] == figures["caught"] == 2
    assert figures["survivors"] == []


def test_a_survivor_is_named_and_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chases = [caught(NAMES[0], *PROMISES_OWED), Chase(NAMES[1], False, None, (), 200, 99.0)]
    assert end_of(monkeypatch, chases) == 1
    told = capsys.readouterr().out
    assert f"{NAMES[1]} survived" in told
    assert msgspec.json.decode(told.splitlines()[-1])["survivors"] == [NAMES[1]]


def test_a_survivor_that_raised_is_told_as_such(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chases = [caught(NAMES[0], *PROMISES_OWED), Chase(NAMES[1], False, None, (), 200, 99.0, 150)]
    assert end_of(monkeypatch, chases) == 1
    assert "It raised on 150 of 200 seeds" in capsys.readouterr().out


def test_a_promise_that_catches_nothing_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chases = [caught(NAMES[0], *PROMISES_OWED[1:]), caught(NAMES[1], "P1")]
    assert end_of(monkeypatch, chases) == 1
    figures = msgspec.json.decode(capsys.readouterr().out.splitlines()[-1])
    assert figures["promises_without_mutant"] == [PROMISES_OWED[0]]
    assert end_of(monkeypatch, chases, replace(ALL, only=NAMES)) == 0


def test_a_node_that_fails_without_a_mutant_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chases = [caught(name, *PROMISES_OWED) for name in NAMES]
    assert end_of(monkeypatch, chases, failing=[2]) == 1
    assert "without a mutant" in capsys.readouterr().out


def test_it_calls_itself_with_assertions_off(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[list[str]] = []

    def run(command: list[str], **named: Any) -> Any:
        called.append(command)
        return SimpleNamespace(returncode=7)

    monkeypatch.setattr(subprocess, "run", run)
    arguments = ["--quick", "--sites", "--json", "--jobs", "1", "--only", NAMES[0]]
    assert CliRunner().invoke(mutants, arguments).exit_code == 7
    expected = "-O -m antiphon sim mutants --quick --json --sites --jobs=1".split()
    assert called == [[sys.executable, *expected, f"--only={NAMES[0]}"]]


def test_seeds_are_written_down_for_the_quick_look(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "seeds.py"
    file.write_text(mutants_command.SEEDS_FILE.read_text())
    monkeypatch.setattr(mutants_command, "SEEDS_FILE", file)
    monkeypatch.setattr(mutants_command, "SEEDS", {NAMES[0]: 8, NAMES[1]: 9, "gone": 7})
    chases = [caught(NAMES[0], "P1"), Chase(NAMES[1], False, None, (), 200, 99.0)]
    end_of(monkeypatch, chases, replace(ALL, only=NAMES, remember=True))
    written: dict[str, Any] = {}
    exec(file.read_text(), written)
    assert written["SEEDS"] == {NAMES[0]: 3, NAMES[1]: 9}


def test_a_seed_of_the_other_swarm_is_not_written_down(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "seeds.py"
    file.write_text(mutants_command.SEEDS_FILE.read_text())
    monkeypatch.setattr(mutants_command, "SEEDS_FILE", file)
    monkeypatch.setattr(mutants_command, "SEEDS", {NAMES[0]: 8})
    abroad = Chase(NAMES[0], True, 3, ("P1",), 4, 1.5)
    end_of(monkeypatch, [abroad], replace(ALL, only=NAMES[:1], sites=True, remember=True))
    assert f'"{NAMES[0]}": 8,' in file.read_text()


def test_each_swarm_is_tried_without_mutants_as_far_as_it_was_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[tuple[bool, range]] = []

    def unsound(sites: bool, seeds: range, jobs: int) -> list[int]:
        tried.append((sites, seeds))
        return []

    chases = [caught(NAMES[0], "P1"), Chase(NAMES[1], True, 6, ("P2",), 7, 1.5)]
    monkeypatch.setattr(mutants_command, "unsound", unsound)
    mutants_command._print_unsound(chases, 1, Console(quiet=True))
    assert tried == [(False, range(4)), (True, range(7))]


def test_the_file_of_seeds_is_what_would_be_written() -> None:
    assert seeds_text({}) == mutants_command.SEEDS_FILE.read_text()


def test_an_unknown_mutant_is_refused() -> None:
    result = CliRunner().invoke(mutants, ["--only", "no-such"])
    assert result.exit_code == 2
    assert "no-such" in result.output


def test_the_list_tells_every_mutant(capsys: pytest.CaptureFixture[str]) -> None:
    mutants_command._print_list(Console(width=200))
    told = capsys.readouterr().out
    for mutant in MUTANTS.values():
        assert mutant.name in told
        assert mutant.sentence in told


def test_one_mutant_is_really_caught() -> None:
    """Through the whole command, in processes of its own."""
    command = [sys.executable, "-m", "antiphon", "sim", "mutants", "--quick", "--json", "--jobs=1"]
    done = subprocess.run(
        [*command, "--only=together-with-all"], capture_output=True, check=True, text=True
    )
    figures = msgspec.json.decode(done.stdout.splitlines()[-1])
    assert (figures["planted"], figures["caught"]) == (1, 1)
