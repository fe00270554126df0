"""How configurations of several sites end is seen from outside, and watching changes nothing."""

from collections import Counter

from antiphon.sim.endings import Endings
from antiphon.sim.sites_reach import INTENT_AT_CHANGE, PRUNED_IN_RECOVERY, TRANSIT_COPY
from antiphon.sim.trial import parse_trial, play

ROW = """
seed 5
daemons 4
sites 1 | 2 3 | 4
sessions 2
wan * - * latency=10ms
at 500ms oneway site1 - site3
at 1s join 4.1 end
at 3s drop link lead2 > site3 until 4s
at 3001ms send 1.1 end agreed hello x5
{change}
at 3100ms crash 3
quiet 4s
until 8s
"""
"""Words go from the first site to the last and stop at the second, which has no member."""


def situations(change: str = "") -> tuple[Counter[str], str]:
    endings = Endings(Counter())
    played, outcome = play(parse_trial(ROW.format(change=change)), endings.plant)
    assert not outcome.failed, outcome.violations
    found = Counter({pair.what: times for pair, times in endings._counts.items()})
    return found, played.digest()


def test_who_passed_words_on_gives_them_once_and_their_reader_has_them_by_recovery() -> None:
    """SP-127: the nearest holder is one whose site does not want them."""
    found, digest = situations()
    assert found[TRANSIT_COPY] == 5
    assert found[PRUNED_IN_RECOVERY] == 2 * 5, "at their sender, and at their reader"
    assert found[INTENT_AT_CHANGE] == 0
    assert digest == play(parse_trial(ROW.format(change="")))[0].digest()


def test_a_change_that_is_announced_and_not_made_counts_wherever_that_is_known() -> None:
    found, _ = situations("at 3050ms join 2.1 end")
    assert found[INTENT_AT_CHANGE] > 0
