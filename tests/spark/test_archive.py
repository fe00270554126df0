"""The archive that Java starts from: nobody has to have one, and a wrong one does no harm."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from antiphon.pipeline.archive import QUIET, archive_options, archive_path
from antiphon.pipeline.java import find_java


def test_without_an_archive_java_is_told_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert archive_options(find_java()) == ""


def test_another_java_has_another_archive(tmp_path: Path) -> None:
    homes = [tmp_path / name for name in ("one", "two")]
    for home in homes:
        (home / "bin").mkdir(parents=True)
        (home / "bin" / "java").touch()
    assert archive_path(homes[0]) != archive_path(homes[1])


def test_an_archive_that_does_not_fit_is_passed_over_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "a place with spaces"))
    java = find_java()
    path = archive_path(java)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no archive")
    told = shlex.split(archive_options(java))
    assert told == [f"-XX:SharedArchiveFile={path}", QUIET]
    done = subprocess.run([java / "bin" / "java", *told, "-version"], capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"")
