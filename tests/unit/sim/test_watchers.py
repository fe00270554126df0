"""Watchers see records in the midst of the step that made them."""

from antiphon.core.trace import Kind
from antiphon.sim.trial import parse_trial, play

RESTART_WITHIN_A_STEP = """
seed 1
daemons 3
sessions 1
at 100ms crash 2
at 200ms when * install restart 2
quiet 5s
until 9s
"""


def test_a_trigger_may_start_a_host_whose_records_would_fire_it_again():
    """A bug once: the watcher fired within itself and was removed twice."""
    played, outcome = play(parse_trial(RESTART_WITHIN_A_STEP))
    assert not outcome.failed, outcome.violations
    faults = [row.reason for row in played.records if row.kind is Kind.FAULT]
    assert sum("restart 2" in reason for reason in faults) == 1
