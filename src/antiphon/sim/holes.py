"""Episodes about holes: somebody knows of what nobody, or not everybody, has.

What lies behind a hole is the hardest part of a change, and few accidents come by it: here
a packet is lost for ever, so that the hole stays until the configuration ends.
"""

from functools import partial

from antiphon.core.service import Service
from antiphon.core.trace import Kind
from antiphon.protocol.membership.membership import State
from antiphon.sim.action import EVERY_LINK, Action
from antiphon.sim.notation import Link
from antiphon.sim.script import Step, Trigger
from antiphon.sim.stage import HEAL, Stage
from antiphon.wire.packet import Tag


def hole(stage: Stage, at: int) -> list[Step]:
    """A packet reaches nobody, more comes behind it, group changes too, and its sender is gone
    before anybody has it. Often the change that follows falls apart in its turn."""
    sender, *rest = stage.hosts(stage.daemons)
    several = stage.rng.randrange(2, len(rest) + 1)
    far, near = sorted(rest[:several]), sorted([sender, *rest[several:]])
    other, deaf = far[0], stage.rng.choice(far)
    parted = at + stage.span(5, 150)
    times = stage.rng.randrange(1, 8)
    return [
        Step(at, Action("lose-forever", link=Link(sender, 0, False), times=1)),
        Step(at, Action("drop", link=Link(0, deaf, False), tag=Tag.DATA, times=times)),
        *(stage.flood(at, host) for host in (sender, sender, other)),
        stage.flood(at + stage.span(1, 40), sender),
        stage.flood(at + stage.span(1, 40), other, Service.SAFE),
        *(_regroup(stage, at + stage.span(1, 40), host) for host in (sender, other)),
        Step(parted, Action("cut", sides=(tuple(near), tuple(far)))),
        *_fall_apart(stage, parted, other),
        Step(parted + stage.span(1_500, 2_400), HEAL),
    ]


def _fall_apart(stage: Stage, at: int, leader: int) -> list[Step]:
    """The next change comes to nothing, or only its leader knows that it did not."""
    draw = stage.rng.random()
    if draw < 0.5:
        unheard = Action("drop", link=EVERY_LINK, tag=Tag.COMMIT, times=stage.daemons)
        alone = Action("cut", sides=tuple((host,) for host in range(1, stage.daemons + 1)))
        committed = Trigger(leader, Kind.ENTER, State.OPERATIONAL.value)
        return [Step(at, unheard), Step(at, alone, committed)]
    if draw < 0.8:
        soon = Trigger(0, Kind.ENTER, State.READY.value, stage.rng.randrange(1, 10_000))
        return [Step(at, stage.cut(), soon)]
    return []


def _regroup(stage: Stage, at: int, host: int) -> Step:
    verb = stage.rng.choice(("join", "join", "leave"))
    return Step(at, Action(verb, host=host, slot=stage.slot(), groups=(stage.group(),)))


def hearsay(stage: Stage, at: int) -> list[Step]:
    """Two miss a message, and one of them hears of it by an unreliable one and answers."""
    sender, told, deaf = stage.hosts(3)
    slot = stage.slot()
    everywhere = tuple(f"g{number}" for number in range(1, stage.groups + 1))
    say = partial(Action, "send", groups=everywhere, text="hear", times=1)
    later = at + stage.span(10, 80)
    last = later + stage.span(10, 80)
    return [
        *(
            Step(at, Action("lose-forever", link=Link(0, host, False), times=1))
            for host in (told, deaf)
        ),
        Step(at, say(host=sender, slot=slot, service=Service.CAUSAL)),
        Step(later, say(host=sender, slot=slot, service=Service.UNRELIABLE)),
        *(
            Step(last, say(host=told, slot=each, service=Service.CAUSAL))
            for each in range(1, stage.sessions + 1)
        ),
    ]
