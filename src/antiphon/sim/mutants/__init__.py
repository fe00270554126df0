"""Mutants: protocol bugs planted on purpose, to see whether the judges have teeth."""

from antiphon.sim.mutants import flow, groups, membership, ordering, recovery, ring
from antiphon.sim.mutants.planting import Mutant

__all__ = ["MUTANTS", "Mutant"]

_ROOMS = (membership, recovery, ordering, ring, flow, groups)

MUTANTS: dict[str, Mutant] = {mutant.name: mutant for room in _ROOMS for mutant in room.MUTANTS}
