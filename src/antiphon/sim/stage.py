"""The stage on which episodes play: who is there, and draws that several episodes make."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from antiphon.core.machine import MILLISECOND
from antiphon.core.service import Service
from antiphon.core.trace import Kind
from antiphon.protocol.membership.membership import State
from antiphon.sim.action import EVERY_LINK, Action
from antiphon.sim.notation import Link
from antiphon.sim.places import Lead, Place, Site
from antiphon.sim.script import Step, Trigger
from antiphon.wire.packet import Tag

HEAL = Action("heal")


@dataclass(frozen=True, slots=True)
class Stage:
    """Where episodes play."""

    rng: Random
    daemons: int
    sessions: int
    groups: int
    places: tuple[tuple[int, ...], ...] = ()
    """The daemons by site; nothing if there is one site."""

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

    def slot(self) -> int:
        return self.rng.randrange(1, self.sessions + 1)

    def group(self) -> str:
        return f"g{self.rng.randrange(1, self.groups + 1)}"

    def cut(self) -> Action:
        return Action("cut", sides=self.sides(2 if self.rng.random() < 0.7 else 3))

    def flood(self, at: int, host: int, service: Service | None = None) -> Step:
        """Many messages of one session at once."""
        send = Action(
            "send",
            host=host,
            slot=self.slot(),
            groups=(self.group(),),
            service=service or self.rng.choice(list(Service)[1:]),
            text="flood",
            times=self.rng.randrange(3, 16),
            size=int(30 * 40 ** self.rng.random()),
        )
        return Step(at, send)

    def sites(self, count: int) -> list[Site]:
        return [Site(at + 1) for at in self.rng.sample(range(len(self.places)), count)]

    def site(self) -> Site:
        return self.sites(1)[0]

    def edge(self, both: bool) -> Link:
        """Between two sites."""
        source, target = self.sites(2)
        return Link(source, target, both)

    def leader_at(self, site: Site) -> Trigger:
        """Its leader comes to a state of a change. RECOVER is seldom and short."""
        state = self.rng.choice((*State, State.RECOVER, State.RECOVER, State.RECOVER))
        delay = self.rng.choice((0, 0, self.rng.randrange(1, 90_000)))
        if state is State.RECOVER:
            delay //= 50
        return Trigger(Lead(site.number), Kind.ENTER, state.value, delay)

    def behind(self, at: int, place: Place) -> list[Step]:
        """Words that it misses: it will have to fetch them if the configuration ends soon."""
        until = at + self.span(600, 1_300)
        deaf = Action("drop", link=Link(0, place, False), tag=Tag.DATA, until=until)
        return [Step(at, deaf), *(self.flood(at + 1, host) for host in self.hosts(2))]

    def host_at(self, site: Site) -> int:
        return self.rng.choice(self.places[site.number - 1])


Episode = Callable[[Stage, int], list[Step]]
"""Gives the steps of a story that begins at this time. It mends what it broke within a few
seconds, for what stays broken until the end hides what comes later."""


@dataclass(frozen=True, slots=True)
class Repertoire:
    """What a swarm plays."""

    changes: tuple[Episode, ...]
    """Those after which there is another configuration."""

    nuisances: tuple[Episode, ...]
    """Those that a configuration may survive."""

    patience_us: Mapping[Episode, int]
    """These show only if nothing else happens for a while."""

    def choose(self, rng: Random) -> list[Episode]:
        changes = rng.sample(self.changes, rng.randrange(2, 5))
        return changes + rng.sample(self.nuisances, rng.randrange(1, 5))
