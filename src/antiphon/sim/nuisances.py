"""Nuisances: what a configuration may survive."""

from functools import partial

from antiphon.sim.action import JUNK, Action
from antiphon.sim.damage import SEED_TAGS
from antiphon.sim.notation import Link
from antiphon.sim.script import Step
from antiphon.sim.stage import Stage


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
    tag = stage.rng.choice(SEED_TAGS)
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


def stuck_client(stage: Stage, at: int) -> list[Step]:
    slot = stage.slot()
    return [Step(at, Action("stall", host=stage.host(), slot=slot))]


def wrong_requests(stage: Stage, at: int) -> list[Step]:
    """A client asks for what it has, for what it has not, and for what nobody can have."""
    slot = stage.slot()
    ask = partial(Action, host=stage.host(), slot=slot)
    actions = [ask("join", groups=("twice",))] * 2 + [ask("leave", groups=("twice",))] * 2
    actions.append(ask("join", groups=("#nobody",)))
    return [Step(at, action) for action in actions]
