"""The hunt: which findings count, which seeds are tried, and when a mutant survives."""

from collections.abc import Iterator

import pytest

from antiphon.check import Violation
from antiphon.protocol.node import Node
from antiphon.sim.mutants import MUTANTS, Mutant, hunt
from antiphon.sim.trial import BUG, Outcome, Planter

Found = dict[int, list[str]]


def plant(node: Node) -> None:
    """Does nothing: the trials of these tests are told, not run."""


class Swarm:
    """Which promises each seed breaks, with the mutant and without."""

    def __init__(self) -> None:
        self.mutant: Found = {}
        self.nobody: Found = {}
        self.played: list[tuple[int, bool]] = []
        self.swarms: set[bool] = set()

    def draw(self, sites: bool, seed: int) -> int:
        self.swarms.add(sites)
        return seed

    def play(self, seed: int, planter: Planter | None) -> tuple[None, Outcome]:
        self.played.append((seed, planter is not None))
        promises = (self.nobody if planter is None else self.mutant).get(seed, [])
        violations = tuple(
            Violation(promise, "daemon 1/1", time, "") for time, promise in enumerate(promises)
        )
        return None, Outcome(seed, violations, False, 0, 0, 0, 0, 0, 0.0)


@pytest.fixture
def swarm(monkeypatch: pytest.MonkeyPatch) -> Iterator[Swarm]:
    told = Swarm()
    monkeypatch.setattr(hunt, "play", told.play)
    monkeypatch.setattr(hunt, "draw_trial", told.draw)
    monkeypatch.setitem(MUTANTS, "made-up", Mutant("made-up", "ring", "Nothing.", plant))
    hunt.broken_by_nobody.cache_clear()
    yield told
    hunt.broken_by_nobody.cache_clear()


def test_the_first_seed_that_breaks_a_promise_catches_it(swarm: Swarm) -> None:
    swarm.mutant = {3: ["S5", "D4", "S5"], 4: ["D1"]}
    chase = hunt.chase(False, False, "made-up")
    assert (chase.seed, chase.promises, chase.tried) == (3, ("S5", "D4"), 4)


def test_a_daemon_that_raises_is_not_caught_by_that(swarm: Swarm) -> None:
    swarm.mutant = {0: [BUG], 2: [BUG, "P1"]}
    chase = hunt.chase(False, False, "made-up")
    assert (chase.seed, chase.promises) == (2, ("P1",))


def test_a_seed_that_fails_without_the_mutant_proves_nothing(swarm: Swarm) -> None:
    swarm.mutant = {1: ["P1"], 5: ["D2"]}
    swarm.nobody = {1: ["P1"]}
    assert hunt.chase(False, False, "made-up").seed == 5


def test_a_mutant_survives_when_all_seeds_are_tried(swarm: Swarm) -> None:
    swarm.mutant = {hunt.SEEDS_MAX: ["D1"]}
    chase = hunt.chase(False, False, "made-up")
    assert not chase.caught
    assert chase.tried == hunt.SEEDS_MAX


def test_a_quick_look_begins_with_the_known_seed(
    swarm: Swarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    swarm.mutant = {1: ["D1"], 7: ["D5"]}
    monkeypatch.setitem(hunt.SEEDS, "made-up", 7)
    assert hunt.chase(True, False, "made-up").seed == 7
    assert swarm.played == [(7, True), (7, False)]
    assert hunt.chase(False, False, "made-up").seed == 1


def test_a_quick_look_goes_on_when_the_known_seed_is_out_of_date(
    swarm: Swarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    swarm.mutant = {1: ["D1"]}
    monkeypatch.setitem(hunt.SEEDS, "made-up", 7)
    chase = hunt.chase(True, False, "made-up")
    assert (chase.seed, chase.tried) == (1, 3)


def test_a_mutant_of_sites_is_chased_there_and_others_if_that_is_asked_for(
    swarm: Swarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    swarm.mutant = {1: ["D1"], 7: ["D1"]}
    monkeypatch.setitem(hunt.SEEDS, "made-up", 7)
    assert hunt.chase(True, False, "made-up").seed == 7 and swarm.swarms == {False}
    swarm.swarms.clear()
    chase = hunt.chase(True, True, "made-up")
    assert (chase.sites, chase.seed) == (True, 1), "what is known is of the other swarm"
    monkeypatch.setitem(MUTANTS, "made-up", Mutant("made-up", "hop", "Nothing.", plant, True))
    assert hunt.chase(True, False, "made-up").seed == 7
    assert swarm.swarms == {True}


def test_seeds_that_the_node_itself_does_not_pass_are_named(swarm: Swarm) -> None:
    swarm.nobody = {2: ["P1"], 9: ["D1"]}
    assert hunt.unsound(False, range(9), jobs=1) == [2]


def test_every_promise_of_delivery_service_and_logs_is_owed_a_mutant() -> None:
    owed = "D1 D2 D3 D4 D5 D6 D7 D8 S1 S2 S3 S4 S5 S6 K1 K2 K3"
    assert hunt.PROMISES_OWED == tuple(owed.split())
