"""Network namespaces for one run: one for each daemon, and one that holds the bridge.

    aph<pid>-1   aph<pid>-2   ...      10.203.0.1, 10.203.0.2, ...
        |            |
        +-- aph<pid>-hub --+           a bridge, and nothing else

Nothing of it is in the machine's own network. All names carry the id of the process that made
them, so that whoever comes later can tell what was left behind: a guardian process removes
everything when its maker dies, and a new run removes what a dead guardian could not.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from antiphon.core.errors import UsageError

PACKAGES = {"ip": "iproute2", "nft": "nftables"}
"""Programs that are needed, and where apt finds them."""

NAME = re.compile(r"aph(\d+)-(\d+|hub)")
FOLDER = Path("/run/netns")
"""Where `ip` keeps the names of namespaces."""


def address_of(number: int) -> str:
    """Of a daemon, numbered from 1; known inside the namespaces only."""
    return f"10.203.0.{number}"


def require_programs(say: Callable[[str], None]) -> None:
    """Root and the programs; what is missing is installed by apt."""
    if os.geteuid() != 0:
        raise UsageError("not_root", "namespaces and packet filters need root", "run it as root")
    missing = [package for program, package in PACKAGES.items() if not shutil.which(program)]
    if not missing:
        return
    names = " ".join(missing)
    say(f"installing {names} by apt, for namespaces and packet filters")
    try:
        done = subprocess.run(["apt-get", "install", "-y", *missing], capture_output=True)
        failed = done.returncode != 0
    except OSError:
        failed = True
    if failed:
        raise UsageError("no_programs", f"{names} cannot be installed", "install them by hand")


def leftovers(names: Iterable[str], is_alive: Callable[[int], bool]) -> list[str]:
    """Those namespaces whose maker is dead."""
    found = []
    for name in names:
        parts = NAME.fullmatch(name)
        if parts and not is_alive(int(parts[1])):
            found.append(name)
    return sorted(found)


def is_alive(process: int) -> bool:
    return Path(f"/proc/{process}").exists()


def present() -> list[str]:
    """Names of all namespaces of this machine that have one."""
    return sorted(path.name for path in FOLDER.iterdir()) if FOLDER.is_dir() else []


def made_by(process: int) -> list[str]:
    return [name for name in present() if name.startswith(f"aph{process}-")]


def remove(names: Iterable[str]) -> None:
    """With every process that is still inside."""
    for name in names:
        inside = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True)
        for process in inside.stdout.split():
            try:
                os.kill(int(process), signal.SIGKILL)
            except ProcessLookupError:
                pass  # it went by itself
        subprocess.run(["ip", "netns", "del", name], capture_output=True)


class Namespaces:
    """`with Namespaces(5) as spaces:`; gone at the end of the block, or of this process."""

    def __init__(self, count: int) -> None:
        self._owner = os.getpid()
        self.numbers = range(1, count + 1)
        self.table = f"aph{self._owner}"
        """Of the packet filter, in each namespace."""

        self._guardian: subprocess.Popen[bytes] | None = None

    def name(self, number: int) -> str:
        return f"aph{self._owner}-{number}"

    def inside(self, number: int) -> list[str]:
        """What to write before a command to run it there. It becomes that command: same pid."""
        return ["ip", "netns", "exec", self.name(number)]

    def __enter__(self) -> "Namespaces":
        remove(leftovers(present(), is_alive))
        remove(made_by(self._owner))  # by a process before us that had our number
        self._guardian = self._start_guardian()
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        remove(made_by(self._owner))
        guardian, self._guardian = self._guardian, None
        if guardian is not None:
            assert guardian.stdin is not None
            guardian.stdin.close()
            guardian.wait()

    def _start_guardian(self) -> subprocess.Popen[bytes]:
        """It reads until we end, by whatever means; a session of its own saves it from signals
        that are meant for us."""
        command = [sys.executable, "-m", "antiphon.tools.chaos.guardian", str(self._owner)]
        return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)

    def _make(self) -> None:
        hub = f"aph{self._owner}-hub"
        run_tool(["ip", "netns", "add", hub])
        run_tool(["ip", "-n", hub, "link", "add", "bridge", "type", "bridge"])
        run_tool(["ip", "-n", hub, "link", "set", "bridge", "up"])
        for number in self.numbers:
            name, port = self.name(number), f"port{number}"
            run_tool(["ip", "netns", "add", name])
            peer = ["peer", "name", "lan", "netns", name]
            run_tool(["ip", "-n", hub, "link", "add", port, "type", "veth", *peer])
            run_tool(["ip", "-n", hub, "link", "set", port, "master", "bridge", "up"])
            run_tool(["ip", "-n", name, "address", "add", f"{address_of(number)}/24", "dev", "lan"])
            for device in ("lo", "lan"):
                run_tool(["ip", "-n", name, "link", "set", device, "up"])

    def filter(self, number: int, rules: Sequence[str]) -> None:
        """From now on these rules, and no others, hold for what arrives at a daemon."""
        lines = [
            f"add table inet {self.table}",
            f"delete table inet {self.table}",
            f"add table inet {self.table}",
            f"add chain inet {self.table} faults {{ type filter hook input priority 0; }}",
            *(f"add rule inet {self.table} faults {rule}" for rule in rules),
        ]
        run_tool([*self.inside(number), "nft", "-f", "-"], "\n".join(lines) + "\n")


def run_tool(command: list[str], text: str = "") -> None:
    """`ip` or `nft`, and what it said if it failed."""
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it said nothing"])[0]
        what = f"{' '.join(command)} failed: {said}"
        raise UsageError("no_namespaces", what, "see whether this kernel and container allow it")
