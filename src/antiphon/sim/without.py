"""Scripts without one daemon, one site or one slot: the others move up, what named it is left
out."""

from dataclasses import dataclass, replace

from antiphon.sim.action import Action
from antiphon.sim.notation import Link
from antiphon.sim.places import Place
from antiphon.sim.script import Script, Step, Wan

SIDES_MIN = 2


@dataclass(frozen=True, slots=True)
class Gap:
    """What goes, by number; 0 is nothing."""

    daemon: int
    site: int
    """The site that is empty without the daemon."""

    def moved(self, place: Place) -> Place | None:
        """The same place when the others have moved up; None if it goes."""
        number = place if isinstance(place, int) else place.number
        gone = self.daemon if isinstance(place, int) else self.site
        if number and number == gone:
            return None
        if not gone or number < gone:
            return place
        return number - 1 if isinstance(place, int) else type(place)(number - 1)


def without_daemon(script: Script, daemon: int) -> Script:
    alone = [number for number, site in enumerate(script.sites, 1) if site == (daemon,)]
    gap = Gap(daemon, alone[0] if alone else 0)
    steps = [_step_without(step, gap) for step in script.steps]
    wan = [_wan_without(told, gap) for told in script.wan]
    sites = [
        tuple(host - (host > daemon) for host in site if host != daemon) for site in script.sites
    ]
    sites = [site for site in sites if site]
    several = len(sites) > 1
    return replace(
        script,
        daemons=script.daemons - 1,
        sites=tuple(sites) if several else (),
        wan=tuple(told for told in wan if told is not None) if several else (),
        steps=tuple(step for step in steps if step is not None),
    )


def without_site(script: Script, number: int) -> Script:
    for daemon in reversed(script.sites[number - 1]):
        script = without_daemon(script, daemon)
    return script


def without_slot(script: Script, slot: int) -> Script:
    steps = []
    for step in script.steps:
        if step.action.slot == slot:
            continue
        if step.action.slot > slot:
            step = replace(step, action=replace(step.action, slot=step.action.slot - 1))
        steps.append(step)
    return replace(script, sessions=script.sessions - 1, steps=tuple(steps))


def _step_without(step: Step, gap: Gap) -> Step | None:
    action = _action_without(step.action, gap)
    if action is None:
        return None
    if step.trigger is None:
        return replace(step, action=action)
    host = gap.moved(step.trigger.host)
    if host is None:
        return None
    return replace(step, action=action, trigger=replace(step.trigger, host=host))


def _action_without(action: Action, gap: Gap) -> Action | None:
    host = gap.moved(action.host)
    link = _link_without(action.link, gap)
    if host is None or link is None:
        return None
    moved = [[gap.moved(place) for place in side] for side in action.sides]
    sides = tuple(tuple(place for place in side if place is not None) for side in moved)
    sides = tuple(side for side in sides if side)
    if action.sides and len(sides) < min(SIDES_MIN, len(action.sides)):
        return None
    return replace(action, host=host, sides=sides, link=link)


def _wan_without(told: Wan, gap: Gap) -> Wan | None:
    link = _link_without(told.link, gap)
    return None if link is None else replace(told, link=link)


def _link_without(link: Link, gap: Gap) -> Link | None:
    source, target = gap.moved(link.source), gap.moved(link.target)
    if source is None or target is None:
        return None
    return Link(source, target, link.both)
