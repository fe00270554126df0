"""`antiphon doctor`: what it calls wrong."""

import json
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from antiphon.daemon.config.config import Config, load
from antiphon.tools.checkup import Found, Grade
from antiphon.tools.cluster_checks import check_cluster, check_path, is_own
from antiphon.tools.doctor_command import doctor
from antiphon.tools.host_checks import check_host


def free_port(kind: int) -> int:
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.toml"
    path.write_text(
        '[cluster]\nname = "lab"\n[[daemon]]\nname = "one"\nsocket = ""\n'
        f'address = "127.0.0.1:{free_port(socket.SOCK_DGRAM)}"\n'
        f'clients = ["127.0.0.1:{free_port(socket.SOCK_STREAM)}"]\n'
    )
    return path


def status(config: Config, **different: Any) -> dict[str, Any]:
    life = int(time.time() * 1000) << 20
    return {
        **{"daemon": "one", "pid": 1, "incarnation": life, "uptime_seconds": 0.0},
        **{"members": ["one", "two"], "silenced": []},
        **different,
    }


def call(*arguments: object) -> Result:
    return CliRunner().invoke(doctor, [*map(str, arguments)], catch_exceptions=False)


def grades(found: list[Found], check: str) -> list[Grade]:
    return [one.grade for one in found if one.check == check]


def test_a_sound_host_and_free_ports_are_fine(file: Path) -> None:
    result = call("--config", file, "--name", "one", "--json")
    assert result.exit_code == 0
    rows = [json.loads(line) for line in result.output.splitlines()]
    checks = {row["check"] for row in rows}
    assert {"python", "clock", "offload", "buffers", "multicast", "port", "udp", "mtu"} <= checks
    assert all(row["remedy"] for row in rows if row["grade"] != "fine")
    assert "0 wrong" in call("--config", file).output


@pytest.mark.parametrize("kind", [socket.SOCK_DGRAM, socket.SOCK_STREAM])
def test_a_port_that_somebody_else_has_is_wrong(file: Path, kind: int) -> None:
    entry = load(file).daemons[0]
    port = entry.address.port if kind == socket.SOCK_DGRAM else entry.clients[0].port
    with socket.socket(socket.AF_INET, kind) as other:
        other.bind(("127.0.0.1", port))
        result = call("--config", file, "--timeout", "0.5")
    assert result.exit_code == 1
    assert "1 wrong" in result.output
    assert "see who has it" in result.output


def test_wrong_usage_exits_with_2(file: Path) -> None:
    assert call("--config", file, "--name", "nobody").exit_code == 2
    file.write_text("[cluster]\n")
    assert call("--config", file).exit_code == 2
    assert call().exit_code == 2


def test_a_daemon_that_answers_may_have_its_port_and_no_other(file: Path) -> None:
    config = load(file)
    entry = config.daemons[0]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as daemon:
        daemon.bind(("127.0.0.1", entry.address.port))
        found = list(check_cluster(config, None, {"one": status(config)}))
    assert grades(found, "port") == [Grade.FINE, Grade.WRONG]


def test_packets_that_do_not_fit_the_path_are_wrong(file: Path) -> None:
    entry = load(file).daemons[0]
    fits = check_path(entry, ("127.0.0.1", entry.address.port), 8900)
    assert fits.grade is Grade.FINE
    too_large = check_path(entry, ("127.0.0.1", entry.address.port), 70_000)
    assert too_large.grade is Grade.WRONG
    assert "set network.packet_bytes to" in too_large.remedy


def test_an_address_of_another_host_cannot_be_mine(file: Path) -> None:
    assert is_own("127.0.0.1")
    assert not is_own("203.0.113.77")
    file.write_text(file.read_text().replace('address = "127.0.0.1:', 'address = "203.0.113.77:'))
    file.write_text(file.read_text().replace('"lab"\n', '"lab"\nencryption = "off"\n'))
    found = list(check_cluster(load(file), "one", {}))
    assert [(one.check, one.grade) for one in found] == [("address", Grade.WRONG)]


def test_a_clock_far_away_is_noted(file: Path) -> None:
    config = load(file)
    near = list(check_cluster(config, None, {"one": status(config)}))
    assert grades(near, "clock") == [Grade.FINE]
    far = list(check_cluster(config, None, {"one": status(config, uptime_seconds=60.0)}))
    assert grades(far, "clock") == [Grade.NOTE]


@pytest.mark.parametrize(
    ("one", "two", "grade", "told"),
    [
        ({}, {}, Grade.FINE, "in one configuration"),
        ({"members": ["one"]}, {"members": ["two"]}, Grade.WRONG, "allow UDP"),
        ({}, {"members": ["two"]}, Grade.WRONG, "allow UDP"),
        ({"silenced": ["two"]}, {}, Grade.WRONG, "partition clear"),
    ],
)
def test_daemons_that_run_should_be_together(
    file: Path, one: dict[str, Any], two: dict[str, Any], grade: Grade, told: str
) -> None:
    config = load(file)
    statuses = {"one": status(config, **one), "two": status(config, daemon="two", **two)}
    (pair,) = [found for found in check_cluster(config, None, statuses) if found.check == "pair"]
    assert pair.grade is grade
    assert told in pair.what + pair.remedy


def test_limits_of_the_host_are_compared_with_the_configuration(file: Path) -> None:
    (few,) = [one for one in check_host(load(file)) if one.check == "files"]
    assert few.grade is Grade.FINE
    file.write_text(file.read_text() + "[limits]\nsessions = 65536\n")
    (many,) = [one for one in check_host(load(file)) if one.check == "files"]
    assert "65,600 are needed" in many.what


def test_offload_that_is_turned_off_is_noted(file: Path) -> None:
    file.write_text(file.read_text() + '[network]\noffload = "off"\n')
    assert grades(list(check_host(load(file))), "offload") == [Grade.NOTE, Grade.NOTE]
