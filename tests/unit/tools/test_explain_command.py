"""`antiphon explain`: what it prints and how it exits."""

import json

from click.testing import CliRunner, Result

from antiphon.core.codes import CODES
from antiphon.tools.explain_command import explain


def call(*arguments: str) -> Result:
    return CliRunner().invoke(explain, [*arguments], catch_exceptions=False)


def test_a_code_is_told_with_cause_and_remedy() -> None:
    told = call("slow")
    assert told.exit_code == 0
    for part in CODES["slow"]:
        assert part in told.output
    assert json.loads(call("slow", "--json").output) == {"code": "slow", **CODES["slow"]._asdict()}


def test_all_codes_are_listed() -> None:
    assert [line.split()[0] for line in call("--list").output.splitlines()] == sorted(CODES)
    rows = [json.loads(line) for line in call("--list", "--json").output.splitlines()]
    assert {row["code"] for row in rows} == set(CODES)


def test_an_unknown_code_exits_with_1_and_a_hint() -> None:
    near = call("slwo")
    assert (near.exit_code, near.stdout) == (1, "")
    assert "did you mean slow" in near.stderr
    assert "--list" in call("%").stderr


def test_one_of_code_and_list_is_needed() -> None:
    assert call().exit_code == 2
    assert call("slow", "--list").exit_code == 2
