"""The swarm: a whole scenario drawn from a seed.

The seed chooses which kinds of trouble there are at all, not only when: a mix of everything
in every run would hide what two kinds alone can do.
"""

from dataclasses import replace
from random import Random

from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.core.service import Service
from antiphon.sim.action import SESSION_VERBS, Action
from antiphon.sim.disk import DiskSettings
from antiphon.sim.episodes import ONE_SITE, REPEATING
from antiphon.sim.network import NetworkSettings
from antiphon.sim.notation import Link
from antiphon.sim.nuisances import stuck_client
from antiphon.sim.script import Script, Step
from antiphon.sim.stage import Episode, Repertoire, Stage
from antiphon.sim.trial import NodeVariant, Trial
from antiphon.sim.upheavals import clogged
from antiphon.sim.workload import WorkloadSettings

DAEMONS = (3, 4, 5, 6, 7, 8, 9)
DAEMON_WEIGHTS = (45, 27, 12, 7, 4, 3, 2)
"""Most faults show with few daemons, and a run costs by their square."""

SESSIONS = 3
LATENCY_US_MIN = 50
LATENCY_US_MAX = 5_000
REPEATING_LATENCY_US_MIN = 1_000
"""Where one packet is repeated for seconds, a run costs by the rotation."""
LOSS_MAX = 0.1
NARROW_LATENCY_US_MAX = 1_000
NARROW_LOSS_MAX = 0.03
"""Where the windows are tiny: with more, what is sent takes longer than the quiet time."""
FIRST_FAULT_US = 900 * MILLISECOND
QUIET_US = 11 * SECOND
UNTIL_US = 20 * SECOND
HOLE_US = 3 * SECOND
SEND_UNTIL_US = QUIET_US + 2 * SECOND
MESSAGES_WISHED = 140
"""Of the random applications; daemons that are down send fewer."""

LAST_WORDS = 12
"""Of each of two sessions with each service, once all is quiet."""

KEPT = 0.3
"""Of the runs so many keep some groups."""

COURTESY = 0.4
"""And in so many others wait for clients that are only a little behind."""

PLAIN = NodeVariant()
FAULTS_MIN = 5
KINDS_MIN = 3


def draw(seed: int) -> Trial:
    """The scenario of this seed, for ever the same."""
    rng = Random(f"{seed} swarm")
    daemons = rng.choices(DAEMONS, DAEMON_WEIGHTS)[0]
    stage = Stage(rng, daemons, SESSIONS, rng.randrange(2, 6))
    episodes = ONE_SITE.choose(rng)
    variant = draw_variant(rng)
    if stuck_client in episodes:
        variant = replace(variant, backlog_max=rng.randrange(10, 60))
    narrow = variant.window_packets_max < NodeVariant().window_packets_max
    if narrow:
        episodes.append(clogged)
    script = Script(
        seed=seed,
        daemons=daemons,
        sessions=SESSIONS,
        network=_draw_network(rng, episodes, narrow),
        disk=draw_disk(seed),
        workload=draw_keyed(seed, draw_workload(rng, stage)),
        steps=draw_steps(stage, episodes, ONE_SITE, _draw_beginning(stage)),
        quiet=QUIET_US,
        until=UNTIL_US,
    )
    return Trial(script, draw_courtesy(seed, draw_kept(seed, variant)))


def faults(script: Script) -> list[str]:
    """The kinds of the faults of a script, one entry for each fault."""
    return [step.action.verb for step in script.steps if step.action.verb not in SESSION_VERBS]


def draw_steps(
    stage: Stage, episodes: list[Episode], repertoire: Repertoire, beginning: list[Step]
) -> tuple[Step, ...]:
    """Episodes one after the other, sometimes one on top of the other."""
    rng = stage.rng
    steps = list(beginning)
    changes = [episode for episode in episodes if episode in repertoire.changes]
    at = FIRST_FAULT_US
    turn = 0
    while at < QUIET_US - SECOND:
        told = changes if turn % 2 == 0 else episodes
        episode = rng.choice(told)
        steps += episode(stage, at)
        at += repertoire.patience_us.get(episode, 0) + stage.span(200, 2_400)
        turn += 1
    inside = [step for step in steps if step.time < _latest_us(step)]
    inside += _make_up(stage, inside) + _last_words(stage)
    return tuple(sorted(inside, key=lambda step: step.time))


def _latest_us(step: Step) -> int:
    """When a step may come at the latest. Who can never get a packet is left out once that is
    noticed, and taken in again when it has waited its time: all of it before quiet is judged."""
    if step.action.verb == "lose-forever":
        return QUIET_US - HOLE_US
    return QUIET_US - 50 * MILLISECOND


def _draw_beginning(stage: Stage) -> list[Step]:
    """All at once, one after the other, or with links of different length."""
    rng = stage.rng
    steps: list[Step] = []
    draw = rng.random()
    if draw < 0.25:
        for host in stage.hosts(rng.randrange(1, stage.daemons)):
            steps.append(Step(0, Action("crash", host=host)))
            steps.append(Step(stage.span(10, 800), Action("restart", host=host)))
    elif draw < 0.4:
        for source in stage.hosts(2):
            link = Link(source, 0, rng.random() < 0.5)
            shift = rng.randrange(100, 8_000)
            steps.append(Step(0, Action("delay", link=link, shift=shift, duration=QUIET_US)))
    elif draw < 0.44:
        source, target = stage.hosts(2)
        link = Link(source, target, rng.random() < 0.7)
        steps.append(Step(stage.span(0, 5_000), Action("break", link=link)))
    return steps


def _make_up(stage: Stage, steps: list[Step]) -> list[Step]:
    """Enough faults of enough kinds, whatever was drawn."""
    wanted = ("crash", "restart", "pause")
    verbs = [step.action.verb for step in steps if step.action.verb not in SESSION_VERBS]
    if len(verbs) >= FAULTS_MIN and len(set(verbs)) >= KINDS_MIN:
        return []
    host = stage.host()
    at = QUIET_US - 2 * SECOND
    made = [
        Step(at, Action("crash", host=host)),
        Step(at + 700 * MILLISECOND, Action("restart", host=host)),
    ]
    pause_at = at + 1_200 * MILLISECOND
    duration = stage.span(50, 600)
    made += [Step(pause_at, Action("pause", host=stage.host(), duration=duration))]
    assert {step.action.verb for step in made} == set(wanted)
    return made


def _last_words(stage: Stage) -> list[Step]:
    """After all faults everything is sent once more: it must arrive now."""
    steps = []
    for service in (*Service, *Service):
        slot = stage.slot()
        send = Action(
            "send",
            host=stage.host(),
            slot=slot,
            groups=(stage.group(),),
            service=service,
            text="last",
            times=LAST_WORDS,
        )
        steps.append(Step(QUIET_US + stage.span(100, 2_000), send))
    return steps


def _draw_network(rng: Random, episodes: list[Episode], narrow: bool) -> NetworkSettings:
    """Latency from a switch to another town; loss from none to much."""
    repeating = any(episode in REPEATING for episode in episodes)
    least_us = REPEATING_LATENCY_US_MIN if repeating else LATENCY_US_MIN
    most_us = NARROW_LATENCY_US_MAX if narrow else LATENCY_US_MAX
    loss_max = NARROW_LOSS_MAX if narrow else LOSS_MAX
    latency = int(least_us * (most_us / least_us) ** rng.random())
    loss = round(loss_max * rng.random() ** 3, 4) if rng.random() < 0.5 else 0.0
    return NetworkSettings(
        latency_us=latency,
        jitter_us=int(latency * rng.choice((0, 0.2, 1))),
        loss=loss,
        duplicate=0.01 if rng.random() < 0.15 else 0.0,
        reorder=0.02 if rng.random() < 0.15 else 0.0,
        bandwidth_bits=rng.choice((10, 100)) * 1_000_000 if rng.random() < 0.15 else 0,
    )


def draw_workload(rng: Random, stage: Stage) -> WorkloadSettings:
    seconds = SEND_UNTIL_US / SECOND
    rate = MESSAGES_WISHED / (stage.daemons * seconds)
    return WorkloadSettings(
        rate=round(rate, 2),
        until_us=SEND_UNTIL_US,
        groups=stage.groups,
        replies=rng.choice((0.0, 0.02, 0.05)),
        large=rng.choice((0.0, 0.0, 0.0, 0.02)),
        churn=rng.choice((0.05, 0.15, 0.3)),
        slow=rng.choice((0.0, 0.0, 0.3)),
    )


def draw_variant(rng: Random) -> NodeVariant:
    variant = NodeVariant()
    if rng.random() < 0.3:
        variant = replace(variant, accelerated_packets=rng.randrange(1, 6))
    if rng.random() < 0.3:
        variant = replace(variant, packet_bytes=rng.choice((256, 350, 900, 1_400)))
    if rng.random() < 0.25:
        low = rng.randrange(2, 8)
        variant = replace(
            variant,
            ring_packets_max=6,
            member_packets_max=3,
            window_packets_low=low,
            window_packets_max=low + rng.randrange(4, 16),
        )
    if rng.random() < 0.2:
        high = rng.randrange(600, 6_000)
        variant = replace(
            variant,
            queue_bytes_low=high // 3,
            queue_bytes_high=high,
            queue_bytes_max=high + rng.choice((100, 500_000)),
        )
    return variant


def draw_kept(seed: int, variant: NodeVariant) -> NodeVariant:
    """Whether groups are kept, and how much of them; from a stream of its own, so that all
    else in a seed stays as it was."""
    rng = Random(f"{seed} kept")
    if rng.random() >= KEPT:
        return variant
    return replace(variant, kept_groups=rng.randrange(1, 3), kept_bytes=rng.choice((0, 8_192)))


def draw_courtesy(seed: int, variant: NodeVariant) -> NodeVariant:
    """Whether others wait for clients that are behind by a few messages; from a stream of its own,
    too."""
    rng = Random(f"{seed} courtesy")
    if rng.random() >= COURTESY:
        return variant
    return replace(variant, courtesy_bytes=rng.choice((100, 400, 2_000)))


def draw_disk(seed: int) -> DiskSettings:
    rng = Random(f"{seed} disk")
    late, full = rng.choice((0.0, 0.3)), rng.choice((0.0, 0.0, 0.05))
    return DiskSettings(late=late, full=full) if draw_kept(seed, PLAIN) != PLAIN else DiskSettings()


def draw_keyed(seed: int, workload: WorkloadSettings) -> WorkloadSettings:
    """Some of the runs with kept groups have keyed messages."""
    if draw_kept(seed, PLAIN) == PLAIN:
        return workload
    return replace(workload, keyed=Random(f"{seed} keyed").choice((0.0, 0.3)))
