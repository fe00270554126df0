"""Scripts without one daemon or one slot: the others move up, what named it is left out."""

from dataclasses import replace

from antiphon.sim.action import Action
from antiphon.sim.notation import Link
from antiphon.sim.script import Script, Step

SIDES_MIN = 2


def without_daemon(script: Script, daemon: int) -> Script:
    steps = [_step_without(step, daemon) for step in script.steps]
    return replace(
        script,
        daemons=script.daemons - 1,
        steps=tuple(step for step in steps if step is not None),
    )


def without_slot(script: Script, slot: int) -> Script:
    steps = []
    for step in script.steps:
        if step.action.slot == slot:
            continue
        if step.action.slot > slot:
            step = replace(step, action=replace(step.action, slot=step.action.slot - 1))
        steps.append(step)
    return replace(script, sessions=script.sessions - 1, steps=tuple(steps))


def _step_without(step: Step, daemon: int) -> Step | None:
    action = _action_without(step.action, daemon)
    trigger = step.trigger
    if action is None or (trigger is not None and trigger.host == daemon):
        return None
    if trigger is not None:
        trigger = replace(trigger, host=_moved(trigger.host, daemon))
    return replace(step, action=action, trigger=trigger)


def _action_without(action: Action, daemon: int) -> Action | None:
    if daemon in (action.host, action.link.source, action.link.target):
        return None
    sides = tuple(
        tuple(_moved(host, daemon) for host in side if host != daemon) for side in action.sides
    )
    sides = tuple(side for side in sides if side)
    if action.sides and len(sides) < SIDES_MIN:
        return None
    link = Link(
        _moved(action.link.source, daemon), _moved(action.link.target, daemon), action.link.both
    )
    return replace(action, host=_moved(action.host, daemon), sides=sides, link=link)


def _moved(host: int, daemon: int) -> int:
    return host - 1 if host > daemon else host
