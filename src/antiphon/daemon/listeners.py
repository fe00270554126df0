"""Where clients come in: TCP ports and a Unix socket, and who they are."""

import hmac
import os
import socket
import ssl
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from struct import Struct

from antiphon.core.errors import ConfigError
from antiphon.daemon.config.addresses import Address
from antiphon.daemon.config.amounts import AUTO
from antiphon.daemon.config.declaration import Clients, Spread
from antiphon.wire.door import is_local_door, local_door

BACKLOG = 512
PEER_CREDENTIALS = Struct("3i")
SPREAD_DIRECTORY = Path("/tmp")
SPREAD_MODE = 0o666
"""Spread's clients expect the socket of a port there, for everybody."""


def listen_tcp(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return _listening(made, (host, port))


def _listening(made: socket.socket, address: tuple[str, int] | bytes) -> socket.socket:
    made.setblocking(False)
    try:
        made.bind(address)
        made.listen(BACKLOG)
    except OSError:
        made.close()
        raise
    return made


def listen_beside(host: str, port: int) -> socket.socket | None:
    """Clients of this machine that name a port come in here instead: a Unix socket takes less of
    everybody's time. None if no client of this machine would use that address."""
    name = local_door(host, port)
    if not name:
        return None
    return _listening(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), name)


def is_beside(accepted: socket.socket) -> bool:
    """Whether it came in beside a port: then it is treated as if it had come by that."""
    return accepted.family == socket.AF_UNIX and is_local_door(accepted.getsockname())


def listen_unix(path: Path, mode: int) -> socket.socket:
    """A socket that a dead daemon left is taken away; that of a living one is not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and stat.S_ISSOCK(path.stat().st_mode):
        if _answers(path):
            raise ConfigError(
                "daemon.socket", f"{path} is in use", "stop the daemon that runs, or choose another"
            )
        path.unlink()
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.setblocking(False)
    try:
        made.bind(str(path))
        os.chmod(path, mode)
        made.listen(BACKLOG)
    except OSError:
        made.close()
        raise
    return made


def spread_path(spread: Spread, clients: Sequence[Address]) -> Path | None:
    """Where Spread's clients of this machine come in; None if nowhere."""
    if not spread.enabled or not clients or not spread.unix_socket:
        return None
    if spread.unix_socket != AUTO:
        return Path(spread.unix_socket)
    return SPREAD_DIRECTORY / str(clients[0].port)


def _answers(path: Path) -> bool:
    probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    probe.settimeout(1.0)
    try:
        probe.connect(str(path))
    except (ConnectionRefusedError, FileNotFoundError):
        return False
    except OSError:
        pass  # somebody is there: busy, or not for us
    finally:
        probe.close()
    return True


def peer_of(accepted: socket.socket) -> str:
    """What the system itself says about who is there: `uid:1000`, or nothing."""
    if accepted.family != socket.AF_UNIX or is_beside(accepted):
        return ""
    raw = accepted.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER_CREDENTIALS.size)
    _, uid, _ = PEER_CREDENTIALS.unpack(raw)
    return f"uid:{uid}"


class Tokens:
    """Secrets of clients, by name. All are compared, in equal time, with what a client says.

    True if there is a file of them, even an empty one: then nobody's word is enough.
    """

    def __init__(self, lines: Iterable[str] | None = None) -> None:
        self._wanted = lines is not None
        self._secrets: dict[str, bytes] = {}
        for number, line in enumerate(lines or (), 1):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if len(words) != 2:
                raise ConfigError(
                    "clients.tokens_file", f"line {number} is not a token", "write NAME SECRET"
                )
            self._secrets[words[0]] = words[1].encode()

    def __bool__(self) -> bool:
        return self._wanted

    def name_of(self, secret: str) -> str:
        """Whose it is; empty if nobody's."""
        said = secret.encode()
        found = ""
        for name, known in self._secrets.items():
            if hmac.compare_digest(said, known):
                found = name
        return found


def read_tokens(path: str) -> Tokens:
    if not path:
        return Tokens()
    try:
        return Tokens(Path(path).read_text().splitlines())
    except OSError as error:
        raise ConfigError(
            "clients.tokens_file", f"{path}: {error.strerror}", "make it, or remove the key"
        ) from None
    except UnicodeDecodeError:
        raise ConfigError("clients.tokens_file", f"{path} is not UTF-8", "write it so") from None


def tls_context(clients: Clients) -> ssl.SSLContext | None:
    if not clients.tls_certificate:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(clients.tls_certificate, clients.tls_key or None)
        if clients.tls_client_ca:
            context.load_verify_locations(clients.tls_client_ca)
            context.verify_mode = ssl.CERT_OPTIONAL
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            "clients.tls_certificate", str(error), "name readable certificate files in PEM"
        ) from None
    return context
