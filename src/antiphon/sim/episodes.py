"""Episodes: short stories of things going wrong, drawn from a seed.

Each takes a stage, a time, and gives the steps of its story. An episode mends what it broke
within a few seconds, for what stays broken until the end hides what comes later.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random

from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.core.service import Service
from antiphon.core.trace import Kind
from antiphon.protocol.membership.membership import GatherReason, State
from antiphon.sim.action import EVERY_LINK, JUNK, Action
from antiphon.sim.notation import Link
from antiphon.sim.script import Step, Trigger
from antiphon.wire.packet import Tag

SHORT_JUMP_US = 95 * MILLISECOND
"""Just too short to be taken for a process that stood still."""

CHANGING = (State.GATHER, State.COLLECT, State.RECOVER, State.READY)


@dataclass(frozen=True, slots=True)
class Stage:
    """Where episodes play."""

    rng: Random
    daemons: int
    sessions: int
    groups: int

    def host(self) -> int:
        return self.rng.randrange(1, self.daemons + 1)

    def hosts(self, count: int) -> list[int]:
        return self.rng.sample(range(1, self.daemons + 1), count)

    def span(self, least_ms: int, most_ms: int) -> int:
        return self.rng.randrange(least_ms, most_ms + 1) * MILLISECOND

    def link(self) -> Link:
        """Between two, from or to one, or all: faults are seldom the same for everybody."""
        source, target = self.hosts(2)
        draw = self.rng.random()
        if draw < 0.3:
            return Link(source, target, self.rng.random() < 0.5)
        if draw < 0.5:
            return Link(0, target, False)
        if draw < 0.7:
            return Link(source, 0, False)
        return EVERY_LINK

    def sides(self, parts: int) -> tuple[tuple[int, ...], ...]:
        """Everybody on one of so many sides, none empty."""
        parts = min(parts, self.daemons)
        order = self.hosts(self.daemons)
        borders = sorted(self.rng.sample(range(1, self.daemons), parts - 1))
        ends = zip([0, *borders], [*borders, self.daemons], strict=True)
        return tuple(tuple(sorted(order[first:last])) for first, last in ends)

    def group(self) -> str:
        return f"g{self.rng.randrange(1, self.groups + 1)}"

    def cut(self) -> Action:
        return Action("cut", sides=self.sides(2 if self.rng.random() < 0.7 else 3))


Episode = Callable[[Stage, int], list[Step]]

HEAL = Action("heal")


def crash_one(stage: Stage, at: int) -> list[Step]:
    host = stage.host()
    back = at + (stage.span(1, 40) if stage.rng.random() < 0.3 else stage.span(40, 1_800))
    return [Step(at, Action("crash", host=host)), Step(back, Action("restart", host=host))]


def crash_some(stage: Stage, at: int) -> list[Step]:
    """Several at once, or all of them; they come back one by one."""
    steps = []
    most = stage.daemons if stage.rng.random() < 0.2 else stage.daemons - 1
    for host in stage.hosts(stage.rng.randrange(2, most + 1)):
        steps.append(Step(at, Action("crash", host=host)))
        steps.append(Step(at + stage.span(20, 1_500), Action("restart", host=host)))
    return steps


def reborn(stage: Stage, at: int) -> list[Step]:
    """Back before anybody missed it: what it sent in its former life is still going round."""
    host, deaf = stage.hosts(2)
    lost = Action("drop", link=Link(host, deaf, False), tag=Tag.DATA, times=6)
    gone = at + stage.span(1, 12)
    return [
        Step(at, lost),
        _flood(stage, at, host),
        Step(gone, Action("crash", host=host)),
        Step(gone + stage.span(0, 8), Action("restart", host=host)),
    ]


def clock_back(stage: Stage, at: int) -> list[Step]:
    """A restarted daemon whose wall clock shows an earlier time."""
    host = stage.host()
    back = at + stage.span(5, 900)
    shift = -stage.rng.randrange(1, 7_200) * SECOND
    return [
        Step(at, Action("crash", host=host)),
        Step(at, Action("clock", host=host, shift=shift)),
        Step(back, Action("restart", host=host)),
    ]


def split(stage: Stage, at: int) -> list[Step]:
    return [Step(at, stage.cut()), Step(at + stage.span(100, 2_400), HEAL)]


def split_again(stage: Stage, at: int) -> list[Step]:
    """The network falls apart along another line while the first change still runs."""
    second = at + stage.span(20, 1_000)
    return [
        Step(at, stage.cut()),
        Step(second, stage.cut()),
        Step(second + stage.span(600, 1_800), HEAL),
    ]


def split_in_merge(stage: Stage, at: int) -> list[Step]:
    """Healed, and cut again while the parts merge."""
    healed = at + stage.span(900, 1_600)
    again = healed + stage.span(50, 900)
    return [
        Step(at, stage.cut()),
        Step(healed, HEAL),
        Step(again, stage.cut()),
        Step(again + stage.span(300, 1_500), HEAL),
    ]


def many_merge(stage: Stage, at: int) -> list[Step]:
    """Three or more parts, each a configuration of its own, find each other at once."""
    parts = stage.rng.randrange(3, stage.daemons + 1)
    sides = stage.sides(parts)
    return [Step(at, Action("cut", sides=sides)), Step(at + stage.span(1_300, 2_000), HEAL)]


def one_way(stage: Stage, at: int) -> list[Step]:
    source, target = stage.hosts(2)
    link = Link(source, 0 if stage.rng.random() < 0.25 else target, False)
    return [Step(at, Action("oneway", link=link)), Step(at + stage.span(200, 2_200), HEAL)]


def multicast_only_near(stage: Stage, at: int) -> list[Step]:
    """Unicast passes everywhere, multicast does not."""
    sides = stage.sides(2)
    return [Step(at, Action("domains", sides=sides)), Step(at + stage.span(300, 2_000), HEAL)]


def pause(stage: Stage, at: int) -> list[Step]:
    duration = stage.span(30, 1_500)
    return [Step(at, Action("pause", host=stage.host(), duration=duration))]


def jump(stage: Stage, at: int) -> list[Step]:
    shift = stage.span(20, 95) if stage.rng.random() < 0.3 else stage.span(95, 2_500)
    return [Step(at, Action("jump", host=stage.host(), shift=shift))]


def sluggish(stage: Stage, at: int) -> list[Step]:
    """A host on which every event takes long."""
    host = stage.host()
    cost = stage.rng.randrange(300, 6_000)
    return [
        Step(at, Action("slow", host=host, duration=cost)),
        Step(at + stage.span(300, 1_500), Action("slow", host=host)),
    ]


def storm(stage: Stage, at: int) -> list[Step]:
    chance = round(stage.rng.uniform(0.15, 0.7), 2)
    duration = stage.span(150, 1_200)
    return [Step(at, Action("loss", link=stage.link(), chance=chance, duration=duration))]


def disorder(stage: Stage, at: int) -> list[Step]:
    verb = stage.rng.choice(("duplicate", "reorder"))
    chance = round(stage.rng.uniform(0.1, 0.6), 2)
    duration = stage.span(300, 2_000)
    return [Step(at, Action(verb, link=stage.link(), chance=chance, duration=duration))]


def damage(stage: Stage, at: int) -> list[Step]:
    chance = round(stage.rng.uniform(0.05, 0.4), 2)
    duration = stage.span(200, 1_500)
    return [Step(at, Action("corrupt", link=stage.link(), chance=chance, duration=duration))]


def delay(stage: Stage, at: int) -> list[Step]:
    """On one link far longer than the token takes by the others."""
    link = stage.link()
    shift = stage.span(2, 400 if link.source and link.target else 60)
    duration = stage.span(200, 1_500)
    return [Step(at, Action("delay", link=link, shift=shift, duration=duration))]


def targeted_loss(stage: Stage, at: int) -> list[Step]:
    """The next few packets of one kind are lost."""
    tag = stage.rng.choice(list(Tag))
    times = stage.rng.randrange(1, 7)
    return [Step(at, Action("drop", link=stage.link(), tag=tag, times=times))]


def lost_for_ever(stage: Stage, at: int) -> list[Step]:
    """A packet that no repetition brings to one host."""
    link = Link(0, stage.host(), False)
    return [Step(at, Action("lose-forever", link=link, times=stage.rng.randrange(1, 3)))]


def junk(stage: Stage, at: int) -> list[Step]:
    source, target = stage.hosts(2)
    link = Link(source, target, False)
    kind = stage.rng.choice(JUNK)
    return [Step(at, Action("inject", link=link, junk=kind, times=stage.rng.randrange(3, 30)))]


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
        _flood(stage, before + MILLISECOND, sender),
        Step(at, Action("drop", link=link, tag=Tag.RECOVERY_DATA, times=200)),
    ]


def _words_come_late(stage: Stage, at: int, link: Link, point: Trigger) -> list[Step]:
    shift, duration = stage.span(60, 900), stage.span(500, 1_500)
    return [Step(at, Action("delay", link=link, shift=shift, duration=duration), point)]


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


def burst(stage: Stage, at: int) -> list[Step]:
    """More than a window takes, and a change in the midst of it."""
    return [_flood(stage, at, stage.host()), *split(stage, at + stage.span(1, 40))]


def uneven(stage: Stage, at: int) -> list[Step]:
    """One misses what the others have, and before it is repaired the configuration ends: it
    must be recovered, which a second fault makes harder."""
    victim, *senders = stage.hosts(3)
    times = stage.rng.randrange(20, 150)
    deaf = Action("drop", link=Link(0, victim, False), tag=Tag.DATA, times=times)
    second = stage.rng.choice((crash_one, split, split_again, lost_in_change, many_merge))
    steps = [Step(at, deaf), *(_flood(stage, at, sender) for sender in senders)]
    steps += second(stage, at + stage.span(2, 60))
    if stage.rng.random() < 0.5:
        tag = stage.rng.choice((Tag.RECOVERY_DATA, Tag.RECOVERY_REQUEST))
        times = stage.rng.randrange(5, 150)
        steps.append(Step(at, Action("drop", link=stage.link(), tag=tag, times=times)))
    if stage.rng.random() < 0.5:
        point = Trigger(0, Kind.ENTER, State.RECOVER.value, stage.rng.randrange(20_000))
        steps.append(Step(at, stage.rng.choice((stage.cut(), HEAL)), point))
        steps.append(Step(at + stage.span(1_000, 2_000), HEAL))
    return steps


def clogged(stage: Stage, at: int) -> list[Step]:
    """One never gets a certain packet, and the others fill the window."""
    victim, *senders = stage.hosts(3)
    lost = Action("lose-forever", link=Link(0, victim, False), times=1)
    floods = [
        _flood(stage, at + round * 300 * MILLISECOND + 1, sender)
        for sender in senders
        for round in range(4)
    ]
    return [Step(at, lost), *floods]


def _flood(stage: Stage, at: int, host: int) -> Step:
    send = Action(
        "send",
        host=host,
        slot=stage.rng.randrange(1, stage.sessions + 1),
        groups=(stage.group(),),
        service=stage.rng.choice(list(Service)[1:]),
        text="flood",
        times=stage.rng.randrange(3, 16),
        size=int(30 * 40 ** stage.rng.random()),
    )
    return Step(at, send)


def wrong_requests(stage: Stage, at: int) -> list[Step]:
    """A client asks for what it has, for what it has not, and for what nobody can have."""
    slot = stage.rng.randrange(1, stage.sessions + 1)
    ask = partial(Action, host=stage.host(), slot=slot)
    actions = [ask("join", groups=("twice",))] * 2 + [ask("leave", groups=("twice",))] * 2
    actions.append(ask("join", groups=("#nobody",)))
    return [Step(at, action) for action in actions]


def stuck_client(stage: Stage, at: int) -> list[Step]:
    slot = stage.rng.randrange(1, stage.sessions + 1)
    return [Step(at, Action("stall", host=stage.host(), slot=slot))]


def _point(stage: Stage) -> Trigger:
    """A point of a change at some daemon."""
    host = stage.host() if stage.rng.random() < 0.5 else 0
    delay = stage.rng.choice((0, 0, stage.rng.randrange(1, 20_000)))
    draw = stage.rng.random()
    if draw < 0.7:
        return Trigger(host, Kind.ENTER, stage.rng.choice(CHANGING).value, delay)
    kind = stage.rng.choice((Kind.ATTEMPT, Kind.ABORT, Kind.INSTALL, Kind.TRANSITIONAL))
    return Trigger(host, kind, "", delay)


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
    all_at_once,
    lost_in_change,
    burst,
    uneven,
    uneven,  # twice: what is delivered in a change is what a change is about
    another_leader,  # again: few other ways lead to its corners
)
"""Those after which there is another configuration."""

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
    junk,
    stuck_client,
    wrong_requests,
)
"""Those that a configuration may survive."""

PATIENCE_US: dict[Episode, int] = {lost_for_ever: 2_700 * MILLISECOND, clogged: 2_200 * MILLISECOND}
"""These show only if nothing else happens for a while."""

REPEATING: tuple[Episode, ...] = (lost_for_ever, clogged, multicast_only_near)
"""Somebody does not get a packet, however often it is repeated."""
