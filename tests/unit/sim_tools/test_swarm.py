"""Every seed is a scenario that is worth its run, and the same one for ever."""

from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.core.service import Service
from antiphon.sim.swarm import FAULTS_MIN, KINDS_MIN, QUIET_US, draw, faults
from antiphon.sim.trial import parse_trial

SEEDS = range(400)


def test_a_seed_is_for_ever_the_same_scenario() -> None:
    for seed in SEEDS:
        assert draw(seed) == draw(seed)


def test_every_scenario_has_enough_of_everything() -> None:
    for seed in SEEDS:
        script = draw(seed).script
        happened = faults(script)
        assert script.until >= 20 * SECOND
        assert 3 <= script.daemons <= 9
        assert script.sessions >= 3
        assert len(happened) >= FAULTS_MIN >= 5, seed
        assert len(set(happened)) >= KINDS_MIN >= 3, seed


def test_every_scenario_sends_with_all_services_once_all_is_quiet() -> None:
    for seed in SEEDS:
        script = draw(seed).script
        late = [step.action for step in script.steps if step.time >= QUIET_US]
        assert {action.service for action in late} == set(Service)
        assert all(action.verb == "send" for action in late)


def test_the_text_of_every_scenario_reads_back() -> None:
    for seed in SEEDS:
        trial = draw(seed)
        assert parse_trial(str(trial)) == trial


def test_the_seeds_differ_in_what_they_draw() -> None:
    trials = [draw(seed) for seed in SEEDS]
    verbs = {verb for trial in trials for verb in faults(trial.script)}
    wanted = (
        "crash restart pause slow clock jump cut domains heal oneway break loss duplicate "
        "reorder corrupt delay drop lose-forever inject"
    )
    assert verbs >= set(wanted.split())
    assert {trial.script.daemons for trial in trials} == set(range(3, 10))
    assert any(step.action.verb == "stall" for trial in trials for step in trial.script.steps)
    assert any(step.trigger for trial in trials for step in trial.script.steps)
    assert any(trial.variant.accelerated_packets for trial in trials)
    assert any(trial.variant.window_packets_max < 30 for trial in trials)
    assert len({trial.variant.packet_bytes for trial in trials}) > 3
    latencies = [trial.script.network.latency_us for trial in trials]
    assert min(latencies) < 100 and max(latencies) > 4 * MILLISECOND
    losses = [trial.script.network.loss for trial in trials]
    assert min(losses) == 0 and max(losses) > 0.05
