"""`antiphon up`: what it refuses to start with. That it runs: tests/real."""

import socket

from click.testing import CliRunner

from antiphon.tools.up_command import up


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
