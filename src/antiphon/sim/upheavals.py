"""Upheavals: what leads to another configuration."""

from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.sim.action import Action
from antiphon.sim.notation import Link
from antiphon.sim.script import Step
from antiphon.sim.stage import HEAL, Stage
from antiphon.wire.packet import Tag


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
        stage.flood(at, host),
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


def burst(stage: Stage, at: int) -> list[Step]:
    """More than a window takes, and a change in the midst of it."""
    return [stage.flood(at, stage.host()), *split(stage, at + stage.span(1, 40))]


def clogged(stage: Stage, at: int) -> list[Step]:
    """One never gets a certain packet, and the others fill the window."""
    victim, *senders = stage.hosts(3)
    lost = Action("lose-forever", link=Link(0, victim, False), times=1)
    floods = [
        stage.flood(at + round * 300 * MILLISECOND + 1, sender)
        for sender in senders
        for round in range(4)
    ]
    return [Step(at, lost), *floods]
