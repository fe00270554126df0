"""A standalone Spark cluster on loopback: a master and workers, processes of our own."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from antiphon.pipeline.archive import archive_options
from antiphon.pipeline.java import find_java
from antiphon.pipeline.session import SMALL

START_SECONDS = 60


class Standalone:
    def __init__(self, folder: Path, workers: int) -> None:
        self._folder = folder
        self._home = Path(pyspark.__file__).parent
        self._ports = free_ports(2)
        self._processes: list[subprocess.Popen[bytes]] = []
        self.master = f"spark://127.0.0.1:{self._ports[0]}"
        ports = ["--port", str(self._ports[0]), "--webui-port", str(self._ports[1])]
        self._start("master", "Master", "--host", "127.0.0.1", *ports)
        self.workers: list[subprocess.Popen[bytes]] = []
        for _ in range(workers):
            self.start_worker()

    def start_worker(self) -> None:
        number = len(self.workers)
        work = self._folder / f"work-{number}"
        size = ["--cores", "1", "--memory", "1g", "--work-dir", str(work)]
        size += ["--webui-port", "0"]
        started = self._start(f"worker-{number}", "Worker", "-h", "127.0.0.1", *size, self.master)
        self.workers.append(started)

    def finished_tasks(self, number: int) -> int:
        """At the executors of a worker, as they say."""
        work = self._folder / f"work-{number % len(self.workers)}"
        logs = work.glob("*/*/stderr")
        return sum(log.read_text(errors="replace").count("Finished task") for log in logs)

    def _start(self, name: str, role: str, *arguments: str) -> subprocess.Popen[bytes]:
        environment = {
            **os.environ,
            "JAVA_HOME": str(find_java()),
            "SPARK_HOME": str(self._home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self._folder),
            "SPARK_DAEMON_JAVA_OPTS": java_options(),
            "PYSPARK_PYTHON": sys.executable,
        }
        command = [self._home / "bin" / "spark-class", f"org.apache.spark.deploy.{role.lower()}."]
        command[1] += role
        with self._log(name).open("wb") as log:
            process = subprocess.Popen(
                [*map(str, command), *arguments],
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # executors are its children: all end together
            )
        self._processes.append(process)
        return process

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def await_workers(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self._log("master").read_text().count("Registering worker") >= len(self.workers):
                return
            time.sleep(0.1)
        raise AssertionError(self._log("master").read_text())

    def kill_worker(self, number: int) -> None:
        """With its executors, at once."""
        _end(self.workers[number])

    def close(self) -> None:
        for process in reversed(self._processes):
            _end(process)


def java_options() -> str:
    """Of masters, workers and executors, which run for a minute."""
    return f"{SMALL['spark.driver.extraJavaOptions']} {archive_options(find_java())}"


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # ended before
    process.wait()


def free_ports(count: int) -> list[int]:
    doors = [socket.socket() for _ in range(count)]
    for door in doors:
        door.bind(("127.0.0.1", 0))
    ports = [door.getsockname()[1] for door in doors]
    for door in doors:
        door.close()
    return ports


@contextmanager
def standalone(folder: Path, workers: int = 2) -> Iterator[Standalone]:
    cluster = Standalone(folder, workers)
    try:
        cluster.await_workers()
        yield cluster
    finally:
        cluster.close()
