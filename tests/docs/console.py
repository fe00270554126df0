"""A terminal in which the commands of a page run as they stand there, against a real cluster.

What is changed: the ports, as the usual ones may be in use; `--connect` for commands that would
ask the daemon at the usual port; and how long a command takes.
"""

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import antiphon
from antiphon.tools.cluster import CLIENT_PORT, LocalCluster
from tests.docs.pages import ROOT

SEEDS = 2
"""Of a range in an example."""

SECONDS = 60.0
"""For one command. None takes nearly as long."""

ASKS = re.compile(r"\./antiphon (send|listen|shell|status|groups|members)\b|examples/\w+\.py")
"""Commands that ask the daemon at the usual port if they are not told another one."""


Condition = Callable[[], bool]


class Terminal:
    """A folder with the project's command and examples in it."""

    def __init__(self, folder: Path, cluster: LocalCluster) -> None:
        self._folder = folder
        self._cluster = cluster
        self._background: list[tuple[str, subprocess.Popen[str]]] = []
        command = folder / "antiphon"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m antiphon "$@"\n')
        command.chmod(0o755)
        shutil.copytree(ROOT / "examples", folder / "examples")

    def run(self, line: str) -> None:
        """A command that must end as it says; one with `&` at its end may take its time."""
        command, *remarks = re.split(r"\s+#\s", line, maxsplit=1)
        if re.match(r"\./antiphon up\b", command):
            self._run_cluster(command)
        elif command.endswith("&"):
            self._begin(self._adapted(command.removesuffix("&").strip()))
        else:
            self._end(command, self._start(self._adapted(command)), exit_codes(command, *remarks))

    def close(self) -> None:
        """Commands in the background have ended by now, or end when they are told to."""
        for command, process in self._background:
            if "--count" not in command and "--until" not in command:
                process.send_signal(signal.SIGINT)
            self._end(command, process, {0, 130})

    def _start(self, command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["sh", "-c", f"exec {command}" if is_simple(command) else command],
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _end(self, command: str, process: subprocess.Popen[str], codes: set[int]) -> None:
        try:
            out, errors = process.communicate(timeout=SECONDS)
        finally:
            process.kill()
            process.wait()
        assert process.returncode in codes, f"{command}\n{out[-2000:]}{errors[-2000:]}"

    def _begin(self, command: str) -> None:
        """Behind a command that joins a group, the next one finds it there."""
        before = self._memberships()
        process = self._start(command)
        self._background.append((command, process))
        self._await(process, lambda: self._memberships() > before)

    def _await(self, process: subprocess.Popen[str], condition: Condition) -> None:
        until = time.monotonic() + SECONDS
        while not condition():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < until, process.args
            time.sleep(0.02)

    def _memberships(self) -> int:
        with antiphon.blocking.connect(self._cluster.addresses[0]) as session:
            return sum(session.query("groups")["groups"].values())

    def _run_cluster(self, command: str) -> None:
        """Started, awaited and stopped by Ctrl-C."""
        port = free_ports_in_a_row(10)
        process = self._start(f"{command} --port {port}")
        self._await(process, lambda: is_whole(port))
        process.send_signal(signal.SIGINT)
        self._end(command, process, {0})

    def _adapted(self, command: str) -> str:
        if command.startswith("make "):
            return f"make --directory '{ROOT}' --dry-run {command.removeprefix('make ')}"
        python = shlex.quote(sys.executable)
        command = re.sub(r"^(\.venv/bin/)?python ", lambda _: f"{python} ", command)
        command = re.sub(
            r"(?<=\s)(\d+):\d+(?=\s|$)", lambda m: f"{m[1]}:{int(m[1]) + SEEDS} --jobs 1", command
        )
        command = re.sub(r"--(seconds|repeat) \d+\b(?!\.)", r"--\1 1", command)
        if "--connect" not in command and "--config" not in command:
            address = f"{CLIENT_PORT}@localhost"
            command = re.sub(ASKS, rf"\g<0> --connect {address}", command)
        return with_ports(command, self._cluster)


def with_ports(text: str, cluster: LocalCluster) -> str:
    """The cluster's ports for the usual ones."""
    ports = {str(CLIENT_PORT + n): str(one.client_port) for n, one in enumerate(cluster.daemons)}
    return re.sub(r"\b\d{4}\b", lambda found: ports.get(found[0], found[0]), text)


def is_simple(command: str) -> bool:
    """One program, so that a signal to the shell would be one to the program."""
    return not re.search(r"[|;&<>]", command)


def exit_codes(command: str, remark: str = "") -> set[int]:
    if "--mutant" in command:
        return {0, 1}  # not every seed shows every bug
    said = re.search(r"exits with (\d)", remark)
    return {int(said[1])} if said else {0}


def is_whole(port: int) -> bool:
    """The daemon there runs, and has found all others."""
    try:
        with antiphon.blocking.connect(f"{port}@localhost") as session:
            status = session.query("status")
    except antiphon.SessionError:
        return False
    return sorted(status["members"]) == sorted(status["known_daemons"])


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def free_ports_in_a_row(count: int) -> int:
    """The first of them; tests in other processes look elsewhere."""
    begin = 20_000 + os.getpid() * count % 10_000
    for first in range(begin, begin + 1000, count):
        if not any(answers(port) for port in range(first, first + count)):
            return first
    raise AssertionError("no ports are free")
