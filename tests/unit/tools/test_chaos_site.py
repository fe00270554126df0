"""The parts of a chaos run that need neither root nor processes."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from antiphon.core.errors import UsageError
from antiphon.daemon.config.config import load
from antiphon.daemon.secure.keyfile import create_keys
from antiphon.daemon.secure.keys import KeyRing, new_key
from antiphon.tools.chaos import namespaces
from antiphon.tools.chaos.chaos_command import chaos
from antiphon.tools.chaos.namespaces import leftovers, require_programs
from antiphon.tools.chaos.run import Plan
from antiphon.tools.chaos.site import config_text


def test_what_dead_processes_left_is_found_and_nothing_else() -> None:
    names = ["aph12-1", "aph12-hub", "aph13-1", "aph-1", "other", "aph12-1x"]
    assert leftovers(names, lambda process: process == 13) == ["aph12-1", "aph12-hub"]


def test_the_configuration_can_be_loaded_and_is_encrypted(tmp_path: Path) -> None:
    path = tmp_path / "cluster.toml"
    path.write_text(config_text(5))
    create_keys(tmp_path / "cluster.key", KeyRing(new_key("k1", lambda size: b"k" * size)))
    config = load(path)
    assert len({one.id for one in config.daemons}) == 5
    assert len({str(one.address) for one in config.daemons}) == 5
    assert config.encrypted and config.records.level == "all"


def test_daemons_are_given_to_the_sites_in_turn(tmp_path: Path) -> None:
    path = tmp_path / "cluster.toml"
    path.write_text(config_text(5, sites=2))
    create_keys(tmp_path / "cluster.key", KeyRing(new_key("k1", lambda size: b"k" * size)))
    config = load(path)
    assert [one.site for one in config.daemons] == [f"site{at}" for at in (1, 2, 1, 2, 1)]
    assert config.node_settings("one").stream.slow_site_us > 0
    with pytest.raises(UsageError, match="3 sites for 2 daemons"):
        Plan(daemons=2, sites=3)


def test_a_run_that_is_too_short_is_refused() -> None:
    with pytest.raises(UsageError, match="no time for faults"):
        Plan(seconds=12)
    with pytest.raises(UsageError, match="at least 23"):
        Plan(seconds=22, sites=2)
    assert Plan(seconds=13).draw() == []
    assert Plan(seconds=60).draw() and not Plan(seconds=60, faults=False).draw()


def test_who_is_not_root_is_told_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(namespaces.os, "geteuid", lambda: 1000)
    result = CliRunner().invoke(chaos, ["--directory", str(tmp_path)])
    assert result.exit_code == 2
    assert "run it as root" in result.output


def test_programs_that_cannot_be_installed_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespaces.os, "geteuid", lambda: 0)
    monkeypatch.setattr(namespaces.shutil, "which", lambda program: None)

    def no_apt(*_: object, **__: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(namespaces.subprocess, "run", no_apt)
    said: list[str] = []
    with pytest.raises(UsageError, match="iproute2 nftables cannot be installed"):
        require_programs(said.append)
    assert "by apt" in said[0]
