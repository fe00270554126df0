"""Every program in examples/ does what its first lines say (SP-98)."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Timer

import pytest

import antiphon
from antiphon.tools.cluster import LocalCluster
from tests.real.stage import LESS_PATIENT

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = {path.stem for path in (ROOT / "examples").glob("*.py")}
PATIENCE_SECONDS = 60.0
SCREEN_LINES = 100
TRIES = 5


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    kept = '[store]\ndirectory = "store"\n\n[[retain]]\ngroup = "orders"\n'
    with LocalCluster(2, tmp_path_factory.mktemp("examples"), extra=LESS_PATIENT + kept) as cluster:
        cluster.await_merge()
        yield cluster


class Program:
    """An example that runs."""

    def __init__(self, name: str, address: str, *words: object) -> None:
        command = [sys.executable, str(ROOT / "examples" / f"{name}.py"), "--connect", address]
        self.process = subprocess.Popen(
            [*command, *map(str, words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def await_line(self, pattern: str) -> str:
        """Read up to and with a line like this."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if re.search(pattern, line):
                return line
        raise AssertionError(f"ended without a line like {pattern}: {self.end()}")

    def end(self, code: int = 0, typed: str = "") -> list[str]:
        """The lines that were not read yet, once it has ended as it should."""
        process = self.process
        assert process.stdin is not None and process.stdout is not None
        assert process.stderr is not None
        impatience = Timer(PATIENCE_SECONDS, process.kill)
        impatience.start()
        with process:
            process.stdin.write(typed)
            process.stdin.close()
            # Not by communicate(), which would pass over what was read ahead with a line.
            out, errors = process.stdout.read(), process.stderr.read()
        impatience.cancel()
        assert self.process.returncode == code, f"{out}{errors}"
        return out.splitlines()


def test_in_a_room_all_see_the_same_lines(cluster: LocalCluster) -> None:
    one, two = cluster.addresses
    alice = Program("chat", one, "--name", "alice", "--say", "a1", "--say", "a2", "--lines", 5)
    alice.await_line("a2")
    bob = Program("chat", two, "--name", "bob", "--say", "b1", "--say", "b2", "--lines", 3)
    bob.await_line("-- .*bob")
    carol = Program("chat", two, "--name", "carol").end(typed="c1\n")
    seen_by_alice, seen_by_bob = alice.end(), bob.end()
    talk = [line for line in seen_by_bob if not line.startswith("--")]
    assert sorted(talk) == ["bob: b1", "bob: b2", "carol: c1"]
    assert [line for line in seen_by_alice if not line.startswith("--")] == talk
    assert "carol: c1" in carol
    assert any(line.startswith("--") and "(join)" in line for line in seen_by_alice)


def test_a_counter_is_the_same_at_all_members(cluster: LocalCluster) -> None:
    one, two = cluster.addresses
    options = ("--members", 2, "--add", 5, "--until", 10)
    counters = [Program("replicated_counter", address, *options) for address in (one, two)]
    for counter in counters:
        assert counter.end()[-1] == "counter 10"


def test_a_counter_is_told_to_who_comes_later(cluster: LocalCluster) -> None:
    one, two = cluster.addresses
    old = Program("replicated_counter", one, "--add", 7, "--until", 8)
    old.await_line("counter 7")
    new = Program("replicated_counter", two, "--members", 2, "--add", 1, "--until", 8)
    assert old.end()[-1] == new.end()[-1] == "counter 8"


def test_workers_share_the_tasks(cluster: LocalCluster) -> None:
    one, two = cluster.addresses
    workers = [Program("work_queue", address, "--until", 20) for address in (one, two)]
    await_members(cluster, "work", 2)
    Program("work_queue", one, "--submit", 20).end()
    results = [worker.end() for worker in workers]
    assert results[0] == results[1]
    names, answers = zip(*(line.split(": ") for line in results[0]), strict=True)
    assert sorted(map(int, answers)) == [number**2 for number in range(20)]
    assert len(set(names)) == 2, "one did it all"


def test_tasks_of_a_dead_worker_are_done_by_others(cluster: LocalCluster) -> None:
    one, two = cluster.addresses
    dying = Program("work_queue", two, "--die-after", 2)
    living = Program("work_queue", one, "--until", 20)
    await_members(cluster, "work", 2)
    Program("work_queue", one, "--submit", 20).end()
    dying.end(code=9)
    answers = [int(line.split(": ")[1]) for line in living.end()]
    assert sorted(set(answers)) == [number**2 for number in range(20)]


def await_members(cluster: LocalCluster, group: str, count: int) -> None:
    """A program that joins the group too sees so many others in its view, or waits for them."""
    with antiphon.blocking.connect(cluster.addresses[0]) as session:
        session.join(group)
        for event in session:
            if isinstance(event, antiphon.View) and len(event.members) == count + 1:
                return


def test_a_high_priority_does_not_wait_for_lower_ones(cluster: LocalCluster) -> None:
    """Twentyfold, where the queue is full. On a busy machine the floods may not come to fill it,
    and then nobody waits; so it may take a few tries."""
    found = []
    for _ in range(TRIES):
        found.append(priorities(cluster))
        low, high = found[-1]
        if high < low / 2:
            return
    raise AssertionError(f"milliseconds of low and high: {found}")


def priorities(cluster: LocalCluster) -> tuple[float, float]:
    """The medians that the program prints, low and high."""
    lines = Program("priority", cluster.addresses[0], "--seconds", 1).end()
    low, high = (re.fullmatch(r"priority (\d+): median ([\d.]+) ms of \d+", one) for one in lines)
    assert low and high and (low[1], high[1]) == ("0", "255")
    return float(low[2]), float(high[2])


def test_a_program_without_asyncio_gets_its_messages_back(cluster: LocalCluster) -> None:
    lines = Program("blocking_client", cluster.addresses[0], "--count", 5).end()
    assert [line.split(" sent ")[1] for line in lines if " sent " in line] == [
        f"message {number}" for number in range(5)
    ]


def test_a_log_is_read_on_from_where_it_was_at_another_daemon(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    one, two = cluster.addresses
    state = ("--state", tmp_path / "offset")
    seen: list[str] = []
    for address, orders in ((one, ["a", "b"]), (two, ["a", "b", "c"])):
        while len(seen) < len(orders):
            seen += Program("replay", address, *state, "--say", *orders).end()
    assert [line.split()[1] for line in seen] == ["a", "b", "c"]


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_a_daemon_that_is_not_there_is_one_line(name: str) -> None:
    program = Program(name, "1@127.0.0.1")
    _, errors = program.process.communicate(timeout=PATIENCE_SECONDS)
    assert program.process.returncode == 1
    assert re.fullmatch(rf"{name}: .+; .+\n", errors), errors


def test_every_example_is_here_and_fits_a_screen() -> None:
    assert EXAMPLES == {
        *("chat", "replicated_counter", "work_queue", "priority", "blocking_client"),
        *("spread_client", "replay"),
    }
    for name in EXAMPLES:
        lines = (ROOT / "examples" / f"{name}.py").read_text().splitlines()
        assert len(lines) <= SCREEN_LINES, name
