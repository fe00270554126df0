"""`antiphon keys`: what it writes, what it prints, how it exits."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from antiphon.daemon.secure.keyfile import read_keys
from antiphon.tools.keys_command import keys


def call(*arguments: object) -> Result:
    return CliRunner().invoke(keys, [str(word) for word in arguments], catch_exceptions=False)


def roles(result: Result) -> list[tuple[str, str]]:
    assert result.exit_code == 0, result.output
    return [(key["role"], key["name"]) for key in json.loads(result.output)["keys"]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.key"
    assert call("new", path).exit_code == 0
    return path


def test_a_rotation_step_by_step(file: Path) -> None:
    first = read_keys(file).current
    assert file.stat().st_mode & 0o777 == 0o600
    assert roles(call("add", file, "--json")) == [("current", "k1"), ("accept", "k2")]
    assert roles(call("promote", file, "--json")) == [("current", "k2"), ("accept", "k1")]
    assert read_keys(file).accepted == (first,)
    assert roles(call("drop", file, "k1", "--json")) == [("current", "k2")]
    assert read_keys(file).current.secret != first.secret


def test_names_may_be_given(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    assert roles(call("new", path, "--name", "spring", "--json")) == [("current", "spring")]
    call("add", path, "--name", "summer")
    call("add", path, "--name", "autumn")
    assert call("promote", path).exit_code == 1  # which of the two?
    assert roles(call("promote", path, "autumn", "--json"))[0] == ("current", "autumn")


def test_secrets_are_not_shown(file: Path) -> None:
    ring = read_keys(file)
    for shown in (call("show", file), call("show", file, "--json"), call("add", file)):
        assert f"{ring.current.id:08x}" in shown.output
        assert ring.current.secret.hex() not in shown.output


@pytest.mark.parametrize(
    "words",
    [["new"], ["drop", "k1"], ["drop", "k9"], ["promote"], ["add", "--name", "k1"]],
)
def test_what_cannot_be_done_changes_nothing_and_exits_with_1(file: Path, words: list[str]) -> None:
    before = file.read_bytes()
    result = call(words[0], file, *words[1:])
    assert result.exit_code == 1 and len(result.output.splitlines()) == 1
    assert file.read_bytes() == before


def test_a_file_that_others_can_read_is_refused_with_the_remedy(file: Path) -> None:
    file.chmod(0o644)
    result = call("show", file)
    assert result.exit_code == 1 and "chmod 600" in result.output


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    result = call("new", tmp_path / "nowhere" / "keys")
    assert result.exit_code == 1 and "No such file" in result.output


def test_wrong_usage_exits_with_2() -> None:
    assert call("drop").exit_code == 2
