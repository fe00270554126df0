"""`antiphon records`: what it prints and how it exits."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from antiphon.core.service import Service
from antiphon.core.trace import Kind, Record
from antiphon.records.writer import SegmentWriter
from antiphon.tools.records_command import records
from tests.unit.check.story import Pair


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(records, list(map(str, arguments)), catch_exceptions=False)


def write(directory: Path, rows: list[Record]) -> None:
    out = SegmentWriter(directory, "s", "sim", "r", clock=lambda: 0)
    for row in rows:
        out.add(row)
    out.close()


@pytest.fixture
def pair() -> Pair:
    pair = Pair()
    pair.say(Service.AGREED)
    return pair


def test_show_prints_a_line_per_row(tmp_path: Path, pair: Pair) -> None:
    write(tmp_path, pair.records)
    shown = call("show", tmp_path).output.splitlines()
    assert len(shown) == 1 + len(pair.records)
    assert shown[0].split()[:3] == ["time", "process", "kind"]


def test_show_chooses_rows(tmp_path: Path, pair: Pair) -> None:
    write(tmp_path, pair.records)
    shown = call("show", tmp_path, "--kind", "hand", "--kind", "view", "--json").output
    rows = [json.loads(line) for line in shown.splitlines()]
    assert {row["kind"] for row in rows} == {"hand", "view"}
    assert len(call("show", tmp_path, "--limit", "2").output.splitlines()) == 3
    daemons = call("show", tmp_path, "--session", "-1", "--json").output.splitlines()
    assert len(daemons) == sum(row.session == -1 for row in pair.records)


def test_a_good_run_is_judged_so(tmp_path: Path, pair: Pair) -> None:
    write(tmp_path, pair.records)
    result = call("judge", tmp_path, "--ended")
    assert (result.exit_code, "every promise was kept" in result.output) == (0, True)


def test_a_bad_run_is_judged_so(tmp_path: Path, pair: Pair) -> None:
    message = pair.send(pair.ann, Service.AGREED, "g")
    pair.receive(message, pair.one, pair.two, pair.ann)
    write(tmp_path, pair.records)
    assert call("judge", tmp_path).exit_code == 0, "it may still come"
    result = call("judge", tmp_path, "--ended", "--json")
    figures = json.loads(result.output.splitlines()[-1])
    assert result.exit_code == 1
    assert figures["violations"] > 0 and figures["promises"] and figures["lost"] == 0


def test_a_row_that_all_is_quiet_says_that_the_run_ended(tmp_path: Path, pair: Pair) -> None:
    write(tmp_path, [*pair.records, Record(Kind.QUIET, pair.time + 1, 0)])
    figures = json.loads(call("judge", tmp_path, "--json").output.splitlines()[-1])
    assert figures["ended"] is True


def test_a_run_with_rows_missing_gets_no_good_verdict(tmp_path: Path, pair: Pair) -> None:
    lost = Record(Kind.DROP, 0, 1, 1, reason="disk_full", value=3)
    write(tmp_path / "lost", [lost, *pair.records])
    assert call("judge", tmp_path / "lost").exit_code == 1
    write(tmp_path / "torn", pair.records)
    (tmp_path / "torn" / "s-r-00000002.arrow").write_bytes(b"ARROW1 and no more")
    result = call("judge", tmp_path / "torn")
    assert (result.exit_code, "no verdict" in result.output) == (1, True)


@pytest.mark.parametrize("command", ["show", "judge"])
def test_a_place_without_records_is_wrong_usage(tmp_path: Path, command: str) -> None:
    assert call(command, tmp_path / "nowhere").exit_code == 2
