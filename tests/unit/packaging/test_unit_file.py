"""The systemd unit says what the daemon understands."""

import shlex
from configparser import ConfigParser
from pathlib import Path

import pytest

from antiphon.core.machine import SECOND
from antiphon.daemon.config.places import usual_places
from antiphon.daemon.process import DRAIN_US, GOODBYE_US
from antiphon.tools.daemon_command import EXIT_FAILED, daemon

FILE = Path(__file__).resolve().parents[3] / "packaging" / "antiphon@.service"


@pytest.fixture
def service() -> dict[str, str]:
    unit = ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read_string(FILE.read_text())
    return dict(unit["Service"])


def test_the_command_is_one(service: dict[str, str]) -> None:
    python, *words = shlex.split(service["ExecStart"].replace("%i", "one"))
    assert python.endswith("/python") and words[:3] == ["-m", "antiphon", "daemon"]
    options = daemon.make_context("daemon", words[3:]).params
    assert (options["name"], options["path"]) == ("one", Path("/etc/antiphon/cluster.toml"))


def test_it_is_not_killed_while_it_sends_what_it_accepted(service: dict[str, str]) -> None:
    assert service["KillSignal"] == "SIGTERM"
    assert int(service["TimeoutStopSec"]) * SECOND > 2 * (DRAIN_US + GOODBYE_US)


def test_a_wrong_configuration_is_not_tried_again(service: dict[str, str]) -> None:
    assert service["Restart"] == "on-failure"
    assert {"2", str(EXIT_FAILED)} == set(service["RestartPreventExitStatus"].split())


def test_its_directories_are_those_of_the_daemon(service: dict[str, str]) -> None:
    environ = {
        "RUNTIME_DIRECTORY": f"/run/{service['RuntimeDirectory']}",
        "STATE_DIRECTORY": f"/var/lib/{service['StateDirectory']}",
    }
    assert usual_places(environ, uid=1000) == usual_places({}, uid=0)


def test_a_reload_is_a_hangup(service: dict[str, str]) -> None:
    assert service["ExecReload"].endswith("kill -HUP $MAINPID")
