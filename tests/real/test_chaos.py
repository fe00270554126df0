"""Chaos on real processes: short runs, and that nothing of them stays behind. Needs root."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from antiphon.tools.chaos.faults import FaultKind
from antiphon.tools.chaos.namespaces import (
    Namespaces,
    is_alive,
    leftovers,
    made_by,
    present,
    require_programs,
)
from tests.real.waiting import until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")

COMMAND = "from antiphon.tools.chaos.chaos_command import chaos; chaos()"
MAKER = """
import sys
from antiphon.tools.chaos.namespaces import Namespaces

with Namespaces(2):
    print("ready", flush=True)
    sys.stdin.read()
"""
PATIENCE_S = 20.0


@pytest.fixture(scope="module", autouse=True)
def programs() -> None:
    require_programs(print)


def run(directory: Path, *options: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, figures, and all that was printed."""
    command = [sys.executable, "-c", COMMAND, "--json", "--directory", str(directory), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    said = done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines and lines[-1].startswith("{"), said
    return done.returncode, json.loads(lines[-1]), said


def test_a_short_run_keeps_every_promise(tmp_path: Path) -> None:
    code, figures, said = run(tmp_path, "--seconds", "25", "--seed", "7")
    assert code == 0, said
    assert figures["violations"] == 0 and figures["unexpected_ends"] == 0
    assert sum(f"faults_{kind}" in figures for kind in FaultKind) >= 4, said
    sent = [figures[name] for name in figures if name.startswith("messages_")]
    assert len(sent) == 6 and all(sent), "every service was used"
    assert not leftovers(present(), is_alive)


def test_a_planted_bug_is_caught(tmp_path: Path) -> None:
    options = ("--seconds", "25", "--seed", "7", "--mutant", "agreed-on-arrival")
    code, figures, said = run(tmp_path, *options)
    assert code == 1, said
    assert {"S4", "S5"} & {*figures["promises"]}, said
    assert "antiphon records judge" in said
    assert (tmp_path / "seed7" / "records").is_dir(), "kept, to be looked at"


def test_namespaces_go_when_their_maker_is_killed() -> None:
    maker = subprocess.Popen(
        [sys.executable, "-c", MAKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert maker.stdin is not None and maker.stdout is not None
    with maker.stdin, maker.stdout:
        assert maker.stdout.readline() == b"ready\n"
        names = made_by(maker.pid)
        assert len(names) == 3
        inside = subprocess.Popen(["ip", "netns", "exec", names[0], "sleep", "1000"])
        until(lambda: Path(f"/proc/{inside.pid}/comm").read_text() == "sleep\n")
        maker.kill()
        maker.wait()
        assert inside.wait(PATIENCE_S) == -9, "processes inside go too"
        until(lambda: not made_by(maker.pid))


def test_what_was_left_behind_goes_with_the_next_run() -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    left = f"aph{dead.pid}-1"
    subprocess.run(["ip", "netns", "add", left], check=True)
    with Namespaces(1) as spaces:
        assert left not in present()
        assert spaces.name(1) in present()
    assert not made_by(os.getpid())


def test_a_filter_cuts_one_way_and_no_other() -> None:
    def reaches(spaces: Namespaces, source: int, target: int) -> bool:
        """One datagram, answered by nobody: only whether it arrives counts."""
        listen = "import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.settimeout(1);"
        listen += f"s.bind(('10.203.0.{target}', 9)); print(flush=True); s.recv(9)"
        listener = subprocess.Popen(
            [*spaces.inside(target), sys.executable, "-c", listen],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert listener.stdout is not None
        with listener.stdout:
            listener.stdout.readline()
            say = "import socket; s = socket.socket(type=socket.SOCK_DGRAM);"
            say += f"s.sendto(b'x', ('10.203.0.{target}', 9))"
            subprocess.run([*spaces.inside(source), sys.executable, "-c", say], check=True)
            return listener.wait() == 0

    with Namespaces(2) as spaces:
        assert reaches(spaces, 1, 2) and reaches(spaces, 2, 1)
        spaces.filter(2, ["ip saddr 10.203.0.1 drop"])
        assert not reaches(spaces, 1, 2) and reaches(spaces, 2, 1)
        spaces.filter(2, [])
        assert reaches(spaces, 1, 2)
