"""Kept groups and keyed sends in drawn scenarios, with disks that lose, tear, delay and fail.

The judges see what is written (K1 to K3). Here readers hop from daemon to daemon.
"""

from collections import defaultdict
from dataclasses import replace
from functools import partial
from random import Random

import pytest

from antiphon.core.effects import Closed, Message
from antiphon.core.ids import DaemonId
from antiphon.core.machine import MILLISECOND
from antiphon.core.offsets import ORIGIN, Offset
from antiphon.core.trace import Kind
from antiphon.protocol.node import Node
from antiphon.protocol.retain.finding import Gap, Range
from antiphon.sim.disk import DiskSettings
from antiphon.sim.faults import Run
from antiphon.sim.session import App, News, Session
from antiphon.sim.sites_swarm import draw_sites
from antiphon.sim.swarm import QUIET_US, draw
from antiphon.sim.trial import Trial, play
from antiphon.wire.body import letters
from antiphon.wire.retained import walk

SEEDS = (5, 9, 11, 16, 23, 31)
SITES_SEEDS = (3, 10)


def keeping(trial: Trial, seed: int) -> Trial:
    disk = DiskSettings(late=0.2, full=(0, 0.05)[seed % 2])
    variant = replace(trial.variant, kept_groups=2, kept_bytes=(0, 8192)[seed // 2 % 2])
    return Trial(replace(trial.script, disk=disk), variant)


class Reader:
    """Goes through a log, each step at another daemon, and trusts none of them."""

    def __init__(self, run: Run, group: str, seed: int) -> None:
        self._rng = Random(seed)
        self._group = group
        self._nodes: dict[DaemonId, Node] = {}
        for host in run.world.hosts.values():
            assert isinstance(host.node, Node), "all are up when the run is over"
            self._nodes[host.id] = host.node
        self._disks = {host.id: host.disk.contents for host in run.world.hosts.values()}
        self.entries: dict[tuple[object, int], bytes] = {}
        self.order: list[tuple[object, int]] = []
        self.gaps: list[Gap] = []

    def read(self) -> Offset:
        at = ORIGIN
        for _ in range(10_000):
            end = self._step(at)
            if end is None:
                return at
            at = end
        raise AssertionError("a log without end")

    def _step(self, at: Offset) -> Offset | None:
        """None when no daemon has more."""
        daemons = self._rng.sample(sorted(self._nodes), len(self._nodes))
        gaps = []
        for daemon in daemons:
            found = self._nodes[daemon].log(self._group).after(at, self._rng.randrange(1, 20))
            if isinstance(found, Gap):
                gaps.append(found)
                continue
            for one in found.ranges:
                self._take(daemon, one)
            if found.ranges:
                return found.end
        if len(gaps) < len(daemons):
            return None
        self.gaps.append(gaps[0])
        assert gaps[0].resume != at
        return gaps[0].resume

    def _take(self, daemon: DaemonId, wanted: Range) -> None:
        finder = self._nodes[daemon].log(self._group)
        sequence = wanted.first
        while sequence <= wanted.last:
            part = finder.part_with(wanted.branch, sequence)
            assert part is not None, "what is found can be read"
            data = self._disks[daemon][part.key][: part.size]
            for entry in walk(data, part.place_of(sequence)):
                if entry.last < sequence or entry.sequence > wanted.last:
                    continue
                name = (wanted.branch, entry.sequence)
                raw = data[entry.lengths_at : entry.end]
                assert self.entries.setdefault(name, raw) == raw
                for number in range(
                    max(sequence, entry.sequence), min(entry.last, wanted.last) + 1
                ):
                    self.order.append((wanted.branch, number))
            sequence = min(part.last, wanted.last) + 1


def check_readers(run: Run, seed: int) -> int:
    """All readers come to the same end, never go back, and read the same under each name."""
    kept = 0
    for group in ("g1", "g2"):
        readers = [Reader(run, group, seed + number) for number in range(4)]
        ends = {reader.read() for reader in readers}
        assert len(ends) == 1
        names: dict[tuple[object, int], bytes] = {}
        for reader in readers:
            assert len(set(reader.order)) == len(reader.order), "nothing is read twice"
            kept += len(reader.order)
            for name, raw in reader.entries.items():
                assert names.setdefault(name, raw) == raw
    return kept


@pytest.mark.parametrize("seed", SEEDS)
def test_readers_that_hop_read_the_same(seed: int) -> None:
    run, outcome = play(keeping(draw(seed), seed))
    assert not outcome.failed, outcome.violations
    assert check_readers(run, seed) > 0


@pytest.mark.parametrize("seed", SITES_SEEDS)
def test_readers_that_hop_between_sites_read_the_same(seed: int) -> None:
    run, outcome = play(keeping(draw_sites(seed), seed))
    assert not outcome.failed, outcome.violations
    assert check_readers(run, seed) > 0


class Doubter:
    """Sends numbers in order, and after each break some of them again. The application with the
    same slot at another daemon sends the same ones."""

    def __init__(self, slot: int, rng: Random, seen: dict[object, list[tuple[str, int]]]) -> None:
        self._producer = f"p{slot}"
        self._rng = rng
        self._next = 0
        self._seen = seen

    def on_start(self, session: Session) -> None:
        self._next = max(0, self._next - 7)
        session.join("g1")
        session.after(self._gap())

    def on_news(self, session: Session, news: News) -> None:
        if isinstance(news, Closed):
            session.reconnect(50 * MILLISECOND)
        elif isinstance(news, Message):
            life = (session.daemon, session.life, session.number)
            for letter in letters(news):
                producer, _, number = letter.payload.decode().partition(" ")
                if number.strip():  # the last words of the script are others
                    self._seen[life].append((producer, int(number)))

    def on_timer(self, session: Session) -> None:
        count = self._rng.randrange(1, 4)
        numbers = range(self._next, self._next + count)
        payloads = tuple(f"{self._producer} {number}".encode() for number in numbers)
        if session.open:
            session.multicast_keyed("g1", self._producer, self._next, payloads)
            self._next += count
        if session.now < QUIET_US:
            session.after(self._gap())

    def _gap(self) -> int:
        return self._rng.randrange(20, 500) * MILLISECOND


def doubters(seen: dict[object, list[tuple[str, int]]]) -> "partial[App]":
    def make(daemon: DaemonId, slot: int, rng: Random) -> App:
        return Doubter(slot, rng, seen)

    return partial(make)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_number_is_handed_to_a_session_once_and_in_order(seed: int) -> None:
    """K3, with all other promises."""
    seen: dict[object, list[tuple[str, int]]] = defaultdict(list)
    run, outcome = play(keeping(draw(seed), seed), make_app=doubters(seen))
    assert not outcome.failed, outcome.violations
    for told in seen.values():
        for producer in {producer for producer, _ in told}:
            numbers = [number for one, number in told if one == producer]
            assert numbers == sorted(set(numbers))
    assert any(row.kind is Kind.REPEAT for row in run.records)
    assert check_readers(run, seed) > 0
