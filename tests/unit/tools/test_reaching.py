"""How commands find daemons, and how failures end them."""

import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from antiphon.client.errors import Disconnected, QueryFailed, Unreachable
from antiphon.core.errors import AntiphonError, ConfigError, UsageError
from antiphon.tools.cli import main
from antiphon.tools.reaching import DEFAULT_ADDRESS, Target, exit_code, fail, targets_of

ONE = '[cluster]\nname = "lab"\n[[daemon]]\nname = "one"\naddress = "127.0.0.1:4813"\n'


def configured(tmp_path: Path, rest: str) -> Path:
    path = tmp_path / "cluster.toml"
    path.write_text(ONE + rest)
    return path


def test_addresses_are_daemons_of_their_own() -> None:
    assert targets_of((), None) == [Target((DEFAULT_ADDRESS,))]
    assert targets_of(("1", "2"), None) == [Target(("1",)), Target(("2",))]


def test_a_configuration_tells_where_daemons_are(tmp_path: Path) -> None:
    file = configured(tmp_path, 'socket = "one.sock"\nclients = ["0.0.0.0:4803", "[::1]:4804"]\n')
    hosts = ("4803@127.0.0.1", "4804@::1")
    assert targets_of((), file) == [Target(hosts, "one")]
    (tmp_path / "one.sock").touch()
    assert targets_of((), file) == [Target((str(tmp_path / "one.sock"), *hosts), "one")]


def test_a_daemon_without_addresses_is_refused(tmp_path: Path) -> None:
    file = configured(tmp_path, 'socket = ""\nclients = []\n')
    with pytest.raises(UsageError, match="one takes no clients here"):
        targets_of((), file)


def test_addresses_and_a_configuration_contradict_each_other(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="both"):
        targets_of(("4803",), configured(tmp_path, ""))


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Unreachable("no_daemon", "nobody", "start it"), 3),
        (UsageError("bad_address", "no address", "write one"), 2),
        (ConfigError("key", "wrong", "right it"), 2),
        (Disconnected("slow", "ended", "be quick"), 1),
        (QueryFailed("query_failed", "not_allowed: no", "ask"), 1),
    ],
)
def test_exit_codes_tell_whose_turn_it_is(error: AntiphonError, code: int) -> None:
    assert exit_code(error) == code


def test_a_failure_is_one_line_with_the_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="3"):
        fail("send", Unreachable("no_daemon", "nobody is there", "start a daemon"))
    assert capsys.readouterr().err == "antiphon send: nobody is there; start a daemon\n"
    with pytest.raises(SystemExit):
        fail("members", QueryFailed("query_failed", "nobody is in it; see groups", "see help"))
    assert capsys.readouterr().err == "antiphon members: nobody is in it; see groups\n"


COMMANDS = [
    ["send", "chat", "hello"],
    ["listen", "chat"],
    ["shell"],
    ["status"],
    ["groups"],
    ["members", "chat"],
    ["stop"],
    ["reload"],
    ["partition", "clear"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_where_no_daemon_is_every_command_exits_with_3(command: list[str]) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # and does not listen
        address = f"{held.getsockname()[1]}@127.0.0.1"
        ended = CliRunner().invoke(main, [*command, "--connect", address])
    assert ended.exit_code == 3
    assert len(ended.stderr.splitlines()) == 1
    assert "no daemon answered" in ended.stderr and "; check the address" in ended.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_what_is_no_address_is_wrong_usage(command: list[str]) -> None:
    assert CliRunner().invoke(main, [*command, "--connect", "nowhere"]).exit_code == 2
