"""Every seed of the swarm over sites is a scenario that is worth its run."""

from random import Random

from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.core.service import Service
from antiphon.protocol.links.edges import Edges
from antiphon.sim.places import Lead, Site
from antiphon.sim.script import Script
from antiphon.sim.sites_swarm import MANY_SITES, draw_sites
from antiphon.sim.stage import Stage
from antiphon.sim.swarm import FAULTS_MIN, KINDS_MIN, QUIET_US, faults
from antiphon.sim.trial import Trial, parse_trial, play
from antiphon.tools.sim_command import run_seed

SEEDS = range(300)
TRIALS = [draw_sites(seed) for seed in SEEDS]


def broken_for_ever(script: Script) -> list[frozenset[object]]:
    links = [step.action.link for step in script.steps if step.action.verb == "break"]
    return [frozenset((link.source, link.target)) for link in links]


def test_a_seed_is_for_ever_the_same_scenario_and_its_text_reads_back() -> None:
    for seed, trial in zip(SEEDS, TRIALS, strict=True):
        assert draw_sites(seed) == trial
        assert parse_trial(str(trial)) == trial


def test_every_scenario_has_enough_of_everything() -> None:
    for trial in TRIALS:
        script = trial.script
        happened = faults(script)
        assert script.until >= 20 * SECOND
        assert 2 <= len(script.sites) <= 8
        assert all(1 <= len(site) <= 4 for site in script.sites)
        assert script.daemons >= 3 and script.sessions >= 3
        assert len(happened) >= FAULTS_MIN >= 5, script.seed
        assert len(set(happened)) >= KINDS_MIN >= 3, script.seed
        late = [step.action for step in script.steps if step.time >= QUIET_US]
        assert {action.service for action in late} == set(Service)
        local = [action for action in late if action.groups == ("local",)]
        assert [action.verb for action in local] == ["join"] + ["send"] * len(Service)
        assert len({site for site in script.sites if {a.host for a in local} & {*site}}) == 2


def test_a_third_of_the_seeds_has_tcp_links_and_some_of_these_have_both_kinds() -> None:
    tcp = [trial for trial in TRIALS if trial.variant.tcp_edges]
    assert 0.25 < len(tcp) / len(TRIALS) < 0.42
    kinds = [links_of(trial) for trial in tcp]
    assert all("tcp" in each for each in kinds)
    assert len([each for each in kinds if "hop" in each]) > len(tcp) // 5
    snapped = [trial for trial in TRIALS if "snap" in faults(trial.script)]
    assert len(tcp) // 2 < len(snapped) and all(trial.variant.tcp_edges for trial in snapped)


def links_of(trial: Trial) -> set[str]:
    settings = trial.variant.settings(trial.script.daemons, trial.script.sites)
    edges = [
        Edges(site[0], settings.sites, settings.edges, settings.hop) for site in settings.sites
    ]
    leaders = [site[0] for site in settings.sites]
    return {
        edges[at].to(other).link
        for at, one in enumerate(leaders)
        for other in leaders
        if other != one
    }


def test_links_between_sites_are_as_long_as_on_earth() -> None:
    latencies = []
    for trial in TRIALS:
        far = trial.script.far
        count = len(trial.script.sites)
        assert len(far) == count * (count - 1), "something is said of every pair"
        latencies += [settings.latency_us for settings in far.values()]
        assert trial.script.network.latency_us <= MILLISECOND
    assert 2 * MILLISECOND <= min(latencies) < 4 * MILLISECOND
    assert 60 * MILLISECOND < max(latencies) <= 80 * MILLISECOND
    one_way = [trial.script.far for trial in TRIALS]
    assert any(far[a, b] != far[b, a] for far in one_way for a, b in far)


def test_at_most_one_pair_is_parted_for_ever_and_another_site_joins_it() -> None:
    parted = [(trial.script, broken_for_ever(trial.script)) for trial in TRIALS]
    assert all(len(pairs) <= 1 for _, pairs in parted)
    assert all(len(script.sites) > 2 for script, pairs in parted if pairs)
    assert 10 < sum(map(bool, (pairs for _, pairs in parted))) < 100


def test_the_seeds_differ_in_what_they_draw() -> None:
    assert {len(trial.script.sites) for trial in TRIALS} == set(range(2, 9))
    assert {len(site) for trial in TRIALS for site in trial.script.sites} == {1, 2, 3, 4}
    steps = [step for trial in TRIALS for step in trial.script.steps]
    done = {(step.action.verb, type(step.action.host)) for step in steps}
    assert done >= {("crash", Lead), ("crash", Site), ("restart", Site), ("pause", Lead)}
    ends = {(step.action.verb, type(step.action.link.source)) for step in steps}
    assert ends >= {("oneway", Site), ("oneway", Lead), ("heal", Site), ("loss", Site)}
    assert {type(step.trigger.host) for step in steps if step.trigger} >= {Lead, int}
    groups = {group for step in steps for group in step.action.groups}
    assert any(group.startswith("near") for group in groups)
    assert any(trial.variant.accelerated_packets for trial in TRIALS)


def test_every_episode_plays_on_the_smallest_stage_and_on_a_large_one() -> None:
    for places in (((2,), (1, 3)), ((5,), (1, 2), (3, 4, 6, 7), (8,))):
        for episode in (*MANY_SITES.changes, *MANY_SITES.nuisances):
            for seed in range(20):
                stage = Stage(Random(seed), sum(map(len, places)), 3, 3, places)
                steps = tuple(sorted(episode(stage, 2 * SECOND), key=lambda step: step.time))
                script = Script(daemons=stage.daemons, sites=places, sessions=3, steps=steps)
                assert steps and parse_trial(str(script)).script == script, episode


def test_a_seed_sends_enough_and_runs_to_its_end() -> None:
    for seed in (2, 3):
        played, outcome = play(TRIALS[seed])
        assert outcome.messages >= 200
        assert not outcome.exhausted and not outcome.safety
        assert outcome.sites == len(played.script.sites)


def test_a_seed_of_the_swarm_counts_what_it_met() -> None:
    outcome, counts = run_seed(True, True, None, 3)
    assert outcome.seed == 3 and sum(counts.values()) > 100
    assert run_seed(True, False, None, 3)[1] == {}


def test_large_groups_do_not_answer_each_other_without_end() -> None:
    """Seed 7092: 66 sessions in two groups sent twelve times what was wished."""
    for seed in (*range(100), 7092):
        script = draw_sites(seed).script
        receivers = script.daemons * script.sessions / script.workload.groups
        assert script.workload.replies * receivers <= 1.02
