"""The mutants themselves: enough of each area, and each finds what it wants to change."""

from collections import Counter

import pytest

from antiphon.sim.mutants import MUTANTS
from antiphon.sim.mutants.seeds import SEEDS
from antiphon.sim.trial import BUG, parse_trial, play

TRIAL = parse_trial("""
seed 5
daemons 3
sessions 2
network loss=0.02 duplicate=0.02
workload rate=40 until=2s large=0.1
at 600ms stall 1.2
at 800ms cut 1 2 | 3
at 1300ms heal
at 1700ms crash 2
quiet 2s
until 3s
""")
"""A part lost, a merge, a client that is stuck: every machine has something to do."""

SITES_TRIAL = parse_trial("""
seed 6
daemons 5
sites 1 4 | 2 5 | 3
sessions 1
wan * - * latency=5ms loss=0.05
network latency=1ms loss=0.02 duplicate=0.02
workload rate=10 until=2500ms large=0.1 churn=0.3
at 0s break site1 - site3
at 2s crash lead2
quiet 2500ms
until 3s
""")
"""The same for what is between sites: a detour, losses, an heir."""


def test_there_are_enough_of_each_area() -> None:
    areas = Counter(mutant.area for mutant in MUTANTS.values())
    assert areas["membership"] >= 8
    assert areas["recovery"] >= 8
    assert areas["flow"] >= 3
    assert areas["groups"] >= 3
    assert areas["tables"] >= 3
    assert areas["kept"] >= 3, "some in one site, some between sites"
    one_site = {"membership", "recovery", "ordering", "ring", "flow", "groups", "tables"}
    between = {"representative", "pruning", "routing", "hop", "abroad"}
    sites = Counter(mutant.area for mutant in MUTANTS.values() if mutant.sites)
    assert set(sites) == between | {"kept"}
    assert sum(sites.values()) >= 16
    assert min(sites[area] for area in between) >= 3
    assert set(areas) == one_site | set(sites)


def test_each_says_what_it_does_wrong() -> None:
    sentences = [mutant.sentence for mutant in MUTANTS.values()]
    assert all(sentence.endswith(".") for sentence in sentences)
    assert len(set(sentences)) == len(sentences)


def test_a_seed_is_known_for_each_and_for_nothing_else() -> None:
    assert sorted(SEEDS) == sorted(MUTANTS)


@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_it_finds_what_it_wants_to_change(name: str) -> None:
    """What it was written for may have another name or shape by now: then Python complains,
    and the mutant would be a daemon that crashes, not one that does wrong."""
    _, outcome = play(SITES_TRIAL if MUTANTS[name].sites else TRIAL, MUTANTS[name].plant)
    bugs = [found.text for found in outcome.violations if found.promise == BUG]
    misfits = ("AttributeError", "TypeError", "NameError")
    assert not [text for text in bugs if text.strip().splitlines()[-1].startswith(misfits)]
