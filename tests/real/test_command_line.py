"""The command line against real daemons: what is printed, and how it exits."""

import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from antiphon import blocking
from antiphon.tools.cluster import LocalCluster
from tests.real.stage import LESS_PATIENT
from tests.real.waiting import until

ANTIPHON = [sys.executable, "-m", "antiphon"]
SECONDS = 30.0
WAIT = 0.02


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with LocalCluster(3, tmp_path_factory.mktemp("cluster"), extra=LESS_PATIENT) as made:
        yield made


@pytest.fixture
def cluster(running: LocalCluster) -> LocalCluster:
    running.await_merge()
    return running


def call(*words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*ANTIPHON, *words], input=stdin, capture_output=True, text=True, timeout=SECONDS
    )


def begin(*words: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen([*ANTIPHON, *words], stdout=pipe, stderr=pipe, text=True)


def end(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    try:
        out, errors = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
    return process.returncode, out, errors


def rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def members(cluster: LocalCluster, group: str) -> int:
    with blocking.connect(cluster.addresses[0]) as session:
        return int(session.query("groups")["groups"].get(group, 0))


def views(cluster: LocalCluster) -> list[list[str]]:
    """Which daemons each one is with."""
    found = []
    for address in cluster.addresses:
        with blocking.connect(address) as session:
            found.append(sorted(session.query("status")["members"]))
    return found


def test_what_one_sends_another_hears(cluster: LocalCluster) -> None:
    one, _, three = cluster.addresses
    listener = begin("listen", "chat", "--count", "3", "--json", "--connect", three)
    until(lambda: members(cluster, "chat") == 1)
    words = ("send", "chat", "--connect", one, "--name", "bob", "--kind", "7")
    sent = call(*words, "hello", "two words", "--service", "safe")
    assert (sent.returncode, sent.stdout) == (0, "sent 2 messages, 14 bytes, to chat\n")
    piped = call(*words, "--json", stdin="from a pipe\n")
    assert json.loads(piped.stdout)["messages"] == 1
    code, out, _ = end(listener)
    assert code == 0
    view, *heard = rows(out)
    assert (view["event"], view["cause"], len(view["members"])) == ("view", "join", 1)
    assert [(row["payload"], row["service"]) for row in heard] == [
        *(("hello", "safe"), ("two words", "safe"), ("from a pipe", "agreed"))
    ]
    assert {(row["name"], row["kind"]) for row in heard} == {("bob", 7)}


def test_a_burst_comes_whole_and_views_can_be_left_out(cluster: LocalCluster) -> None:
    address = cluster.addresses[1]
    listener = begin("listen", "load", "--count", "5000", "--no-views", "--connect", address)
    until(lambda: members(cluster, "load") == 1)
    sent = call("send", "load", "--count", "5000", "--size", "9", "--json", "--connect", address)
    assert json.loads(sent.stdout)["bytes"] == 45_000
    code, out, _ = end(listener)
    assert code == 0
    assert [int(line.split()[2]) for line in out.splitlines()] == list(range(1, 5001))


def test_ctrl_c_ends_a_listener_cleanly(cluster: LocalCluster) -> None:
    listener = begin("listen", "quiet", "--connect", cluster.addresses[0])
    assert listener.stdout is not None
    assert listener.stdout.readline().startswith("quiet view {")
    listener.send_signal(signal.SIGINT)
    code, _, errors = end(listener)
    assert (code, errors) == (0, "")


def test_a_shell_does_what_a_pipe_says(cluster: LocalCluster) -> None:
    script = "join chat\nsend chat hello there\ngroups\nburst chat 50 10\nleave chat\nquit\nfoo\n"
    done = call("shell", "--name", "ann", "--connect", cluster.addresses[0], stdin=script)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("ann at one: #ann#")
    assert "chat view {ann} join: +ann" in lines
    assert "chat ann: hello there" in lines
    assert "chat: ann" in lines
    assert lines[-1] == "chat left"
    failed = call("shell", "--connect", cluster.addresses[0], stdin="dance\njoin\nleave chat\n")
    assert failed.returncode == 1
    assert [line.partition(";")[2] for line in failed.stderr.splitlines()] == [
        *(" use: help", " use: join GROUP", " leave what was joined")
    ]


def read_until(terminal: int, wanted: str) -> str:
    """What is on the screen up to there."""
    shown = b""
    limit = time.monotonic() + SECONDS
    while wanted.encode() not in shown:
        assert time.monotonic() < limit, shown
        if select.select([terminal], [], [], WAIT)[0]:
            shown += os.read(terminal, 4096)
    return shown.decode()


def test_a_shell_on_a_terminal_shows_events_while_a_line_is_typed(cluster: LocalCluster) -> None:
    address = cluster.addresses[0]
    ours, theirs = pty.openpty()
    words = [*ANTIPHON, "shell", "--name", "tom", "--connect", address]
    environment = {**os.environ, "TERM": "xterm"}
    shell = subprocess.Popen(words, stdin=theirs, stdout=theirs, env=environment)
    try:
        read_until(ours, "> ")
        os.write(ours, b"join typed\n")
        read_until(ours, "typed view {tom} join: +tom")
        os.write(ours, b"send typed half")
        read_until(ours, "send typed half")
        call("send", "typed", "outside", "--name", "bob", "--connect", address)
        assert "\r\x1b[Ktyped bob: outside" in read_until(ours, "> send typed half")
        os.write(ours, b"way\nquit\n")
        assert "typed tom: halfway" in read_until(ours, "typed left")
        assert shell.wait(SECONDS) == 0
    finally:
        shell.kill()
        shell.wait()
        os.close(ours)
        os.close(theirs)


def test_daemons_tell_how_they_are(cluster: LocalCluster) -> None:
    one = cluster.addresses[0]
    (status,) = rows(call("status", "--json", "--connect", one).stdout)
    assert (status["daemon"], sorted(status["members"])) == ("one", ["one", "three", "two"])
    every = call("status", "--json", "--config", str(cluster.config))
    assert [row["daemon"] for row in rows(every.stdout)] == ["one", "two", "three"]
    assert "operational" in call("status", "--connect", one).stdout
    table = call("status", "--config", str(cluster.config)).stdout
    assert all(f"  {name} " in table for name in ("one", "two", "three"))
    watched = begin("status", "--watch", "--json", "--interval", "0.1", "--connect", one)
    assert watched.stdout is not None
    seen = [json.loads(watched.stdout.readline())["uptime_seconds"] for _ in range(2)]
    assert seen[0] < seen[1]
    watched.send_signal(signal.SIGINT)
    assert end(watched)[0] == 0


def test_one_daemon_that_is_gone_is_told_among_those_that_run(cluster: LocalCluster) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        nobody = f"{held.getsockname()[1]}@127.0.0.1"
        told = call("status", "--connect", cluster.addresses[0], "--connect", nobody)
    assert told.returncode == 3
    assert "unreachable" in told.stdout and "no daemon answered" in told.stderr


def test_groups_and_members_are_listed_whatever_their_names(cluster: LocalCluster) -> None:
    address = cluster.addresses[1]
    group = "[/]:smile:"
    listener = begin("listen", group, "--name", "[red]ann", "--connect", address)
    until(lambda: members(cluster, group) == 1)
    assert group in call("groups", "--connect", address).stdout
    listed = call("members", group, "--connect", address).stdout.splitlines()
    assert ["[red]ann", "two"] in [line.split()[:2] for line in listed]
    told = json.loads(call("members", group, "--json", "--connect", address).stdout)
    assert [row["name"] for row in told["members"]] == ["[red]ann"]
    listener.send_signal(signal.SIGINT)
    end(listener)
    none = call("members", "nobody is here", "--connect", address)
    assert (none.returncode, none.stdout) == (1, "")
    assert "antiphon groups" in none.stderr


def test_a_drill_cuts_and_heals(cluster: LocalCluster) -> None:
    config = ("--config", str(cluster.config))
    cut = call("partition", "set", "one,two | three", "--yes", *config, "--json")
    assert json.loads(cut.stdout) == {"sides": [["one", "two"], ["three"]]}
    until(lambda: views(cluster) == [["one", "two"], ["one", "two"], ["three"]])
    ill = call("doctor", *config, "--json")
    assert ill.returncode == 1
    wrong = {row["subject"] for row in rows(ill.stdout) if row["grade"] == "wrong"}
    assert wrong == {"one and three", "three and two"}
    every = [word for address in cluster.addresses for word in ("--connect", address)]
    cleared = call("partition", "clear", *every)
    assert cleared.returncode == 0 and cleared.stdout.startswith("cleared: ")
    until(lambda: views(cluster) == [["one", "three", "two"]] * 3)
    assert call("doctor", *config).returncode == 0


def test_a_drill_that_is_not_complete_changes_nothing(cluster: LocalCluster) -> None:
    one, two, _ = cluster.addresses
    words = ("partition", "set", "one", "two,three", "--connect", one, "--connect", two)
    assert call(*words, "--yes").returncode == 2
    assert call(*words).returncode == 2
    (status,) = rows(call("status", "--json", "--connect", one).stdout)
    assert status["silenced"] == []


def test_a_refused_message_is_not_said_to_be_sent(tmp_path: Path) -> None:
    rule = '[[access]]\ngroup = "closed"\nwho = ["*"]\nmay = []\n'
    with LocalCluster(1, tmp_path, extra=rule) as cluster:
        address = cluster.addresses[0]
        for command in (["send", "closed", "hello"], ["listen", "closed"]):
            refused = call(*command, "--connect", address)
            assert (refused.returncode, refused.stdout) == (1, "")
            assert len(refused.stderr.splitlines()) == 1
        assert call("send", "open", "hello", "--connect", address).returncode == 0


def test_daemons_reload_and_stop(tmp_path: Path) -> None:
    with LocalCluster(2, tmp_path) as cluster:
        config = ("--config", str(cluster.config))
        assert call("reload", *config).stdout == "reloaded one\nreloaded two\n"
        whole = cluster.config.read_text()
        cluster.config.write_text("[cluster")
        refused = call("reload", "--connect", cluster.addresses[0])
        assert refused.returncode == 1 and "cluster.toml" in refused.stderr
        cluster.config.write_text(whole)
        listener = begin("listen", "chat", "--connect", cluster.addresses[0])
        until(lambda: members(cluster, "chat") == 1)
        assert call("stop", *config, "--json").stdout == '{"stopped":"one"}\n{"stopped":"two"}\n'
        code, out, _ = end(listener)
        assert code == 1 and out.splitlines()[-1].startswith("closed (daemon_stopping): ")
        until(lambda: not any(daemon.alive for daemon in cluster.daemons))
        assert call("stop", *config).returncode == 3


def free_port() -> int:
    """The first of two."""
    with socket.socket() as first:
        first.bind(("127.0.0.1", 0))
        return min(int(first.getsockname()[1]), 65_000)


@pytest.mark.parametrize(("number", "count"), [(signal.SIGINT, 2), (signal.SIGTERM, 1)])
def test_up_runs_until_it_is_told_and_leaves_nothing(
    number: signal.Signals, count: int, tmp_path: Path
) -> None:
    port = free_port()
    place = ("--directory", str(tmp_path / "lab"))
    up = begin("up", str(count), "--port", str(port), *place, "--json")
    try:
        assert up.stdout is not None
        told = json.loads(up.stdout.readline())
        assert [(one["name"], one["address"]) for one in told["daemons"]] == [
            *(("one", f"{port}@127.0.0.1"), ("two", f"{port + 1}@127.0.0.1"))
        ][:count]
        with blocking.connect(told["daemons"][-1]["socket"]) as session:
            assert len(session.query("status")["members"]) == count
    finally:
        up.send_signal(number)
        code, _, log = end(up)
    assert code == 0
    assert any(line.startswith("one ") and "view: " in line for line in log.splitlines())
    for one in told["daemons"]:
        with pytest.raises(ProcessLookupError):
            os.kill(one["pid"], 0)


def test_up_tells_of_a_daemon_that_dies() -> None:
    port = free_port()
    up = begin("up", "1", "--port", str(port))
    assert up.stdout is not None
    try:
        shown = [up.stdout.readline() for _ in range(6)]
        assert shown[0].split() == ["one", f"{port}@127.0.0.1"]
        assert shown[-1] == "Ctrl-C stops all.\n"
        with blocking.connect(f"{port}@127.0.0.1") as session:
            os.kill(session.query("status")["pid"], signal.SIGKILL)
    finally:
        code, _, log = end(up)
    assert code == 1
    assert "ended with code -9; to start it again: antiphon daemon --config" in log
