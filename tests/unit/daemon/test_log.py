"""The log: lines for people and programs, within limits, whatever the disk does."""

import io
import os
import sys
from pathlib import Path

import msgspec
import pytest

from antiphon.core.errors import ConfigError
from antiphon.daemon.log import PARTS, REMEMBERED, REPEAT_US, Log


class Wall:
    def __init__(self) -> None:
        self.now = 1_700_000_000.25

    def __call__(self) -> float:
        return self.now


def test_a_line_for_people() -> None:
    out = io.StringIO()
    Log(wall=Wall(), stream=out).info("start", "daemon one", encrypted=True)
    expected = "2023-11-14T22:13:20.250Z info    start: daemon one encrypted=True\n"
    assert out.getvalue() == expected


def test_a_line_for_programs() -> None:
    out = io.StringIO()
    Log(form="json", wall=Wall(), stream=out).error("reload", 'not "so"', backlog=3)
    assert msgspec.json.decode(out.getvalue()) == {
        "time": "2023-11-14T22:13:20.250Z",
        "level": "error",
        "event": "reload",
        "text": 'not "so"',
        "backlog": 3,
    }


@pytest.mark.parametrize(
    ("level", "lines"), [("debug", 4), ("info", 3), ("warning", 2), ("error", 1)]
)
def test_less_important_lines_are_left_out(level: str, lines: int) -> None:
    out = io.StringIO()
    log = Log(level=level, stream=out)
    for say in (log.debug, log.info, log.warning, log.error):
        say("event")
    assert out.getvalue().count("\n") == lines


def test_repeats_are_counted_and_told_later() -> None:
    wall, out = Wall(), io.StringIO()
    log = Log(wall=wall, stream=out)
    for _ in range(1_000):
        log.repeated("drop", "bad_seal", "bad_seal")
    log.repeated("drop", "replayed", "replayed")
    assert out.getvalue().count("\n") == 2
    wall.now += REPEAT_US / 1e6
    log.repeated("drop", "bad_seal", "bad_seal")
    assert out.getvalue().endswith("bad_seal (and 999 more before)\n")


def test_what_was_said_is_remembered_within_bounds() -> None:
    log = Log(stream=io.StringIO())
    for number in range(10 * REMEMBERED):
        log.repeated("drop", str(number), "x")
    assert len(log._said) <= REMEMBERED


def test_all_parts_together_keep_the_limit(tmp_path: Path) -> None:
    limit = 8_000
    log = Log(str(tmp_path / "deep" / "log"), max_bytes=limit)
    for number in range(1_000):
        log.info("event", str(number))
    log._stream.close()
    files = sorted((tmp_path / "deep").iterdir())
    assert len(files) == PARTS
    assert sum(file.stat().st_size for file in files) <= limit + PARTS * 100
    assert " 999" in (tmp_path / "deep" / "log").read_text() + files[1].read_text()
    assert log.lost == 0


def test_parts_that_are_too_old_go(tmp_path: Path) -> None:
    wall = Wall()
    wall.now = 1e10  # all files are old
    log = Log(str(tmp_path / "log"), max_bytes=4_000, max_age_us=1_000_000, wall=wall)
    for number in range(200):
        log.info("event", str(number))
    log._stream.close()
    assert [file.name for file in tmp_path.iterdir()] == ["log"]


def test_a_log_goes_on_where_it_was(tmp_path: Path) -> None:
    for _ in range(2):
        log = Log(str(tmp_path / "log"))
        log.info("start")
        log._stream.close()
    assert (tmp_path / "log").read_text().count("start") == 2


def test_a_full_disk_loses_lines_and_nothing_else() -> None:
    with open("/dev/full", "w") as full:
        log = Log(stream=full)
        log.info("one")
        log.info("two")
        assert log.lost == 2
        with pytest.raises(OSError, match="No space"):
            full.close()


def test_a_log_that_cannot_be_rotated_keeps_its_limit_and_stderr(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Path, target: Path) -> Path:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "replace", fail)
    log = Log(str(tmp_path / "log"), max_bytes=4_000)
    for number in range(1_000):
        log.info("event", str(number))
    assert log.lost > 0 and not sys.stderr.closed
    assert os.stat(tmp_path / "log").st_size < 2_000
    assert "999" in (tmp_path / "log").read_text()
    log._stream.close()


def test_a_log_comes_back_when_its_place_does(tmp_path: Path) -> None:
    place = tmp_path / "logs"
    log = Log(str(place / "log"))
    log._stream.close()
    (place / "log").unlink()
    place.rmdir()
    place.write_text("in the way")
    log.info("lost")
    place.unlink()
    log.info("lost too")
    log.info("written")
    assert log.lost == 2
    assert (place / "log").read_text().count("\n") == 1
    log._stream.close()


def test_a_file_that_cannot_be_is_an_error_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="log.file"):
        Log(str(tmp_path / "file" / "log"))
