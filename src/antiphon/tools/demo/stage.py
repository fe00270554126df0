"""What a demo happens on: a local cluster of several sites, its clients, and a witness who
writes down what was done to them.

In the end all are stopped at once, so that nobody sees the end of anybody else: what is owed is
owed to the living, and the judges of progress want to see it kept.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from antiphon.client import blocking
from antiphon.client.options import clock
from antiphon.core.ids import NOBODY, DaemonId, Incarnation, Member
from antiphon.core.trace import Kind, Record
from antiphon.records.writer import SegmentWriter
from antiphon.tools.cluster import LocalCluster

WORLD = Member(NOBODY, Incarnation(0))
STOP_SECONDS = 5.0


class Stage:
    """`with Stage(directory, sites, daemons) as stage:`; nothing runs after the block."""

    def __init__(self, directory: Path, sites: int, daemons: int) -> None:
        self.cluster = LocalCluster(sites * daemons, directory, sites=sites, level="all")
        self.records = directory / "records"
        self._clients: subprocess.Popen[bytes] | None = None
        self._log = directory / "clients.log"
        self._witness = SegmentWriter(self.records / "world", "world", "sim", "demo", clock)

    def __enter__(self) -> "Stage":
        return self

    def __exit__(self, *_: object) -> None:
        """At once: a clean end would be one more change for each daemon that stays."""
        for process in self._processes():
            process.kill()
            process.wait()
        self._witness.close()

    def note(self, text: str) -> None:
        """Something is done to the cluster."""
        self._write(Record(Kind.FAULT, clock(), *WORLD, reason=text))

    def start_clients(self) -> None:
        command = [sys.executable, "-m", "antiphon.tools.demo.clients"]
        command += [str(self.records / "clients"), *self.cluster.addresses]
        with self._log.open("ab") as log:
            self._clients = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, process_group=0
            )
        self._hear_clients()

    def silence_clients(self) -> dict[str, int]:
        """They send no more, and all that they sent has come; what they sent and saw."""
        assert self._clients is not None and self._clients.stdin
        self._clients.stdin.close()
        return msgspec.json.decode(self._hear_clients(), type=dict[str, int])

    def _hear_clients(self) -> bytes:
        assert self._clients is not None and self._clients.stdout
        said = self._clients.stdout.readline()
        if not said:
            last = self._log.read_text().splitlines()[-1:] or ["they said nothing"]
            raise RuntimeError(f"the clients ended: {last[0]}")
        return said

    def quiet(self) -> None:
        """From here on progress is owed."""
        self._write(Record(Kind.QUIET, clock(), *WORLD))

    def members(self) -> tuple[Member, ...]:
        """All daemons, each in the life that it lives now."""
        told = [self.status(one.name) for one in self.cluster.daemons]
        return tuple(sorted(Member(DaemonId(one["id"]), one["incarnation"]) for one in told))

    def freeze(self, members: tuple[Member, ...]) -> None:
        """The end, with everybody alive."""
        for member in members:
            self._write(Record(Kind.REACH, clock(), *member, members=members))
        for process in self._processes():
            os.kill(process.pid, signal.SIGSTOP)
        until = time.monotonic() + STOP_SECONDS
        while not all(map(_is_stopped, self._processes())) and time.monotonic() < until:
            time.sleep(0.01)

    def status(self, name: str) -> dict[str, Any]:
        with blocking.connect(self.cluster.daemon(name).address) as session:
            status: dict[str, Any] = session.query("status")
        return status

    def _write(self, row: Record) -> None:
        self._witness.add(row)
        self._witness.spill(clock())

    def _processes(self) -> list[subprocess.Popen[bytes]]:
        daemons = [one.process for one in self.cluster.daemons if one.process and one.alive]
        return [*daemons, *([self._clients] if self._clients is not None else [])]


def _is_stopped(process: subprocess.Popen[bytes]) -> bool:
    try:
        state = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True  # it is gone
    return state in "TtZ"
