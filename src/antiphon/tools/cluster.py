"""A cluster of real daemons on loopback, each a process of its own.

For `antiphon up`, for benches and tests: no configuration is needed, one is written.
"""

import ctypes
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import randrange

from antiphon.client import blocking
from antiphon.client.errors import SessionError
from antiphon.core.errors import UsageError
from antiphon.daemon.secure.keyfile import create_keys
from antiphon.daemon.secure.keys import KeyRing, new_key

NAMES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
CLIENT_PORT = 4803
KEY_FILE = "cluster.key"
PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)
PORTS = (15_000, 32_000)
"""Below those that Linux gives to clients."""

LAUNCH_SECONDS = 60.0
"""A process that fails is seen at once; one that is slow has a busy machine to wait for."""

START_SECONDS = 20.0
GLANCE_SECONDS = 0.02


def daemon_name(number: int) -> str:
    return NAMES[number] if number < len(NAMES) else f"d{number + 1}"


class LocalDaemon:
    """One daemon of a local cluster: where it is, and its process while it runs."""

    def __init__(
        self, name: str, site: str, udp_port: int, client_port: int, directory: Path
    ) -> None:
        self.name = name
        self.site = site
        self.udp_port = udp_port
        self.client_port = client_port
        self.socket = directory / f"{name}.sock"
        self.log = directory / f"{name}.log"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """For `antiphon.connect`."""
        return f"{self.client_port}@127.0.0.1"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None


class LocalCluster:
    """`with LocalCluster(3, directory) as cluster:` runs three daemons until the end of the
    block. Ports are free ones unless `client_port` says where the first is to be. Daemons are
    given to the sites in turn."""

    def __init__(
        self,
        count: int,
        directory: Path,
        *,
        client_port: int = 0,
        sites: int = 1,
        level: str = "views",
        extra: str = "",
        wrapper: Sequence[str] = (),
        log_to_files: bool = True,
        encrypted: bool = False,
    ) -> None:
        if not 1 <= count <= 64:
            raise UsageError("bad_count", f"{count} daemons", "use 1 to 64")
        if not 1 <= sites <= count:
            raise UsageError("bad_count", f"{sites} sites for {count} daemons", "use fewer sites")
        self.directory = directory
        self.config = directory / "cluster.toml"
        self._wrapper = wrapper
        self._log_to_files = log_to_files
        ports = free_ports(2 * count)
        udp, tcp = ports[:count], ports[count:]
        if client_port:
            tcp = list(range(client_port, client_port + count))
        self.daemons = [
            LocalDaemon(
                daemon_name(number),
                f"site{number % sites + 1}",
                udp[number],
                tcp[number],
                directory,
            )
            for number in range(count)
        ]
        directory.mkdir(parents=True, exist_ok=True)
        if encrypted:
            create_keys(directory / KEY_FILE, KeyRing(new_key("k1", secrets.token_bytes)))
        self.config.write_text(self._text(level, extra, encrypted))

    def _text(self, level: str, extra: str, encrypted: bool) -> str:
        key_file = f'key_file = "{KEY_FILE}"\n' if encrypted else ""
        lines = [f'[cluster]\nname = "local"\n{key_file}']
        for daemon in self.daemons:
            lines.append(
                f"[[daemon]]\n"
                f'name = "{daemon.name}"\n'
                f'site = "{daemon.site}"\n'
                f'address = "127.0.0.1:{daemon.udp_port}"\n'
                f'clients = ["127.0.0.1:{daemon.client_port}"]\n'
                f'socket = "{daemon.socket.name}"\n'
            )
        lines.append(f'[records]\nlevel = "{level}"\ndirectory = "records"\n')
        if "[clients]" not in extra:
            lines.append('[clients]\nadmin = ["*"]\n')
        return "\n".join([*lines, extra])

    def __enter__(self) -> "LocalCluster":
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def addresses(self) -> list[str]:
        return [daemon.address for daemon in self.daemons]

    def daemon(self, name: str) -> LocalDaemon:
        return next(daemon for daemon in self.daemons if daemon.name == name)

    def start(self, names: Iterable[str] = ()) -> None:
        """All, or these; returns when clients can connect to them."""
        wanted = set(names) or {daemon.name for daemon in self.daemons}
        chosen = [daemon for daemon in self.daemons if daemon.name in wanted]
        for daemon in chosen:
            self._launch(daemon)
        for daemon in chosen:
            self._await(daemon)

    def _launch(self, daemon: LocalDaemon) -> None:
        command = [*self._wrapper, sys.executable, "-m", "antiphon", "daemon"]
        command += ["--config", str(self.config), "--name", daemon.name]
        with daemon.log.open("ab") as log:
            target = log if self._log_to_files else None
            # A group of its own: Ctrl-C at a terminal is ours to pass on.
            daemon.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=target,
                stderr=target,
                process_group=0,
                preexec_fn=end_with_parent,
            )

    def _await(self, daemon: LocalDaemon) -> None:
        until = time.monotonic() + LAUNCH_SECONDS
        while time.monotonic() < until:
            if not daemon.alive:
                break
            try:
                socket.create_connection(("127.0.0.1", daemon.client_port), 1).close()
            except OSError:
                time.sleep(GLANCE_SECONDS)
                continue
            return
        said = daemon.log.read_text().splitlines() if self._log_to_files else []
        raise UsageError(
            "daemon_failed",
            f"daemon {daemon.name} did not start: {said[-1] if said else 'it said nothing'}",
            f"see {daemon.log}",
        )

    def await_merge(self, seconds: float = START_SECONDS) -> None:
        """Until all daemons that run are in one configuration and agree on the groups in it:
        what is sent before reaches a part only."""
        self.await_sides([[daemon.name for daemon in self.daemons if daemon.alive]], seconds)

    def await_sides(self, sides: Iterable[Iterable[str]], seconds: float = START_SECONDS) -> None:
        """Until the daemons of each side are in one configuration and agree on its groups."""
        until = time.monotonic() + seconds
        for wanted in map(sorted, sides):
            for daemon in map(self.daemon, wanted):
                while daemon.alive and not _has_settled(daemon.address, wanted):
                    if time.monotonic() > until:
                        raise UsageError(
                            "not_merged",
                            f"{daemon.name} did not meet {', '.join(wanted)}",
                            f"see {daemon.log}",
                        )
                    time.sleep(GLANCE_SECONDS)

    def signal(self, name: str, number: signal.Signals) -> None:
        os.kill(self.daemon(name).pid, number)

    def kill(self, name: str) -> None:
        """As a crash: at once."""
        daemon = self.daemon(name)
        assert daemon.process is not None
        daemon.process.kill()
        daemon.process.wait()

    def stop(self, seconds: float = 10.0) -> list[int]:
        """All, cleanly, if they can; their exit codes."""
        running = [daemon for daemon in self.daemons if daemon.alive]
        for daemon in running:
            os.kill(daemon.pid, signal.SIGCONT)
            os.kill(daemon.pid, signal.SIGTERM)
        codes = []
        until = time.monotonic() + seconds
        for daemon in running:
            assert daemon.process is not None
            try:
                codes.append(daemon.process.wait(max(0.1, until - time.monotonic())))
            except subprocess.TimeoutExpired:
                daemon.process.kill()
                codes.append(daemon.process.wait())
        return codes


def end_with_parent() -> None:
    """In the new process: a cluster whose owner was killed must not run on for ever."""
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _has_settled(address: str, wanted: list[str]) -> bool:
    try:
        with blocking.connect(address) as session:
            status = session.query("status")
    except SessionError:
        return False
    return status["groups_state"] == "settled" and sorted(status["members"]) == wanted


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago, for datagrams and for connections. Not those that the
    system gives to whoever asks for any: one of them would be taken before the daemon binds it."""
    found: set[int] = set()
    while len(found) < count:
        port = randrange(*PORTS)
        if all(_is_free(port, kind) for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM)):
            found.add(port)
    return list(found)


def _is_free(port: int, kind: int) -> bool:
    with socket.socket(socket.AF_INET, kind) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
