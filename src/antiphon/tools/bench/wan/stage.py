"""Daemons on the hosts of an emulation, one configuration for all, and clients beside them."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from antiphon.client import blocking
from antiphon.client.errors import SessionError
from antiphon.tools.bench.reception import BenchFailed
from antiphon.tools.bench.wan.posts import READY, Post, Report
from antiphon.tools.wan.emulation import Emulation

UDP_PORT = 4813
START_SECONDS = 40.0
GLANCE_SECONDS = 0.05
STOP_SECONDS = 5.0
PREFERRED = ["chrt", "--rr", "1"]
"""Daemons and clients go before all else that runs on this machine, which is not to be measured,
and the relay goes before them."""


class Client:
    """A client process, from its post to its report."""

    def __init__(self, host: str, post: Post, process: subprocess.Popen[bytes]) -> None:
        self.host = host
        self._post = post
        self._process = process
        self._tell(msgspec.json.encode(post) + b"\n")

    def await_ready(self) -> None:
        line = self._hear()
        if line != READY:
            raise BenchFailed(f"{self._name}: {_read(line).failure}")

    def go(self) -> None:
        """Begin; or end, if it goes on for ever."""
        self._tell(b"\n")

    def report(self) -> Report:
        report = _read(self._hear())
        if report.failure:
            raise BenchFailed(f"{self._name}: {report.failure}")
        return report

    def end(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(0.0 if self._is_endless else STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    @property
    def _is_endless(self) -> bool:
        return self._post.role == "echo" or (
            self._post.role == "source" and not self._post.messages
        )

    @property
    def _name(self) -> str:
        return f"{self._post.role} at {self.host}"

    def _tell(self, line: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended, and has said why

    def _hear(self) -> bytes:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


class Stage:
    """`with Stage(emulation, hosts, extra) as stage:`; daemons that have met, until the end of
    the block. `sites` may put several hosts into one site, though they are far apart."""

    def __init__(
        self,
        emulation: Emulation,
        hosts: Sequence[str],
        extra: str = "",
        sites: dict[str, str] | None = None,
    ) -> None:
        self.emulation = emulation
        self.hosts = tuple(hosts)
        self._made = tempfile.TemporaryDirectory(prefix="antiphon-wan-")
        self._directory = Path(self._made.name)
        self._config = self._directory / "wan.toml"
        self._config.write_text(self._text(extra, sites or {}))
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        self._clients: list[Client] = []
        self._groups = 0
        self._configuration: Any = None

    def _text(self, extra: str, sites: dict[str, str]) -> str:
        lines = ['[cluster]\nname = "wan"\nencryption = "off"\n']
        for host in self.hosts:
            lines.append(
                f"[[daemon]]\n"
                f'name = "{host}"\n'
                f'site = "{sites.get(host, host)}"\n'
                f'address = "{self.emulation.address(host)}:{UDP_PORT}"\n'
                f'clients = []\nsocket = "{host}.sock"\n'
            )
        lines.append('[records]\nlevel = "views"\ndirectory = "records"\n')
        return "\n".join([*lines, extra])

    def address(self, host: str) -> str:
        """For clients: a socket in the file system, which all namespaces share."""
        return f"unix:{self._directory / host}.sock"

    def __enter__(self) -> "Stage":
        try:
            for host in self.hosts:
                self._start(host)
            self._await_merge()
            self._configuration = self.status(self.hosts[0])["configuration"]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.end_clients()
        for daemon in self._daemons.values():
            daemon.terminate()
        for daemon in self._daemons.values():
            try:
                daemon.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self._made.cleanup()

    def _start(self, host: str) -> None:
        command = [*PREFERRED, sys.executable, "-m", "antiphon", "daemon"]
        command += ["--config", str(self._config), "--name", host]
        with (self._directory / f"{host}.log").open("ab") as log:
            self._daemons[host] = self.emulation.popen(
                host, command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def _await_merge(self) -> None:
        until = time.monotonic() + START_SECONDS
        for host in self.hosts:
            while not self._has_settled(host):
                if self._daemons[host].poll() is not None:
                    raise BenchFailed(f"the daemon of {host} ended: {self.log(host)[-1:]}")
                if time.monotonic() > until:
                    raise BenchFailed(f"the daemon of {host} did not meet the others")
                time.sleep(GLANCE_SECONDS)

    def _has_settled(self, host: str) -> bool:
        try:
            status = self.status(host)
        except SessionError:
            return False
        settled = status["groups_state"] == "settled"
        return settled and sorted(status["members"]) == sorted(self.hosts)

    def check(self) -> None:
        """Daemons that lost each other meanwhile are nothing to measure."""
        for host in self.hosts:
            if self.status(host)["configuration"] != self._configuration:
                changes = [line for line in self.log(host) if "view" in line or "trouble" in line]
                raise BenchFailed(f"{host} has changed configuration: {' / '.join(changes[-3:])}")

    def status(self, host: str) -> Any:
        with blocking.connect(self.address(host)) as session:
            return session.query("status")

    def log(self, host: str) -> list[str]:
        return (self._directory / f"{host}.log").read_text().splitlines()

    # Clients.

    def new_group(self) -> str:
        """Runs on one stage do not meet."""
        self._groups += 1
        return f"wan-{self._groups}"

    def client(self, host: str, post: Post) -> Client:
        """Ready to begin."""
        command = [*PREFERRED, sys.executable, "-m", "antiphon.tools.bench.wan.client"]
        process = self.emulation.popen(host, command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        made = Client(host, post, process)
        self._clients.append(made)
        made.await_ready()
        return made

    def end_clients(self) -> None:
        clients, self._clients = self._clients, []
        for client in clients:
            client.end()


def _read(line: bytes) -> Report:
    try:
        return msgspec.json.decode(line, type=Report)
    except msgspec.DecodeError:
        return Report(failure="it ended without a word")
