"""`antiphon up`: what it refuses to start with. That it runs: tests/real."""

import signal
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from antiphon.tools.cluster import LocalDaemon
from antiphon.tools.up_command import Logs, up


def test_a_port_in_use_is_told_and_nothing_is_started() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        refused = CliRunner().invoke(up, ["1", "--port", str(port)])
    assert refused.exit_code == 3
    assert refused.stderr.startswith(
        f"antiphon up: port {port}: address already in use; use others"
    )


def test_counts_and_ports_that_cannot_be_are_wrong_usage() -> None:
    for arguments in (["0"], ["65"], ["three"], ["3", "--port", "65534"]):
        assert CliRunner().invoke(up, arguments).exit_code == 2, arguments


def test_a_signal_loses_no_line_of_a_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    daemon = LocalDaemon("one", "here", 1, 2, tmp_path)
    logs = Logs([daemon], quiet=False)
    daemon.log.write_text("first\nsecond\n")
    said: list[str] = []

    def say(_: LocalDaemon, text: str) -> None:
        said.append(text)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(logs, "say", say)
    with pytest.raises(KeyboardInterrupt):
        logs.show()
    logs.close()
    assert said == ["first", "second"]
