"""The client processes of a bench, from start to report."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import msgspec

from antiphon.tools.bench.cue import READY
from antiphon.tools.bench.plan import Failed, Plan, Post, Received, Report, Sent, Window
from antiphon.tools.bench.reception import BenchFailed

TAIL_S = 0.2
"""Senders go on so long after the measured time."""


class Reports(msgspec.Struct, frozen=True):
    sent: list[Sent]
    received: list[Received]


class Crew:
    """`with Crew(plan, addresses) as crew:`; none of its processes outlives the block."""

    def __init__(self, plan: Plan, addresses: Sequence[str], wrapper: Sequence[str] = ()) -> None:
        self._plan = plan
        self._posts = [
            Post(plan, "receiver", number, addresses[number % len(addresses)])
            for number in range(plan.receivers)
        ]
        self._posts += [
            Post(plan, "sender", number, addresses[number % len(addresses)])
            for number in range(plan.senders)
        ]
        self._command = [*wrapper, sys.executable, "-m", "antiphon.tools.bench.worker"]
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "Crew":
        try:
            for post in self._posts:
                self._processes.append(self._start(post))
            for post, process in zip(self._posts, self._processes, strict=True):
                self._await_ready(post, process)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _start(self, post: Post) -> subprocess.Popen[bytes]:
        # A group of its own: Ctrl-C at a terminal is ours to pass on.
        process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0
        )
        _tell(process, post)
        return process

    def _await_ready(self, post: Post, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        line = process.stdout.readline()
        if line != READY:
            report = _read(post, line)
            raise BenchFailed(report.why if isinstance(report, Failed) else f"{post.name} is early")

    def go(self) -> Window:
        """Receivers are told before senders."""
        begin = time.monotonic_ns() + int(self._plan.warmup * 1e9)
        end = begin + int(self._plan.seconds * 1e9)
        window = Window(begin, end, end + int(TAIL_S * 1e9))
        for process in self._processes:
            _tell(process, window)
        return window

    def reports(self, tick: Callable[[], None]) -> Reports:
        """When all have ended; `tick` is called now and then until they have."""
        found = Reports([], [])
        failures = []
        for post, process in zip(self._posts, self._processes, strict=True):
            assert process.stdout is not None
            tick()
            match _read(post, process.stdout.readline()):
                case Failed(why):
                    failures.append(why)
                case Sent() as sent:
                    found.sent.append(sent)
                case Received() as received:
                    found.received.append(received)
        if failures:
            raise BenchFailed("; ".join(failures))
        return found

    def _end(self) -> None:
        for process in self._processes:
            if process.stdin is not None:
                process.stdin.close()
            if process.stdout is not None:
                process.stdout.close()
            try:
                process.wait(1.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _tell(process: subprocess.Popen[bytes], what: Post | Window) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(msgspec.json.encode(what) + b"\n")
        process.stdin.flush()
    except BrokenPipeError:
        pass  # it has ended, and its report says why


def _read(post: Post, line: bytes) -> Report:
    try:
        report: Report = msgspec.json.decode(line, type=Report)
        return report
    except msgspec.DecodeError:
        return Failed(f"{post.name} ended without a report")
