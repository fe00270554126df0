"""What `antiphon pipeline ingest` refuses before Spark starts, and what it says of a batch."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from antiphon.tools.pipeline_ingest import ingest, tell_as_line


@pytest.mark.parametrize("option", [["--every", "1"], ["--until-idle", "3"]])
def test_options_of_following_need_it(tmp_path: Path, option: list[str]) -> None:
    done = CliRunner().invoke(ingest, [str(tmp_path), "--into", str(tmp_path / "t"), *option])
    assert done.exit_code == 2 and "--follow" in done.output


def test_a_place_that_is_not_there(tmp_path: Path) -> None:
    words = [str(tmp_path / "nowhere"), "--into", str(tmp_path), "--follow"]
    done = CliRunner().invoke(ingest, words)
    assert done.exit_code == 2 and "there is no" in done.output


COUNTS = {"files": 3, "segments": 0, "rows": 0, "open_segments": 1, "open_rows": 7, "known": 2}


def test_a_batch_that_took_nothing_is_not_worth_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    tell_as_line(3, COUNTS)
    assert capsys.readouterr().out == ""


def test_a_line_says_what_was_taken_and_refused(capsys: pytest.CaptureFixture[str]) -> None:
    tell_as_line(3, COUNTS | {"segments": 2, "rows": 40_000, "torn": 1})
    said = "batch 3: 40,000 rows of 2 segments, 7 rows in hand, 1 torn\n"
    assert capsys.readouterr().out == said
