"""Episodes: short stories of things going wrong, from which a seed chooses."""

from antiphon.core.machine import MILLISECOND
from antiphon.sim.cascades import (
    all_at_once,
    another_leader,
    crash_in_change,
    heal_in_change,
    late_words,
    left_in_doubt,
    lost_in_change,
    restart_in_change,
    split_in_change,
    uneven,
)
from antiphon.sim.holes import hearsay, hole
from antiphon.sim.nuisances import (
    damage,
    delay,
    disorder,
    jump,
    junk,
    lost_for_ever,
    pause,
    sluggish,
    storm,
    stuck_client,
    targeted_loss,
    wrong_requests,
)
from antiphon.sim.stage import Episode, Repertoire
from antiphon.sim.upheavals import (
    burst,
    clock_back,
    clogged,
    crash_one,
    crash_some,
    many_merge,
    multicast_only_near,
    one_way,
    reborn,
    split,
    split_again,
    split_in_merge,
)

CHANGES: tuple[Episode, ...] = (
    crash_one,
    crash_some,
    reborn,
    clock_back,
    split,
    split_again,
    split_in_merge,
    many_merge,
    one_way,
    multicast_only_near,
    crash_in_change,
    split_in_change,
    restart_in_change,
    heal_in_change,
    another_leader,
    late_words,
    left_in_doubt,
    all_at_once,
    lost_in_change,
    burst,
    hole,
    hole,  # again: what lies behind a hole is the hardest part of a change
    uneven,
    uneven,  # twice: what is delivered in a change is what a change is about
    another_leader,  # again: few other ways lead to its corners
)

NUISANCES: tuple[Episode, ...] = (
    pause,
    jump,
    sluggish,
    storm,
    disorder,
    damage,
    delay,
    targeted_loss,
    lost_for_ever,
    hearsay,
    junk,
    stuck_client,
    wrong_requests,
)

PATIENCE_US: dict[Episode, int] = {
    hole: 1_600 * MILLISECOND,
    hearsay: 300 * MILLISECOND,
    lost_for_ever: 2_700 * MILLISECOND,
    clogged: 2_200 * MILLISECOND,
    left_in_doubt: 2_000 * MILLISECOND,
}

REPEATING: tuple[Episode, ...] = (lost_for_ever, clogged, multicast_only_near)
"""Somebody does not get a packet, however often it is repeated."""

ONE_SITE = Repertoire(CHANGES, NUISANCES, PATIENCE_US)
