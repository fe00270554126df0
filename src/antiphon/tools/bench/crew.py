"""The client processes of a bench, from start to report."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import msgspec

from antiphon.tools.bench.cue import READY
from antiphon.tools.bench.plan import (
    Failed,
    Plan,
    Post,
    Received,
    Report,
    Role,
    Sent,
    Window,
    name_of,
)
from antiphon.tools.bench.reception import BenchFailed, DaemonsParted

TAIL_S = 0.2
"""Senders go on so long after the measured time."""


class Reports(msgspec.Struct, frozen=True):
    sent: list[Sent]
    received: list[Received]


class Crew:
    """`with Crew(plan, addresses) as crew:`; none of its processes outlives the block."""

    def __init__(self, plan: Plan, addresses: Sequence[str], wrapper: Sequence[str] = ()) -> None:
        self._plan = plan
        self._shares = shares(plan, addresses)
        self._command = [*wrapper, sys.executable, "-m", "antiphon.tools.bench.worker"]
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "Crew":
        try:
            for posts in self._shares:
                self._processes.append(self._start(posts))
            for posts, process in zip(self._shares, self._processes, strict=True):
                self._await_ready(posts, process)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _start(self, posts: list[Post]) -> subprocess.Popen[bytes]:
        # A group of its own: Ctrl-C at a terminal is ours to pass on.
        process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0
        )
        _tell(process, posts)
        return process

    def _await_ready(self, posts: list[Post], process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        line = process.stdout.readline()
        if line != READY:
            failures = [one for one in _read(posts, line) if isinstance(one, Failed)]
            raise failure_of(failures or [Failed(f"{name_of(posts)} is early")])

    def go(self, begin: int) -> Window:
        """Measured is from then on. Receivers are told before senders."""
        end = begin + int(self._plan.seconds * 1e9)
        window = Window(begin, end, end + int(TAIL_S * 1e9))
        for process in self._processes:
            _tell(process, window)
        return window

    def reports(self, tick: Callable[[], None]) -> Reports:
        """When all have ended; `tick` is called now and then until they have."""
        found = Reports([], [])
        failures: list[Failed] = []
        for posts, process in zip(self._shares, self._processes, strict=True):
            assert process.stdout is not None
            tick()
            for report in _read(posts, process.stdout.readline()):
                match report:
                    case Failed():
                        failures.append(report)
                    case Sent():
                        found.sent.append(report)
                    case Received():
                        found.received.append(report)
        if failures:
            raise failure_of(failures)
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


def failure_of(failures: Sequence[Failed]) -> BenchFailed:
    """A fault that one of them saw counts, whatever became of the daemons."""
    kind = DaemonsParted if all(one.parted for one in failures) else BenchFailed
    return kind("; ".join(one.why for one in failures))


def begin_of(plan: Plan) -> int:
    """What is told to begin now is measured after the warming up; where floods take turns, from
    the first of them on."""
    soonest = time.monotonic_ns() + int(plan.warmup * 1e9)
    return soonest if plan.turns == 1 else soonest + -soonest % plan.round_ns


def shares(plan: Plan, addresses: Sequence[str]) -> list[list[Post]]:
    """The posts of each process; senders come last, for they are to be told last."""

    def share(role: Role, count: int, per_process: int) -> list[list[Post]]:
        posts = [
            Post(plan, role, number, addresses[number % len(addresses)]) for number in range(count)
        ]
        return [posts[first : first + per_process] for first in range(0, count, per_process)]

    return [
        *share("idle", plan.idle, plan.per_process),
        *share("receiver", plan.receivers, plan.per_process),
        *share("sender", plan.senders, 1),
    ]


def _tell(process: subprocess.Popen[bytes], what: list[Post] | Window) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(msgspec.json.encode(what) + b"\n")
        process.stdin.flush()
    except BrokenPipeError:
        pass  # it has ended, and its report says why


def _read(posts: list[Post], line: bytes) -> list[Report]:
    try:
        return msgspec.json.decode(line, type=list[Report])
    except msgspec.DecodeError:
        return [Failed(f"{name_of(posts)} ended without a report")]
