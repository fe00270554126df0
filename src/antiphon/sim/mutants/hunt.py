"""The hunt: each mutant against the judges, seed by seed, until one of them names a promise.

Only promises count. A mutant that raises is stopped like any daemon that fails, and the
judges look at what the others do; its own assertions are switched off (`python -O`), for
they would find what the judges are asked to find.
"""

from collections.abc import Iterator, Sequence
from functools import cache, partial
from time import perf_counter

import msgspec

from antiphon.sim.mutants import MUTANTS
from antiphon.sim.mutants.seeds import SEEDS
from antiphon.sim.pool import over
from antiphon.sim.sites_swarm import draw_trial
from antiphon.sim.trial import BUG, Planter, play

SEEDS_MAX = 200
"""A mutant that lives through so many is a survivor."""

PROMISES_OWED = (
    *(f"D{number}" for number in range(1, 9)),
    *(f"S{number}" for number in range(1, 7)),
    *(f"K{number}" for number in range(1, 4)),
)
"""Each of these must have caught a mutant; else its judge may be blind."""


class Chase(msgspec.Struct, frozen=True):
    """What became of a mutant."""

    mutant: str
    sites: bool
    """Which swarm it was chased through."""

    seed: int | None
    """That caught it; None: it survived."""

    promises: tuple[str, ...]
    """Broken there, the first one first."""

    tried: int
    seconds: float
    crashed: int = 0
    """On so many seeds it raised, and its daemon was stopped."""

    @property
    def caught(self) -> bool:
        return self.seed is not None


def seeds_for(mutant: str, quick: bool, sites: bool) -> Sequence[int]:
    """In the order in which they are tried: quickly, the one that is known to do first."""
    known = SEEDS.get(mutant)
    if not quick or known is None or sites != MUTANTS[mutant].sites:
        return range(SEEDS_MAX)
    return [known, *(seed for seed in range(SEEDS_MAX) if seed != known)]


def chase(quick: bool, all_sites: bool, mutant: str) -> Chase:
    """Until it is caught on a seed that the node without it passes: of the swarm over sites if
    it shows only there, or if all are chased there."""
    began = perf_counter()
    plant = MUTANTS[mutant].plant
    sites = all_sites or MUTANTS[mutant].sites
    tried = crashed = 0
    for seed in seeds_for(mutant, quick, sites):
        tried += 1
        found = broken(sites, seed, plant)
        crashed += BUG in found
        promises = tuple(promise for promise in found if promise != BUG)
        if promises and not broken_by_nobody(sites, seed):
            return Chase(mutant, sites, seed, promises, tried, perf_counter() - began, crashed)
    return Chase(mutant, sites, None, (), tried, perf_counter() - began, crashed)


def broken(sites: bool, seed: int, plant: Planter | None) -> tuple[str, ...]:
    """The promises that the judges find broken, in the order of time; BUG if a node raised."""
    _, outcome = play(draw_trial(sites, seed), plant)
    return tuple(dict.fromkeys(violation.promise for violation in outcome.violations))


@cache
def broken_by_nobody(sites: bool, seed: int) -> tuple[str, ...]:
    """What the node breaks without any mutant: nothing, we hope."""
    return broken(sites, seed, None)


def chase_all(mutants: Sequence[str], quick: bool, all_sites: bool, jobs: int) -> Iterator[Chase]:
    """As they are caught, or not."""
    return over(range(len(mutants)), partial(_chase_nth, mutants, quick, all_sites), jobs)


def _chase_nth(mutants: Sequence[str], quick: bool, all_sites: bool, number: int) -> Chase:
    return chase(quick, all_sites, mutants[number])


def unsound(sites: bool, seeds: range, jobs: int) -> list[int]:
    """Seeds on which the node without a mutant breaks a promise."""
    found = over(seeds, partial(_sound, sites), jobs)
    return sorted(seed for seed, sound in found if not sound)


def _sound(sites: bool, seed: int) -> tuple[int, bool]:
    return seed, not broken_by_nobody(sites, seed)
