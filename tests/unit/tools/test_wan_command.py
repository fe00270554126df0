"""`antiphon wan` as far as it needs no root: what it shows, and how it refuses."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from antiphon.tools.wan.echo import Echoes, checksum, request, summary
from antiphon.tools.wan_command import wan


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(wan, arguments)
    return done.exit_code, done.output


def test_show_prints_every_path() -> None:
    code, output = run("show", "six-sites")
    assert code == 0
    rows = [line.split() for line in output.splitlines() if line.strip()]
    assert ["mae-east", "ucsb", "-", "47.2", "0.6", "0", "3.1", "103.8"] in rows
    assert len(rows) == 2 + 6 * 5 + 1


def test_show_prints_json_with_the_places_between() -> None:
    code, output = run("show", "two-sites:delay_ms=20,loss=0.25", "--json")
    assert code == 0
    first, second = map(json.loads, output.splitlines())
    expected = {"delay_ms": 20.0, "jitter_ms": 0.0, "loss": 0.25, "mbit": 0.0, "ping_ms": 40.0}
    assert first == {"from": "a", "to": "b", "by": [], **expected}
    assert second == {"from": "b", "to": "a", "by": [], **expected}


def test_a_preset_printed_as_a_file_shows_the_same(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(run("show", "three-sites", "--toml")[1])
    assert run("show", str(file)) == run("show", "three-sites")


def test_a_wrong_file_is_wrong_usage_by_line_and_key(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[[site]]\nname = "a"\nhosts = 0\n')
    code, output = run("show", str(file))
    assert code == 2 and f"{file}:3: site[1].hosts: 0 hosts; use 1 to 250" in output
    assert run("show", "nowhere")[0] == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("up", "two-sites"),
        ("ping", "two-sites", "a", "b"),
        ("run", "two-sites", "--at", "a", "--", "true"),
    ],
)
def test_without_root_it_is_said_what_is_missing(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    code, output = run(*arguments)
    assert code == 2 and "run it as root" in output


def test_an_echo_request_has_the_right_checksum() -> None:
    assert checksum(bytes.fromhex("0001f203f4f5f6f7")) == 0x220D
    assert checksum(b"\x01") == 0xFEFF
    for size in (0, 1, 1024):
        packet = request(77, 3, size)
        assert len(packet) == 8 + size and checksum(packet) == 0
        assert packet[0] == 8


def test_echoes_are_summed_up() -> None:
    assert summary(5, []) == Echoes(5, 0)
    assert summary(5, [1.0, 2.0, 3.0, 2.0]) == Echoes(5, 4, 1.0, 2.0, 3.0, 0.5**0.5)
