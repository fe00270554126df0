"""Mutants: protocol bugs planted on purpose, to see whether the judges have teeth."""

from antiphon.sim.mutants import (
    abroad,
    calm,
    flow,
    groups,
    hop,
    kept,
    membership,
    ordering,
    pruning,
    recovery,
    representatives,
    ring,
    routing,
    tables,
)
from antiphon.sim.mutants.planting import Mutant

__all__ = ["MUTANTS", "Mutant"]

_ROOMS = (
    *(membership, recovery, ordering, ring, calm, flow, groups),
    *(representatives, pruning, routing, hop, abroad, kept, tables),
)

MUTANTS: dict[str, Mutant] = {mutant.name: mutant for room in _ROOMS for mutant in room.MUTANTS}
