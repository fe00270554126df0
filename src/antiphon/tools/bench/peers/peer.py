"""A system beside us, and what several of them need: packages, servers, clients of the bench."""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from secrets import token_hex
from typing import Literal, Protocol

from antiphon.core.errors import UsageError
from antiphon.tools.bench.plan import Plan
from antiphon.tools.bench.target import Target
from antiphon.tools.bench.traffic import Say, run_traffic, silent
from antiphon.tools.cluster import end_with_parent

RECEIVERS = 3
STOP_SECONDS = 5.0


class Peer(Protocol):
    def flood(self, size: int, seconds: float) -> float:
        """Messages a second at the slowest of the receivers, from one sender, all checked."""


class Broker:
    """A server with clients of the bench around it, which check what they get as ours do."""

    def __init__(self, client: Literal["nats", "zeromq"], address: str) -> None:
        self._client = client
        self._address = address

    def flood(self, size: int, seconds: float) -> float:
        plan = Plan(
            receivers=RECEIVERS,
            size=size,
            seconds=seconds,
            client=self._client,
            prefix=f"bench-{token_hex(3)}",
        )
        found = run_traffic(plan, Target([self._address], []), silent)
        return float(str(found["messages_per_second"]))


def require_program(program: str, packages: Sequence[str], say: Say) -> None:
    """What is missing is installed by apt."""
    if not shutil.which(program):
        install_packages(packages, say)


def install_packages(packages: Sequence[str], say: Say) -> None:
    names = " ".join(packages)
    say(f"installing {names} by apt")
    try:
        for command in (["update", "-qq"], ["install", "-y", "-qq", *packages]):
            subprocess.run(["apt-get", *command], capture_output=True, text=True, check=True)
        return
    except subprocess.CalledProcessError as error:
        why = f"apt-get ended with {error.returncode}: {' '.join(error.stderr.split())[-200:]}"
    except OSError as error:
        why = str(error)
    what = f"{names} cannot be installed: {why}"
    raise UsageError("no_programs", what, "install them by hand")


def require_library(module: str, package: str) -> None:
    if not find_spec(module):
        raise UsageError("no_library", f"{package} is not installed", "run scripts/bootstrap bench")


@contextmanager
def running(command: Sequence[str]) -> Iterator[None]:
    """A server, until the end of the block."""
    nowhere = subprocess.DEVNULL
    server = subprocess.Popen(
        command, stdin=nowhere, stdout=nowhere, stderr=nowhere, preexec_fn=end_with_parent
    )
    try:
        yield
    finally:
        server.terminate()
        end(server)


def end(server: "subprocess.Popen[bytes]") -> None:
    """It was asked to."""
    try:
        server.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
