"""The emulated wide area with the kernel's own UDP and TCP, and that nothing of it stays behind.
Needs root."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from antiphon.core.errors import ConfigError, UsageError
from antiphon.tools.chaos.namespaces import is_alive, made_by, require_programs
from antiphon.tools.wan.echo import Echoes, echo_command
from antiphon.tools.wan.emulation import Emulation
from antiphon.tools.wan.presets import topology_of
from tests.real.waiting import until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")

COMMAND = "from antiphon.tools.wan_command import wan; wan()"
LISTENER = """
import socket, sys
line = socket.socket(type=socket.SOCK_DGRAM)
line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
line.bind(("", 9))
print("ready", flush=True)
got = []
while (data := line.recv(2000)) != b"end":
    got.append(int(data[:8]))
print(len(got), sum(a > b for a, b in zip(got, got[1:])), flush=True)
"""
# Paced: what is lost must be lost on the way, not at the sender for want of room.
TALKER = """
import socket, sys, time
line = socket.socket(type=socket.SOCK_DGRAM)
line.connect((sys.argv[1], 9))
for number in range(int(sys.argv[2])):
    line.send(b"%08d" % number + bytes(1064))
    time.sleep(0.0005)
"""
TCP_SERVER = """
import socket, time
door = socket.create_server(("", 9))
print("ready", flush=True)
line, _ = door.accept()
print(line.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16), flush=True)
total, begin, first = 0, 0.0, time.monotonic()
while data := line.recv(1 << 16):
    now = time.monotonic()
    if now - first > 0.5:
        begin = begin or now
        total += len(data) if begin < now else 0
print(total * 8e-6 / (now - begin), flush=True)
"""
TCP_CLIENT = """
import socket, sys, time
line = socket.create_connection((sys.argv[1], 9))
until = time.monotonic() + float(sys.argv[2])
while time.monotonic() < until:
    line.send(bytes(1 << 14))
"""
OWNER = """
import sys
from antiphon.tools.wan.emulation import Emulation
from antiphon.tools.wan.presets import topology_of

with Emulation(topology_of("two-sites")) as emulation:
    print(emulation._relay.pid, flush=True)
    sys.stdin.read()
"""
PATIENCE_S = 20.0


@pytest.fixture(scope="module", autouse=True)
def programs() -> None:
    require_programs(print)


@pytest.fixture
def pair() -> Iterator[Emulation]:
    """Two sites with two hosts each, 52 ms apart."""
    with Emulation(topology_of("two-sites:delay_ms=52,hosts=2")) as emulation:
        yield emulation


def ping(emulation: Emulation, source: str, target: str, count: int = 20) -> Echoes:
    command = echo_command(emulation.address(target), count, 20.0, 56)
    said, _ = emulation.popen(source, command, stdout=subprocess.PIPE).communicate()
    return msgspec.json.decode(said, type=Echoes)


def listen(emulation: Emulation, host: str, program: str) -> subprocess.Popen[str]:
    listener = emulation.popen(
        host, [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    )
    assert listener.stdout is not None and listener.stdout.readline() == "ready\n"
    return listener


def talk(emulation: Emulation, host: str, program: str, *arguments: str) -> None:
    assert emulation.popen(host, [sys.executable, "-c", program, *arguments]).wait() == 0


def test_a_ping_takes_the_delay_of_both_ways(pair: Emulation) -> None:
    echoes = ping(pair, "a1", "b2", count=50)
    assert echoes.received == 50
    assert 103.7 <= echoes.min_ms <= 150.0, echoes


def test_hosts_of_one_site_talk_without_the_relay(pair: Emulation) -> None:
    echoes = ping(pair, "a1", "a2")
    assert echoes.received == 20 and echoes.min_ms < 5
    assert pair.counts().arrived == 0


def test_links_change_while_it_runs(pair: Emulation) -> None:
    pair.set_link("a", "b", loss=1.0)
    assert ping(pair, "a1", "b1", count=3).received == 0
    assert pair.counters()["a", "b"].lost == 3
    pair.set_link("a", "b", loss=0.0, delay_ms=10.0)
    echoes = ping(pair, "a1", "b1")
    assert 61.7 <= echoes.min_ms <= 90.0, echoes


def test_wrong_names_and_numbers_are_refused(pair: Emulation) -> None:
    with pytest.raises(UsageError, match="no link leads from 'a' to 'c'; use one of a > b, b > a"):
        pair.set_link("a", "c", loss=0.1)
    with pytest.raises(ConfigError, match="loss: 3 cannot be"):
        pair.set_link("a", "b", loss=3)
    with pytest.raises(UsageError, match="no host is called 'a'; use one of a1, a2"):
        pair.popen("a", ["true"])
    with pytest.raises(UsageError, match="does not run"):
        Emulation(topology_of("two-sites")).counters()
    with pytest.raises(UsageError, match="already"), Emulation(topology_of("two-sites")):
        pass
    assert ping(pair, "a1", "a2", count=1).received == 1, "it goes on"


def test_every_datagram_is_counted_lost_or_arrived() -> None:
    """SP-221: losses are drawn evenly. Some of the others are overtaken."""
    sent = 2000
    topology = topology_of("two-sites:delay_ms=10,loss=0.1,reorder=0.05")
    with Emulation(topology, seed=3) as emulation:
        listener = listen(emulation, "b", LISTENER)
        talk(emulation, "a", TALKER, emulation.address("b"), str(sent))
        counts = emulation.counters()["a", "b"]
        emulation.set_link("a", "b", loss=0.0, reorder=0.0, delay_ms=20.0)
        end = "import socket, sys; socket.socket(type=2).sendto(b'end', (sys.argv[1], 9))"
        talk(emulation, "a", end, emulation.address("b"))
        arrived, overtaken = map(int, listener.communicate()[0].split())
        overruns = emulation.counts().overruns
    assert overruns == 0
    assert counts.packets == sent and counts.bytes == sent * 1100 and counts.dropped == 0
    assert arrived == sent - counts.lost and abs(counts.lost - 200) < 60
    assert 0.5 * counts.reordered < overtaken <= counts.reordered


def test_what_the_relay_did_not_read_in_time_is_told(pair: Emulation) -> None:
    relay = pair._relay
    assert relay is not None
    os.kill(relay.pid, signal.SIGSTOP)
    flood = TALKER.replace("time.sleep(0.0005)", "pass")
    try:
        talk(pair, "a1", flood, pair.address("b1"), "4500")
    finally:
        os.kill(relay.pid, signal.SIGCONT)
    assert 0 < pair.counts().overruns <= 500


def test_kernel_tcp_gets_the_bandwidth_and_no_more() -> None:
    """How near it comes depends on who else runs here: a relay that is paused looks like a loss."""
    with Emulation(topology_of("two-sites:delay_ms=10,mbit=10,queue_kb=32")) as emulation:
        listener = listen(emulation, "b", TCP_SERVER)
        talk(emulation, "a", TCP_CLIENT, emulation.address("b"), "3")
        used, rate = listener.communicate()[0].splitlines()
        counts = emulation.counters()
    assert "cubic" in used
    assert 3.0 <= float(rate) <= 10.0
    assert counts["a", "b"].dropped > 0, "it found the end of the queue"
    assert 0 < counts["b", "a"].bytes < counts["a", "b"].bytes / 10


def test_the_topology_says_which_tcp_hosts_have() -> None:
    with Emulation(topology_of("two-sites:delay_ms=1,tcp=reno")) as emulation:
        listener = listen(emulation, "b", TCP_SERVER)
        talk(emulation, "a", TCP_CLIENT, emulation.address("b"), "0.6")
        assert "reno" in listener.communicate()[0]


def test_everything_goes_when_the_owner_is_killed() -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert owner.stdin is not None and owner.stdout is not None
    with owner.stdin, owner.stdout:
        relay = int(owner.stdout.readline())
        assert len(made_by(owner.pid)) == 3 and is_alive(relay)
        owner.kill()
        owner.wait()
        until(lambda: not made_by(owner.pid) and not is_running(relay))


def is_running(process: int) -> bool:
    """One that ended without a parent to notice may stay as a zombie in some containers."""
    try:
        return "(zombie)" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


def test_the_command_pings_six_sites_as_the_paper_did() -> None:
    """SP-211: 103.3 / 104.1 / 106.8 ms. Never sooner; how much later is for `bench wan` to say, for
    other tests run beside."""
    command = [sys.executable, "-c", COMMAND, "ping", "six-sites", "mae-east", "ucsb", "--json"]
    done = subprocess.run(command, capture_output=True, check=True)
    echoes = msgspec.json.decode(done.stdout, type=Echoes)
    assert echoes.received == echoes.sent == 20
    assert 103.0 <= echoes.min_ms <= 150.0, echoes


def test_the_command_runs_another_one_at_a_host_and_ends_like_it() -> None:
    command = [sys.executable, "-c", COMMAND, "run", "two-sites", "--at", "b", "--counts", "--json"]
    script = "ip -4 -o address show dev lan; echo {a}; exit 3"
    done = subprocess.run([*command, "--", "sh", "-c", script], capture_output=True, text=True)
    assert done.returncode == 3, done.stderr
    assert "10.204.2.1/24" in done.stdout and done.stdout.endswith("\n10.204.1.1\n")
    assert json.loads(done.stderr)["arrived"] == 0


def test_the_command_stays_up_until_it_is_told_to_end() -> None:
    command = [sys.executable, "-c", COMMAND, "up", "two-sites", "--json"]
    running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert running.stdin is not None and running.stdout is not None
    with running.stdin, running.stdout:
        hosts = json.loads(running.stdout.readline())["hosts"]
        assert [host["namespace"] for host in hosts] == [f"aph{running.pid}-{n}" for n in (1, 2)]
        running.stdin.write("\n")
        running.stdin.flush()
        assert json.loads(running.stdout.readline())["arrived"] == 0
        running.terminate()
        assert "links" in json.loads(running.stdout.readline())
        assert running.wait(PATIENCE_S) == 0
    assert not made_by(running.pid)
