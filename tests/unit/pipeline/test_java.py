"""Java is found where it is, and what is wrong with it is said."""

import os
import subprocess
from pathlib import Path

import pytest

from antiphon.core.errors import ConfigError
from antiphon.pipeline import java
from antiphon.pipeline.java import find_java


def make_java(home: Path, version: str) -> Path:
    """A program that says what Java would."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        f"""#!/bin/sh\nprintf '%s\\n' "$@"\necho 'openjdk version "{version}"' >&2\n"""
    )
    program.chmod(0o755)
    return program


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty") + os.pathsep + "/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(java, "_installed", lambda: None)
    monkeypatch.setattr(java.shutil, "which", lambda _: None)


def test_no_java_names_the_remedy() -> None:
    with pytest.raises(ConfigError, match="no Java.*scripts/bootstrap spark"):
        find_java()


def test_the_chosen_one_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make_java(tmp_path / "17", "17.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "17"))
    assert find_java() == tmp_path / "17"


def test_an_old_one_is_not_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make_java(tmp_path / "11", "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "11"))
    with pytest.raises(ConfigError, match="JAVA_HOME.*is Java 11.*Java 17 or newer"):
        find_java()


def test_a_home_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ConfigError, match="correct it or unset it"):
        find_java()


def test_an_old_one_on_the_path_gives_way_to_the_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old = make_java(tmp_path / "11", "11.0.2")
    monkeypatch.setattr(java.shutil, "which", lambda _: str(old))
    with pytest.raises(ConfigError, match="PATH.*is Java 11"):
        find_java()
    runtime = make_java(tmp_path / "it's here", "17.0.9")
    monkeypatch.setattr(java, "_installed", lambda: runtime)
    home = find_java()
    assert home == find_java(), "made once"
    words = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "Main"]
    said = subprocess.run([home / "bin" / "java", *words], capture_output=True, text=True)
    assert said.stdout.splitlines() == ["-Xmx1g", "a b", "Main"]
