"""`antiphon config`: what it prints and how it exits."""

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from antiphon.daemon.config.examples import EXAMPLES
from antiphon.tools.config_command import config

GOOD = '[cluster]\nname = "lab"\n[[daemon]]\nname = "one"\naddress = "127.0.0.1:4813"\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.toml"
    path.write_text(GOOD)
    return path


def call(*arguments: object) -> Result:
    return CliRunner().invoke(config, [*map(str, arguments)], catch_exceptions=False)


def test_a_good_file_is_fine(file: Path) -> None:
    checked = call("check", file)
    assert checked.exit_code == 0
    assert "fine, 1 daemon, encryption off, hash " in checked.output
    assert json.loads(call("check", file, "--json").output) == {"ok": True, "findings": []}


def test_a_bad_file_is_told_line_by_line(file: Path) -> None:
    file.write_text(GOOD.replace("4813", "70000") + "sokket = 1\n")
    checked = call("check", file)
    assert checked.exit_code == 1
    lines = checked.output.splitlines()
    assert [line.removeprefix(f"{file}:")[:18] for line in lines] == [
        *("5: daemon[1].addre", "6: daemon[1].sokke")
    ]
    told = call("check", file, "--json")
    assert told.exit_code == 1
    findings = json.loads(told.output)["findings"]
    assert [(one["line"], one["key"]) for one in findings] == [
        *((5, "daemon[1].address"), (6, "daemon[1].sokket"))
    ]
    for command in (["show", file], ["show", file, "--json"]):
        assert call(*command).exit_code == 1


def test_wrong_usage_exits_with_2(tmp_path: Path) -> None:
    assert call("check", tmp_path / "none").exit_code == 2
    assert call("check").exit_code == 2
    assert call("example", "huge").exit_code == 2


def test_show_tells_the_cluster_or_everything(file: Path) -> None:
    assert "127.0.0.1:4813" in call("show", file).output
    overview = json.loads(call("show", file, "--json").output)
    assert (overview["cluster"], overview["daemons"][0]["name"]) == ("lab", "one")
    effective = call("show", file, "--effective").output
    tables = tomllib.loads(effective)
    assert tables["timeouts"]["token_loss"] == "150ms"
    assert json.loads(call("show", file, "--effective", "--json").output) == {
        **tables,
        "edge": [],
        "retain": [],
        "access": [],
    }


@pytest.mark.parametrize("kind", EXAMPLES)
def test_an_example_is_accepted_by_check(kind: str, tmp_path: Path) -> None:
    text = call("example", kind).output
    assert json.loads(call("example", kind, "--json").output) == {"kind": kind, "toml": text}
    file = tmp_path / "cluster.toml"
    file.write_text(text)
    checked = call("check", file)
    assert checked.exit_code == 0
    assert "warning: cluster.key_file" in checked.output
    for secret in ("cluster.key", "tokens"):
        (tmp_path / secret).touch(0o600)
    assert "warning" not in call("check", file).output


def test_a_spread_conf_becomes_a_file_of_ours(tmp_path: Path) -> None:
    file = tmp_path / "spread.conf"
    file.write_text("Spread_Segment 127.0.0.255:4803 {\n one 127.0.0.1\n}\nDaemonUser = spread\n")
    result = call("import-spread", file)
    assert result.exit_code == 0
    assert tomllib.loads(result.stdout)["daemon"][0]["name"] == "one"
    assert result.stderr.startswith(f"{file}:4: DaemonUser: no counterpart; ")
    told = json.loads(call("import-spread", file, "--json").output)
    assert (told["ok"], told["toml"], told["findings"]) == (True, result.stdout, [])
    assert [one["line"] for one in told["unmatched"]] == [4]


def test_what_is_no_spread_conf_exits_with_1(tmp_path: Path) -> None:
    file = tmp_path / "spread.conf"
    file.write_text("{")
    assert call("import-spread", file).exit_code == 1
    assert json.loads(call("import-spread", file, "--json").output)["ok"] is False
    file.write_text("Spread_Segment 127.0.0.255:4803 { a 127.0.0.1 a 127.0.0.1 }")
    twice = call("import-spread", file)
    assert twice.exit_code == 1
    assert "daemon[2].name: is the same as daemon[1].name" in twice.stderr
