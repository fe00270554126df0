"""Corosync beside us: three nodes in network namespaces, and a client of its process groups in C.

The package is Debian's, at normal priority; it tells how fast this machine is today. Needs root.
"""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import mean

from antiphon.tools.bench.peers.peer import RECEIVERS, end, install_packages
from antiphon.tools.bench.reception import BenchFailed
from antiphon.tools.bench.traffic import Say
from antiphon.tools.chaos.namespaces import Namespaces, address_of, require_programs

SOURCE = Path(__file__).parent / "cpg_client.c"
PACKAGES = ("corosync", "libcpg-dev")
NODES = RECEIVERS
START_SECONDS = 30.0
LEAD_SECONDS = 0.2
"""Between the cue and the first message."""


WARMUP_SECONDS = 0.5
TAIL_SECONDS = 0.2
"""The sender goes on for so long after the measured time."""

CONFIG = """\
system {{
    sched_rr: no
    priority: 0
}}
totem {{
    version: 2
    cluster_name: bench
    transport: knet
    crypto_cipher: none
    crypto_hash: none
}}
nodelist {{
{nodes}}}
logging {{
    to_stderr: no
    to_syslog: no
    to_logfile: yes
    logfile: {log}
}}
"""
NODE_LIST = "".join(
    f"    node {{\n        ring0_addr: {address_of(number)}\n        nodeid: {number}\n"
    f"        name: node{number}\n    }}\n"
    for number in range(1, NODES + 1)
)


def install(folder: Path, say: Say) -> Path:
    """The client, built; what is missing of the system is installed by apt."""
    if not shutil.which("corosync") or not Path("/usr/include/corosync/cpg.h").exists():
        install_packages(PACKAGES, say)
    built = folder / "cpg_client"
    subprocess.run(["gcc", "-O2", "-o", str(built), str(SOURCE), "-lcpg"], check=True)
    return built


class Corosync:
    """`with corosync(say) as cluster: cluster.flood(1000, 2.0)`."""

    def __init__(self, spaces: Namespaces, client: Path) -> None:
        self._spaces = spaces
        self._client = client

    def flood(self, size: int, seconds: float) -> float:
        """Messages a second at the slowest receiver: one sender at the first node, agreed, a
        receiver at each."""
        found = self._run(size, seconds, 0)
        return min(count / (nanoseconds / 1e9) for count, nanoseconds, _ in found)

    def ping(self, size: int, seconds: float, rate: int) -> float:
        """p50 of latency in milliseconds at so many messages a second, the mean of the nodes that
        the sender is not at: its own hears of a message later."""
        return mean(latency / 1e6 for _, _, latency in self._run(size, seconds, rate)[1:])

    def _run(self, size: int, seconds: float, rate: int) -> list[list[int]]:
        """What each receiver tells: messages, nanoseconds, p50 of latency."""
        places = [("receive", node) for node in range(1, NODES + 1)] + [("send", 1)]
        clients = [self._start(role, node, size, rate) for role, node in places]
        try:
            for one in clients:
                if _line(one) != "ready":
                    raise BenchFailed("a client of Corosync did not come in")
            begin = time.monotonic() + LEAD_SECONDS + WARMUP_SECONDS
            cue = (begin, begin + seconds, begin + seconds + TAIL_SECONDS)
            for one in clients:
                assert one.stdin is not None
                one.stdin.write(" ".join(str(int(at * 1e9)) for at in cue) + "\n")
                one.stdin.flush()
            found = [_line(one).split() for one in clients[:NODES]]
        finally:
            for one in clients:
                one.kill()
                one.wait()
        if not all(len(words) == 3 for words in found):
            raise BenchFailed("a client of Corosync ended without a word")
        return [[int(word) for word in words] for words in found]

    def _start(self, role: str, node: int, size: int, rate: int) -> "subprocess.Popen[str]":
        command = [*self._spaces.inside(node), str(self._client), role, str(size), str(rate)]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _line(client: "subprocess.Popen[str]") -> str:
    assert client.stdout is not None
    return client.stdout.readline().strip()


@contextmanager
def corosync(say: Say) -> Iterator[Corosync]:
    require_programs(say)
    with tempfile.TemporaryDirectory(prefix="antiphon-corosync-") as name:
        folder = Path(name)
        client = install(folder, say)
        with Namespaces(NODES) as spaces:
            nodes = [_start_node(spaces, folder, number) for number in spaces.numbers]
            try:
                _await_members(spaces, nodes)
                yield Corosync(spaces, client)
            finally:
                for node in nodes:
                    node.terminate()
                for node in nodes:
                    end(node)


def _start_node(spaces: Namespaces, folder: Path, number: int) -> "subprocess.Popen[bytes]":
    config = folder / f"corosync-{number}.conf"
    config.write_text(CONFIG.format(nodes=NODE_LIST, log=folder / f"node-{number}.log"))
    # A machine has one Corosync, by its lock in /run: each gets a /run of its own.
    alone = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /run && exec "$0" "$@"']
    command = [*spaces.inside(number), *alone, "corosync", "-f", "-c", str(config)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _await_members(spaces: Namespaces, nodes: "list[subprocess.Popen[bytes]]") -> None:
    until = time.monotonic() + START_SECONDS
    wanted = [f"members.{number}.status (str) = joined" for number in spaces.numbers]
    for number in spaces.numbers:
        while True:
            command = [*spaces.inside(number), "corosync-cmapctl", "runtime.members"]
            told = subprocess.run(command, capture_output=True, text=True).stdout
            if all(one in told for one in wanted):
                break
            if time.monotonic() > until or any(node.poll() is not None for node in nodes):
                raise BenchFailed("Corosync did not come up; is one running already?")
            time.sleep(0.1)
