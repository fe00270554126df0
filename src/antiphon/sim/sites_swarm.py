"""The swarm over sites: a scenario of 2 to 8 of them, drawn from a seed.

Every seed holds at least as much as one of swarm.py, with faults on edges, representatives
and whole sites on top. Windows stay wide: what a tiny one makes of a round trip of 160 ms is
a matter of time, not of faults.
"""

from dataclasses import replace
from functools import partial
from itertools import combinations
from random import Random

from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.core.service import Service
from antiphon.sim import cascades, edges, holes, nuisances, regions, upheavals
from antiphon.sim.action import EVERY_LINK, Action
from antiphon.sim.network import NetworkSettings
from antiphon.sim.notation import Link
from antiphon.sim.places import Site
from antiphon.sim.script import Script, Step, Wan
from antiphon.sim.stage import Repertoire, Stage
from antiphon.sim.swarm import (
    QUIET_US,
    SESSIONS,
    draw,
    draw_courtesy,
    draw_disk,
    draw_kept,
    draw_keyed,
    draw_steps,
    draw_variant,
    draw_workload,
)
from antiphon.sim.trial import NodeVariant, Trial
from antiphon.sim.workload import WorkloadSettings

SITES = (2, 3, 4, 5, 6, 7, 8)
SITE_WEIGHTS = (22, 34, 20, 12, 6, 3, 3)
DAEMONS_AT_SITE = (1, 2, 3, 4)
DAEMON_WEIGHTS = (40, 32, 18, 10)
DAEMONS_MIN = 3
UNTIL_US = 24 * SECOND
"""Sites take longer to find each other than daemons of one site."""

CUT_OFF_US = 10 * SECOND
"""Longer, where few bundles may wait for a client: what a slow edge held back comes at once, sound
clients are cut off with it by the dozen and come back, and each change of a group takes its two
exchanges (seed 40832)."""

LOCAL_US = QUIET_US + 3 * SECOND
NEAR_US_MIN = 50
REPEATING_NEAR_US_MIN = 500
"""Where one packet is repeated for seconds, a run costs by the rotation."""

MEASURED_SHARE = 0.4
"""Of the seeds have measured weights; the rest are the same without."""

PACKET_BYTES_MIN = 400
"""Room for the way of a bundle to many segments."""
NEAR_US_MAX = 1_000
FAR_US_MIN = 2 * MILLISECOND
FAR_US_MAX = 80 * MILLISECOND
NEAR_LOSS_MAX = 0.03
FAR_LOSS_MAX = 0.08

MANY_SITES = Repertoire(
    changes=(
        edges.edge_cut,
        edges.edge_one_way,
        edges.edge_dies_in_change,
        edges.edge_dies_in_change,  # again: each state of a change has a chance
        edges.chain,
        edges.middle_gone,
        edges.passing_through,
        edges.passing_through,  # again: only here the last copy is one that passed through
        edges.flapping,
        regions.isolated,
        regions.sites_part,
        regions.sites_merge,
        regions.lead_gone,
        regions.lead_gone_in_change,
        regions.lead_gone_in_change,  # again, as above
        regions.site_gone,
        regions.torn_site,
        regions.torn_site,  # again: it takes long until such a site is in a configuration
        regions.regional,
        regions.regional,  # again: what was pruned is the hardest part of recovery
        regions.moving,
        upheavals.crash_one,
        upheavals.crash_some,
        upheavals.reborn,
        upheavals.clock_back,
        upheavals.split,
        upheavals.split_in_merge,
        upheavals.many_merge,
        upheavals.burst,
        cascades.crash_in_change,
        cascades.split_in_change,
        cascades.restart_in_change,
        cascades.heal_in_change,
        cascades.lost_in_change,
        cascades.another_leader,
        cascades.late_words,
        cascades.uneven,
        holes.hole,
    ),
    nuisances=(
        edges.edge_lossy,
        edges.edge_slow,
        edges.edge_disorder,
        edges.edge_drops,
        regions.lead_stands_still,
        regions.site_slow,
        nuisances.pause,
        nuisances.jump,
        nuisances.storm,
        nuisances.targeted_loss,
        nuisances.lost_for_ever,
        nuisances.junk,
        nuisances.stuck_client,
        nuisances.wrong_requests,
    ),
    patience_us={
        edges.chain: 1_500 * MILLISECOND,
        edges.middle_gone: 2_500 * MILLISECOND,
        edges.passing_through: 3_500 * MILLISECOND,
        regions.sites_merge: 1_500 * MILLISECOND,
        regions.regional: 800 * MILLISECOND,
        holes.hole: 1_600 * MILLISECOND,
        nuisances.lost_for_ever: 2_700 * MILLISECOND,
    },
)


def draw_trial(sites: bool, seed: int) -> Trial:
    """What a seed means in either swarm."""
    return draw_sites(seed) if sites else draw(seed)


def draw_sites(seed: int) -> Trial:
    """The scenario of this seed, for ever the same."""
    rng = Random(f"{seed} sites")
    places = _draw_places(rng)
    stage = Stage(rng, sum(map(len, places)), SESSIONS, rng.randrange(2, 6), places)
    episodes = MANY_SITES.choose(rng)
    variant, snaps = _draw_tcp(seed, _draw_variant(rng), len(places))
    if Random(f"{seed} weights").random() < MEASURED_SHARE:
        variant = replace(variant, measured_weights=1)
    if nuisances.stuck_client in episodes:
        variant = replace(variant, backlog_max=rng.randrange(10, 60))
    variant = replace(variant, slow_site_us=_draw_policy(seed))
    repeating = nuisances.lost_for_ever in episodes
    near_us_min = REPEATING_NEAR_US_MIN if repeating else NEAR_US_MIN
    script = Script(
        seed=seed,
        daemons=stage.daemons,
        sites=places,
        wan=_draw_wan(stage),
        sessions=SESSIONS,
        network=_draw_network(rng, near_us_min, NEAR_US_MAX, NEAR_LOSS_MAX),
        workload=_with_fewer_replies(draw_keyed(seed, draw_workload(rng, stage)), stage),
        steps=_in_order(
            *draw_steps(stage, episodes, MANY_SITES, _draw_beginning(stage)),
            *snaps,
            *_local_words(stage),
        ),
        quiet=QUIET_US,
        until=UNTIL_US + (CUT_OFF_US if nuisances.stuck_client in episodes else 0),
        disk=draw_disk(seed),
    )
    return Trial(script, draw_courtesy(seed, draw_kept(seed, variant)))


def _with_fewer_replies(workload: WorkloadSettings, stage: Stage) -> WorkloadSettings:
    """A message has about one reply however many receive it: else a few large groups answer
    each other until the run has no room for anything else."""
    most = round(workload.groups / (stage.daemons * SESSIONS), 3)
    return replace(workload, replies=min(workload.replies, most))


def _in_order(*steps: Step) -> tuple[Step, ...]:
    return tuple(sorted(steps, key=lambda step: step.time))


def _local_words(stage: Stage) -> list[Step]:
    """Once all is quiet, and when the last words are said, one site has a group of its own,
    and another writes to it with every service: every seed prunes, whatever was drawn."""
    here, there = stage.sites(2)
    member = partial(Action, host=stage.host_at(here), slot=stage.slot(), groups=("local",))
    sender = partial(Action, host=stage.host_at(there), slot=stage.slot(), groups=("local",))
    words = [sender("send", service=service, text="local", times=2) for service in Service]
    return [
        Step(LOCAL_US, member("join")),
        *(Step(LOCAL_US + SECOND, word) for word in words),
    ]


def _draw_places(rng: Random) -> tuple[tuple[int, ...], ...]:
    """Numbers are dealt at random: the lowest of a site is not always below the next site's."""
    count = rng.choices(SITES, SITE_WEIGHTS)[0]
    sizes = rng.choices(DAEMONS_AT_SITE, DAEMON_WEIGHTS, k=count)
    while sum(sizes) < DAEMONS_MIN:
        sizes[rng.randrange(count)] += 1
    numbers = rng.sample(range(1, sum(sizes) + 1), sum(sizes))
    places = []
    for size in sizes:
        places.append(tuple(sorted(numbers[:size])))
        del numbers[:size]
    return tuple(places)


def _draw_variant(rng: Random) -> NodeVariant:
    usual = NodeVariant()
    drawn = draw_variant(rng)
    return replace(
        drawn,
        packet_bytes=max(PACKET_BYTES_MIN, drawn.packet_bytes),
        ring_packets_max=usual.ring_packets_max,
        member_packets_max=usual.member_packets_max,
        window_packets_low=usual.window_packets_low,
        window_packets_max=usual.window_packets_max,
    )


def _draw_tcp(seed: int, variant: NodeVariant, sites: int) -> tuple[NodeVariant, list[Step]]:
    """A third of the seeds have TCP links, some beside others; now and then all their pipes, or
    those of one pair, break. From draws of its own: the rest of a seed is as without it."""
    rng = Random(f"{seed} tcp")
    if rng.random() >= 1 / 3:
        return variant, []
    pairs = list(combinations(range(1, sites + 1), 2))
    steps = []
    for _ in range(rng.randrange(6)):
        one, two = rng.choice(pairs)
        link = Link(Site(one), Site(two), True) if rng.random() < 0.6 else EVERY_LINK
        steps.append(Step(rng.randrange(QUIET_US - SECOND), Action("snap", link=link)))
    return replace(variant, tcp_edges=rng.choice((1, 1, 2, 3))), steps


def _draw_policy(seed: int) -> int:
    """Most wait for slow sites. Drawn apart, so that the rest of a seed is what it was."""
    rng = Random(f"{seed} policy")
    return rng.randrange(1_000, 5_000) * MILLISECOND if rng.random() < 0.15 else 0


def _draw_network(rng: Random, least_us: int, most_us: int, loss_max: float) -> NetworkSettings:
    latency = int(least_us * (most_us / least_us) ** rng.random())
    return NetworkSettings(
        latency_us=latency,
        jitter_us=int(latency * rng.choice((0, 0.1, 0.5))),
        loss=round(loss_max * rng.random() ** 3, 4) if rng.random() < 0.5 else 0.0,
        duplicate=0.01 if rng.random() < 0.15 else 0.0,
        reorder=0.02 if rng.random() < 0.15 else 0.0,
        bandwidth_bits=rng.choice((4, 10, 100)) * 1_000_000 if rng.random() < 0.15 else 0,
    )


def _draw_wan(stage: Stage) -> tuple[Wan, ...]:
    """One kind of link for all, and a few pairs with their own, some in one direction only."""
    rng = stage.rng
    wan = [Wan(Link(0, 0, True), _draw_network(rng, FAR_US_MIN, FAR_US_MAX, FAR_LOSS_MAX))]
    for _ in range(rng.randrange(len(stage.places))):
        link = stage.edge(rng.random() < 0.7)
        wan.append(Wan(link, _draw_network(rng, FAR_US_MIN, FAR_US_MAX, FAR_LOSS_MAX)))
    return tuple(wan)


def _draw_beginning(stage: Stage) -> list[Step]:
    """All at once, daemons or a whole site later, or two sites that never reach each other."""
    rng = stage.rng
    steps: list[Step] = []
    draw = rng.random()
    if draw < 0.2:
        for host in stage.hosts(rng.randrange(1, stage.daemons)):
            steps.append(Step(0, Action("crash", host=host)))
            steps.append(Step(stage.span(10, 800), Action("restart", host=host)))
    elif draw < 0.35:
        site = stage.site()
        steps.append(Step(0, Action("crash", host=site)))
        steps.append(Step(stage.span(100, 2_500), Action("restart", host=site)))
    if len(stage.places) > 2 and rng.random() < 0.2:
        pair = stage.edge(rng.random() < 0.7)
        steps.append(Step(stage.span(0, 5_000), Action("break", link=pair)))
    return steps
