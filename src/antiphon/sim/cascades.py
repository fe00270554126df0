"""Cascades: what goes wrong in the midst of a change."""

from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.core.trace import Kind
from antiphon.protocol.membership.membership import GatherReason, State
from antiphon.sim.action import EVERY_LINK, Action
from antiphon.sim.notation import Link
from antiphon.sim.nuisances import pause
from antiphon.sim.script import Step, Trigger
from antiphon.sim.stage import HEAL, Stage
from antiphon.sim.upheavals import crash_one, many_merge, split, split_again
from antiphon.wire.packet import Tag

SHORT_JUMP_US = 95 * MILLISECOND
"""Just too short to be taken for a process that stood still."""

CHANGING = (State.GATHER, State.COLLECT, State.RECOVER, State.READY)


def crash_in_change(stage: Stage, at: int) -> list[Step]:
    """A split, and a crash just as some daemon comes to a certain point of the change."""
    host = stage.host()
    back = at + stage.span(1_500, 2_500)
    return [
        *split(stage, at),
        Step(at, Action("crash", host=host), _point(stage)),
        Step(back, Action("restart", host=host)),
    ]


def split_in_change(stage: Stage, at: int) -> list[Step]:
    """One change begins, and at a certain point of it the network falls apart."""
    healed = at + stage.span(1_200, 2_500)
    first = stage.rng.choice((crash_one, many_merge, pause))
    return [
        *first(stage, at),
        Step(at, stage.cut(), _point(stage)),
        Step(healed, HEAL),
    ]


def restart_in_change(stage: Stage, at: int) -> list[Step]:
    """A daemon nobody counts with comes up in the midst of a change."""
    host = stage.host()
    return [
        Step(at, Action("crash", host=host)),
        Step(at + stage.span(0, 900), Action("restart", host=host), _point(stage)),
        Step(at + stage.span(1_500, 2_500), Action("restart", host=host)),
    ]


def heal_in_change(stage: Stage, at: int) -> list[Step]:
    """The strangers of the other side come back while this side recovers, and are gone again
    when it gives up for them."""
    first = at + stage.span(1_000, 1_600)
    gone = Trigger(0, Kind.ABORT, "", stage.rng.randrange(1, 120_000))
    return [
        Step(at, stage.cut()),
        Step(first, Action("crash", host=stage.host())),
        Step(first, HEAL, _point(stage)),
        Step(first, stage.cut(), gone),
        Step(first + stage.span(1_000, 1_500), HEAL),
    ]


def lost_in_change(stage: Stage, at: int) -> list[Step]:
    """A message of the change itself is lost."""
    tags = (Tag.PROPOSE, Tag.STATE, Tag.DIGEST, Tag.READY, Tag.COMMIT)
    tag = stage.rng.choice((*tags, Tag.RECOVERY_REQUEST, Tag.RECOVERY_DATA))
    drop = Action("drop", link=stage.link(), tag=tag, times=stage.rng.randrange(1, 25))
    return [Step(at, drop), *split(stage, at)]


def uneven(stage: Stage, at: int) -> list[Step]:
    """One misses what the others have, and before it is repaired the configuration ends: it
    must be recovered, which a second fault makes harder."""
    victim, *senders = stage.hosts(3)
    times = stage.rng.randrange(20, 150)
    deaf = Action("drop", link=Link(0, victim, False), tag=Tag.DATA, times=times)
    second = stage.rng.choice((crash_one, split, split_again, lost_in_change, many_merge))
    steps = [Step(at, deaf), *(stage.flood(at, sender) for sender in senders)]
    steps += second(stage, at + stage.span(2, 60))
    if stage.rng.random() < 0.5:
        tag = stage.rng.choice((Tag.RECOVERY_DATA, Tag.RECOVERY_REQUEST))
        times = stage.rng.randrange(5, 150)
        steps.append(Step(at, Action("drop", link=stage.link(), tag=tag, times=times)))
    if stage.rng.random() < 0.5:
        link = Link(victim, max(senders), False)
        shift, duration = stage.span(20, 250), stage.span(500, 1_500)
        steps.append(Step(at, Action("delay", link=link, shift=shift, duration=duration)))
    if stage.rng.random() < 0.5:
        point = Trigger(0, Kind.ENTER, State.RECOVER.value, stage.rng.randrange(20_000))
        steps.append(Step(at, stage.rng.choice((stage.cut(), HEAL)), point))
        steps.append(Step(at + stage.span(1_000, 2_000), HEAL))
    return steps


def another_leader(stage: Stage, at: int) -> list[Step]:
    """A side forms, and while that takes long at one of its members, the other side is back
    with a leader that goes before theirs."""
    first, second = stage.sides(2)
    if 1 in second:
        first, second = second, first
    leader, member = second[0], second[-1]
    apart = Action("cut", sides=(first, second))
    point = Trigger(member, Kind.ENTER, stage.rng.choice((State.COLLECT, State.READY)).value)
    steps = [Step(at, apart), Step(at, HEAL, point)]
    if stage.rng.random() < 0.6:
        steps += _fetch_in_vain(stage, at, leader, member)
    if stage.rng.random() < 0.75:
        steps += _words_come_late(stage, at, Link(leader, member, False), point)
    if stage.rng.random() < 0.5:
        waits = Action("drop", link=Link(first[0], member, False), tag=Tag.DIGEST, times=12)
        steps.append(Step(at, waits, point))
    if stage.rng.random() < 0.5:
        soon = Trigger(leader, Kind.TROUBLE, GatherReason.NOT_LEADER.value, stage.span(1, 90))
        steps.append(Step(at, apart, soon))
    return [*steps, Step(at + stage.span(1_500, 2_500), HEAL)]


def _fetch_in_vain(stage: Stage, at: int, sender: int, member: int) -> list[Step]:
    """It lacks what it must recover, and does not get it."""
    before = at - 70 * MILLISECOND
    link = Link(0, member, False)
    return [
        Step(before, Action("drop", link=link, tag=Tag.DATA, times=200)),
        stage.flood(before + MILLISECOND, sender),
        Step(at, Action("drop", link=link, tag=Tag.RECOVERY_DATA, times=200)),
    ]


def _words_come_late(stage: Stage, at: int, link: Link, point: Trigger) -> list[Step]:
    shift, duration = stage.span(60, 900), stage.span(500, 1_500)
    return [Step(at, Action("delay", link=link, shift=shift, duration=duration), point)]


def late_words(stage: Stage, at: int) -> list[Step]:
    """What the leader says in a change comes to one member when it has given up waiting: all
    of it, or only the last of many repetitions."""
    sides = stage.sides(2)
    side = max(sides, key=len)
    link = Link(side[0], side[-1], False)
    state = stage.rng.choice((State.COLLECT, State.RECOVER, State.READY))
    point = Trigger(side[-1], Kind.ENTER, state.value)
    if stage.rng.random() < 0.5:
        shift, duration = stage.span(300, 1_100), stage.span(400, 900)
        late = [Step(at, Action("delay", link=link, shift=shift, duration=duration), point)]
    else:
        point = Trigger(side[-1], Kind.ENTER, State.COLLECT.value)
        times = stage.rng.randrange(14, 19)
        late = [
            Step(at, Action("delay", link=link, shift=stage.span(20, 90), duration=2 * SECOND)),
            Step(at, Action("drop", link=link, tag=Tag.DIGEST, times=times), point),
        ]
    return [Step(at, Action("cut", sides=sides)), *late, Step(at + stage.span(1_500, 2_500), HEAL)]


def left_in_doubt(stage: Stage, at: int) -> list[Step]:
    """One is ready and does not hear for long that the others went on; meanwhile the lowest
    daemon is back, which comes from the old configuration too and holds more of it."""
    first, leader, member = 1, 2, stage.daemons
    others = tuple(range(leader, member + 1))
    before = at - 4 * MILLISECOND
    ready = Trigger(member, Kind.ENTER, State.READY.value)
    late = Action(
        "delay",
        link=Link(leader, member, False),
        shift=stage.span(700, 1_500),
        duration=2 * SECOND,
    )
    in_vain = Action("drop", link=Link(first, member, False), tag=Tag.RECOVERY_DATA, times=60)
    return [
        *(
            Step(before, Action("drop", link=Link(first, host, False), tag=Tag.DATA, times=60))
            for host in others
        ),
        stage.flood(before, first),
        Step(at, Action("cut", sides=((first,), others))),
        # Having stood still it waits before it proposes anything.
        Step(at, Action("jump", host=first, shift=stage.span(150, 400))),
        Step(at, in_vain),
        Step(at, late, ready),
        Step(at, HEAL, ready),
        Step(at + stage.span(2_400, 3_000), HEAL),
    ]


def all_at_once(stage: Stage, at: int) -> list[Step]:
    """A stranger comes while the token is lost, and the clock leaps: two timers end in one
    moment, one that begins a change and one that would ask for it."""
    healed = at + stage.span(1_300, 1_600)
    lost = healed - stage.span(60, 240)
    stranger, others = (stage.daemons,), tuple(range(1, stage.daemons))
    no_token = Action("drop", link=EVERY_LINK, tag=Tag.TOKEN, until=lost + stage.span(500, 600))
    leap = Action("jump", host=1, shift=SHORT_JUMP_US)
    return [
        Step(at, Action("cut", sides=(stranger, others))),
        Step(lost, no_token),
        Step(healed, HEAL),
        Step(lost + stage.span(310, 395), leap),
    ]


def _point(stage: Stage) -> Trigger:
    """A point of a change at some daemon."""
    host = stage.host() if stage.rng.random() < 0.5 else 0
    delay = stage.rng.choice((0, 0, stage.rng.randrange(1, 20_000)))
    draw = stage.rng.random()
    if draw < 0.7:
        return Trigger(host, Kind.ENTER, stage.rng.choice(CHANGING).value, delay)
    kind = stage.rng.choice((Kind.ATTEMPT, Kind.ABORT, Kind.INSTALL, Kind.TRANSITIONAL))
    return Trigger(host, kind, "", delay)
