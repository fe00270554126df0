"""Daemons that stop as asked, where the drawn scenarios have crashes: every promise is kept."""

from dataclasses import replace

import pytest

from antiphon.core.trace import Kind
from antiphon.sim.action import Action
from antiphon.sim.swarm import draw
from antiphon.sim.trial import Trial, play

SEEDS = range(40, 56)


def with_stops(trial: Trial) -> Trial:
    steps = tuple(
        replace(step, action=Action("stop", host=step.action.host))
        if step.action.verb == "crash"
        else step
        for step in trial.script.steps
    )
    return replace(trial, script=replace(trial.script, steps=steps))


@pytest.mark.parametrize("seed", [seed for seed in SEEDS if "crash " in str(draw(seed))])
def test_stops_in_place_of_crashes_break_no_promise(seed: int) -> None:
    played, outcome = play(with_stops(draw(seed)))
    assert not outcome.failed, outcome.violations
    assert any(row.kind is Kind.STOP and row.reason == "stopped" for row in played.records)
