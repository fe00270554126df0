"""Episodes about the edges between sites."""

from dataclasses import replace
from itertools import combinations

from antiphon.core.machine import MILLISECOND
from antiphon.core.service import Service
from antiphon.sim.action import Action
from antiphon.sim.notation import Link
from antiphon.sim.places import Lead, Place, Site
from antiphon.sim.script import Step
from antiphon.sim.stage import HEAL, Stage
from antiphon.wire.packet import Tag


def edge_cut(stage: Stage, at: int) -> list[Step]:
    """Two sites do not reach each other; with a third one they are not parted by that."""
    return _close(stage, at, both=True)


def edge_one_way(stage: Stage, at: int) -> list[Step]:
    return _close(stage, at, both=False)


def _close(stage: Stage, at: int, both: bool) -> list[Step]:
    link = stage.edge(both)
    healed = at + stage.span(300, 3_000)
    return [Step(at, Action("oneway", link=link)), Step(healed, Action("heal", link=link))]


def edge_dies_in_change(stage: Stage, at: int) -> list[Step]:
    """At a certain point of a change a leader loses its way to another."""
    one, other = stage.sites(2)
    point = stage.leader_at(one)
    link = Link(Lead(one.number), Lead(other.number), stage.rng.random() < 0.6)
    first = stage.rng.choice((edge_cut, edge_one_way, chain))
    return [
        *stage.behind(at, point.host),
        *first(stage, at + stage.span(2, 60)),
        Step(at, Action("oneway", link=link), point),
        Step(at + stage.span(2_000, 3_500), HEAL),
    ]


def chain(stage: Stage, at: int) -> list[Step]:
    """Each site reaches only its neighbours in a row: all else goes through others."""
    row = stage.sites(len(stage.places))
    return [
        *_only_neighbours(row, at),
        *(stage.flood(at + stage.span(0, 1_500), stage.host_at(site)) for site in row),
        Step(at + stage.span(1_800, 3_000), HEAL),
    ]


def middle_gone(stage: Stage, at: int) -> list[Step]:
    """Who passes on what goes between the ends of a row crashes, with words under way."""
    row = stage.sites(len(stage.places))
    middle = row[len(row) // 2]
    crash = at + stage.span(1_200, 1_900)
    back = crash + stage.span(100, 1_500)
    words = crash - stage.span(1, 120)
    return [
        *_only_neighbours(row, at),
        *(stage.flood(words, stage.host_at(site)) for site in (row[0], row[-1], row[0])),
        Step(crash, Action("crash", host=Lead(middle.number))),
        Step(back, Action("restart", host=middle)),
        Step(back + stage.span(500, 1_500), HEAL),
    ]


def passing_through(stage: Stage, at: int) -> list[Step]:
    """Words for the far end of a row have come as far as its neighbour when the configuration
    ends: who only passed them on must give them."""
    row = stage.sites(len(stage.places))
    if len(row) < 3:
        return edge_cut(stage, at)
    group = (f"end{row[-1].number}",)
    member = Action("join", host=stage.host_at(row[-1]), slot=stage.slot(), groups=group)
    words = at + stage.span(1_900, 2_500)
    last = Link(Lead(row[-2].number), row[-1], False)
    lost = Action("drop", link=last, tag=Tag.LINK, until=words + stage.span(1_000, 2_500))
    steps = [*_only_neighbours(row, at), Step(at, member), Step(words - MILLISECOND, lost)]
    for service in stage.rng.sample(list(Service)[1:], 2):
        flood = stage.flood(words, stage.host_at(row[0]), service)
        steps.append(replace(flood, action=replace(flood.action, groups=group)))
    gone = words + stage.span(50, 400)
    where: Place = row[0] if stage.rng.random() < 0.4 else stage.host()
    back = gone + stage.span(1_500, 2_500)
    return [
        *steps,
        Step(gone, Action("crash", host=where)),
        Step(back, Action("restart", host=where)),
        Step(back, HEAL),
    ]


def _only_neighbours(row: list[Site], at: int) -> list[Step]:
    return [
        Step(at, Action("oneway", link=Link(one, other, True)))
        for (here, one), (there, other) in combinations(enumerate(row), 2)
        if there - here > 1
    ]


def edge_lossy(stage: Stage, at: int) -> list[Step]:
    chance = round(stage.rng.uniform(0.1, 0.6), 2)
    link = stage.edge(stage.rng.random() < 0.5)
    return [Step(at, Action("loss", link=link, chance=chance, duration=stage.span(300, 2_000)))]


def edge_slow(stage: Stage, at: int) -> list[Step]:
    """Much longer than it was measured, and in one direction only, often."""
    link = stage.edge(stage.rng.random() < 0.4)
    shift, duration = stage.span(10, 300), stage.span(500, 2_500)
    return [Step(at, Action("delay", link=link, shift=shift, duration=duration))]


def edge_disorder(stage: Stage, at: int) -> list[Step]:
    verb = stage.rng.choice(("duplicate", "reorder", "corrupt"))
    chance = round(stage.rng.uniform(0.05, 0.5), 2)
    link = stage.edge(True)
    return [Step(at, Action(verb, link=link, chance=chance, duration=stage.span(300, 2_000)))]


def edge_drops(stage: Stage, at: int) -> list[Step]:
    """The next few packets of one kind between two sites are lost."""
    tag = stage.rng.choice(list(Tag))
    link, times = stage.edge(stage.rng.random() < 0.5), stage.rng.randrange(1, 12)
    return [Step(at, Action("drop", link=link, tag=tag, times=times))]


def flapping(stage: Stage, at: int) -> list[Step]:
    """An edge that comes and goes."""
    link = stage.edge(stage.rng.random() < 0.7)
    steps = []
    for _ in range(stage.rng.randrange(2, 6)):
        steps.append(Step(at, Action("oneway", link=link)))
        at += stage.span(50, 700)
        steps.append(Step(at, Action("heal", link=link)))
        at += stage.span(30, 500)
    return [*steps, Step(at + MILLISECOND, Action("heal", link=link))]
