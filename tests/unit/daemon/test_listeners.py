"""Where clients come in, and who they are."""

import os
import socket
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.client.options import parse_address
from antiphon.client.sockets import open_socket
from antiphon.core.errors import ConfigError
from antiphon.daemon.config.addresses import Address
from antiphon.daemon.config.declaration import Clients, Spread
from antiphon.daemon.listeners import (
    Tokens,
    is_beside,
    listen_beside,
    listen_tcp,
    listen_unix,
    peer_of,
    read_tokens,
    spread_path,
    tls_context,
)
from antiphon.tools.cluster import free_ports
from antiphon.wire.door import local_door

ONE_PORT = (Address("127.0.0.1", 4803), Address("10.0.0.1", 4805))


@pytest.mark.parametrize(
    ("spread", "clients", "path"),
    [
        (Spread(), ONE_PORT, "/tmp/4803"),
        (Spread(unix_socket="/run/s"), ONE_PORT, "/run/s"),
        (Spread(unix_socket=""), ONE_PORT, None),
        (Spread(enabled=False), ONE_PORT, None),
        (Spread(), (), None),
    ],
)
def test_clients_of_spread_find_the_socket_of_a_port(
    spread: Spread, clients: tuple[Address, ...], path: str | None
) -> None:
    assert spread_path(spread, clients) == (None if path is None else Path(path))


def test_a_unix_socket_is_for_whom_its_mode_says(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "down" / "one.sock"
    with listen_unix(path, 0o600):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_system_says_who_came_by_the_unix_socket(tmp_path: Path) -> None:
    path = tmp_path / "one.sock"
    with listen_unix(path, 0o600) as listener, socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        accepted, _ = listener.accept()
        with accepted:
            assert peer_of(accepted) == f"uid:{os.getuid()}"


def test_nobody_says_who_came_by_tcp() -> None:
    with listen_tcp("127.0.0.1", 0) as listener:
        listener.setblocking(True)
        with socket.create_connection(listener.getsockname()):
            accepted, _ = listener.accept()
            with accepted:
                assert peer_of(accepted) == ""


def test_who_names_the_port_comes_in_beside_it_and_is_nobody_either() -> None:
    port = free_ports(1)[0]
    door = listen_beside("0.0.0.0", port)
    assert door is not None
    with door:
        door.setblocking(True)
        with open_socket(parse_address(f"{port}@localhost"), 5.0, None) as client:
            assert client.family == socket.AF_UNIX
            accepted, _ = door.accept()
            with accepted:
                assert is_beside(accepted) and peer_of(accepted) == ""
        with pytest.raises(OSError):
            listen_beside("127.0.0.1", port)


def test_only_addresses_of_this_machine_alone_have_a_door() -> None:
    assert listen_beside("192.0.2.1", 4803) is None
    assert local_door("127.0.0.2", 4803) != local_door("127.0.0.1", 4803)
    assert local_door("localhost", 4803) == local_door("0.0.0.0", 4803)


def test_without_a_door_a_client_comes_by_tcp() -> None:
    with listen_tcp("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with open_socket(parse_address(f"{port}@localhost"), 5.0, None) as client:
            assert client.family == socket.AF_INET


def test_a_dead_daemons_socket_is_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "one.sock"
    listen_unix(path, 0o600).close()
    assert path.exists()
    with listen_unix(path, 0o600), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))


def test_a_living_daemons_socket_is_not(tmp_path: Path) -> None:
    path = tmp_path / "one.sock"
    with listen_unix(path, 0o600):
        with pytest.raises(ConfigError, match="in use"):
            listen_unix(path, 0o600)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))


def test_a_socket_that_cannot_be_asked_is_not_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of another user, or of a daemon with too many waiting clients."""
    path = tmp_path / "one.sock"
    with listen_unix(path, 0o600):

        class Forbidden(socket.socket):
            def connect(self, address: object) -> None:
                raise PermissionError(13, "Permission denied")

        with monkeypatch.context() as patch:
            patch.setattr(socket, "socket", Forbidden)
            with pytest.raises(ConfigError, match="in use"):
                listen_unix(path, 0o600)
        assert path.exists()


def test_what_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "one.sock"
    path.write_text("precious")
    with pytest.raises(OSError, match="in use"):
        listen_unix(path, 0o600)
    assert path.read_text() == "precious"


def test_a_port_in_use_is_an_error() -> None:
    with listen_tcp("127.0.0.1", 0) as first:
        with pytest.raises(OSError, match="in use"):
            listen_tcp("127.0.0.1", first.getsockname()[1])


def test_a_token_tells_whose_it_is() -> None:
    tokens = Tokens(["# people", "", "alice s3cret", "bob  other "])
    assert tokens
    assert tokens.name_of("s3cret") == "alice" and tokens.name_of("other") == "bob"
    assert tokens.name_of("") == tokens.name_of("s3cre") == tokens.name_of("alice") == ""


@given(st.text(max_size=20))
def test_no_other_text_is_a_token(text: str) -> None:
    assert Tokens(["alice s3cret"]).name_of(text) == ("alice" if text == "s3cret" else "")


def test_an_empty_file_of_tokens_lets_nobody_in(tmp_path: Path) -> None:
    """Taking away the last token must not open the door."""
    file = tmp_path / "tokens"
    file.write_text("# none left\n")
    assert read_tokens(str(file))
    assert not read_tokens("")


def test_files_of_tokens_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    with pytest.raises(ConfigError, match="No such file"):
        read_tokens(str(file))
    file.write_text("alice a b\n")
    with pytest.raises(ConfigError, match="line 1"):
        read_tokens(str(file))
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="UTF-8"):
        read_tokens(str(file))


def test_certificates_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    assert tls_context(Clients()) is None
    with pytest.raises(ConfigError, match="clients.tls_certificate"):
        tls_context(Clients(tls_certificate=str(tmp_path / "none.pem"), tls_key="x"))
    (tmp_path / "bad.pem").write_text("no certificate")
    bad = str(tmp_path / "bad.pem")
    with pytest.raises(ConfigError, match="clients.tls_certificate"):
        tls_context(Clients(tls_certificate=bad, tls_key=bad))
