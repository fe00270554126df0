"""Episodes about sites as a whole, who represents them, and groups that not all sites have."""

from dataclasses import replace

from antiphon.core.machine import MILLISECOND
from antiphon.core.service import Service
from antiphon.sim.action import Action
from antiphon.sim.edges import chain, edge_cut
from antiphon.sim.notation import Link
from antiphon.sim.places import Lead, Place, Site
from antiphon.sim.script import Step
from antiphon.sim.stage import HEAL, Stage
from antiphon.sim.upheavals import crash_one

FAST_BACK_MS = 40


def isolated(stage: Stage, at: int) -> list[Step]:
    """One site alone."""
    cut = Action("cut", sides=((stage.site(),),))
    return [Step(at, cut), Step(at + stage.span(300, 2_600), HEAL)]


def sites_part(stage: Stage, at: int) -> list[Step]:
    """The network falls apart between sites, then perhaps along another line."""
    steps = [Step(at, _cut(stage, 2))]
    if stage.rng.random() < 0.4:
        at += stage.span(100, 1_500)
        steps.append(Step(at, _cut(stage, stage.rng.randrange(2, 4))))
    return [*steps, Step(at + stage.span(300, 2_400), HEAL)]


def sites_merge(stage: Stage, at: int) -> list[Step]:
    """Each site has a history of its own when they meet."""
    order = stage.sites(len(stage.places))
    healed = at + stage.span(1_800, 2_600)
    floods = [
        stage.flood(at + stage.span(900, 1_700), stage.host_at(site))
        for site in order
        if stage.rng.random() < 0.7
    ]
    cut = Action("cut", sides=tuple((site,) for site in order))
    return [Step(at, cut), *floods, Step(healed, HEAL)]


def _cut(stage: Stage, parts: int) -> Action:
    order = stage.sites(len(stage.places))
    parts = min(parts, len(order))
    borders = sorted(stage.rng.sample(range(1, len(order)), parts - 1))
    ends = zip([0, *borders], [*borders, len(order)], strict=True)
    sides = [sorted(order[first:last], key=lambda site: site.number) for first, last in ends]
    return Action("cut", sides=tuple(tuple(side) for side in sides))


def lead_gone(stage: Stage, at: int) -> list[Step]:
    """A representative crashes or is stopped, perhaps the next one as well."""
    site = stage.site()
    crash = Action(stage.rng.choice(("crash", "crash", "stop")), host=Lead(site.number))
    steps = [stage.flood(at, stage.host_at(site)), Step(at, crash)]
    if stage.rng.random() < 0.35:
        at += stage.span(1, 900)
        steps.append(Step(at, crash))
    soon = stage.rng.random() < 0.3
    back = at + (stage.span(1, FAST_BACK_MS) if soon else stage.span(FAST_BACK_MS, 2_000))
    return [*steps, Step(back, Action("restart", host=site))]


def lead_gone_in_change(stage: Stage, at: int) -> list[Step]:
    """At a certain point of a change a representative is gone: of this site, or of another."""
    site, other = stage.sites(2)
    point = stage.leader_at(site)
    victim = site if stage.rng.random() < 0.6 else other
    first = stage.rng.choice((isolated, sites_merge, edge_cut, chain, crash_one))
    # No draw: the rest of a seed is what it was without.
    verb = "stop" if at // MILLISECOND % 3 == 0 else "crash"
    return [
        *stage.behind(at, point.host),
        *first(stage, at + stage.span(2, 60)),
        Step(at, Action(verb, host=Lead(victim.number)), point),
        Step(at + stage.span(2_000, 3_200), Action("restart", host=victim)),
    ]


def lead_stands_still(stage: Stage, at: int) -> list[Step]:
    lead = Lead(stage.site().number)
    return [Step(at, Action("pause", host=lead, duration=stage.span(50, 1_800)))]


def site_gone(stage: Stage, at: int) -> list[Step]:
    """All its daemons crash at once, and come back together or one by one."""
    site = stage.site()
    steps = [stage.flood(at, stage.host_at(site)), Step(at + 1, Action("crash", host=site))]
    if stage.rng.random() < 0.5:
        for host in stage.places[site.number - 1]:
            back = at + stage.span(50, 2_000)
            steps.append(Step(back, Action("restart", host=host)))
        return steps
    return [*steps, Step(at + stage.span(20, 2_000), Action("restart", host=site))]


def site_slow(stage: Stage, at: int) -> list[Step]:
    """Every event at one of its daemons, or at all of them, takes long."""
    site = stage.site()
    place: Place = site if stage.rng.random() < 0.5 else Lead(site.number)
    slow = Action("slow", host=place, duration=stage.rng.randrange(300, 4_000))
    return [
        Step(at, slow),
        Step(at + stage.span(300, 1_500), Action("slow", host=site)),
    ]


def torn_site(stage: Stage, at: int) -> list[Step]:
    """Two daemons of a site do not hear each other; other sites hear both."""
    large = [Site(at) for at, site in enumerate(stage.places, 1) if len(site) > 1]
    if not large:
        return isolated(stage, at)
    one, other = stage.rng.sample(stage.places[stage.rng.choice(large).number - 1], 2)
    tear = Action("oneway", link=Link(one, other, stage.rng.random() < 0.6))
    return [Step(at, tear), Step(at + stage.span(1_200, 3_000), HEAL)]


def regional(stage: Stage, at: int) -> list[Step]:
    """A group with members at one or two sites only is written to from elsewhere, and before
    all have it the configuration ends."""
    near = stage.sites(stage.rng.randrange(1, min(3, len(stage.places))))
    group = "near" + "".join(str(site.number) for site in near)
    steps = [
        Step(at, Action("join", host=stage.host_at(site), slot=stage.slot(), groups=(group,)))
        for site in near
    ]
    words = at + stage.span(500, 900)
    for service in stage.rng.sample(list(Service), 3):
        flood = stage.flood(words + stage.span(0, 60), stage.host(), service)
        steps.append(replace(flood, action=replace(flood.action, groups=(group,))))
    second = stage.rng.choice((isolated, sites_part, lead_gone, edge_cut, site_gone))
    return [*steps, *second(stage, words + stage.span(5, 120))]


def moving(stage: Stage, at: int) -> list[Step]:
    """Sessions everywhere join and leave one group, with words between them, and the
    configuration ends while some of that is only announced."""
    group = (stage.group(),)
    steps = []
    for host in stage.hosts(min(stage.daemons, 5)):
        verb = stage.rng.choice(("join", "join", "leave"))
        request = Action(verb, host=host, slot=stage.slot(), groups=group)
        steps.append(Step(at + stage.span(0, 120), request))
        flood = stage.flood(at + stage.span(0, 200), host)
        steps.append(replace(flood, action=replace(flood.action, groups=group)))
    second = stage.rng.choice((isolated, lead_gone, edge_cut, sites_part))
    return [*steps, *second(stage, at + stage.span(10, 250))]
