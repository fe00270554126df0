"""Daemons of one configuration without packets and tokens: who stamped what, and who has it.

A bundle is stamped in the way of the ring (the pasts of its daemon and its session, the chains
of the segments it is for), reaches each daemon at any time and in any order, and becomes stable
by what segments tell of themselves. `past` keeps, by brute force, the whole cause of every
bundle. Bundles go by their positions: those are the same everywhere.
"""

from random import Random
from typing import Any, NamedTuple

from hypothesis import strategies as st

from antiphon.core.bundle import Bundle
from antiphon.core.ids import ConfigId, Configuration, DaemonId, Incarnation, Member
from antiphon.core.positions import position
from antiphon.core.reach import Reach
from antiphon.core.service import EARLY, ORDERED, Service
from antiphon.protocol.stream.delivery import Delivery

Shape = tuple[int, ...]
"""How many daemons each segment has."""

Place = int
"""Of a bundle: its position."""


class Report(NamedTuple):
    """What a leader says of its segment."""

    segment: int
    count: int
    floor: int
    heads: tuple[int, ...]
    held: int


class Daemon:
    def __init__(self, number: int, segment: int, segments: int) -> None:
        self.member = Member(DaemonId(number), Incarnation(1))
        self.segment = segment
        self.delivery = Delivery(segments, segment)
        self.delivered: list[Bundle] = []
        self.has: set[Place] = set()
        self.clock = 0
        self.holds = [0] * segments
        """Up to which stamp each segment holds everything, as far as this daemon knows."""

        self.reports: list[Report] = []

    def take(self) -> list[Bundle]:
        taken = self.delivery.take()
        self.delivered += taken
        return taken

    @property
    def seen(self) -> set[Place]:
        return {bundle.position for bundle in self.delivered}

    def is_for(self, bundle: Bundle) -> bool:
        return bundle.way_to(self.segment) is not None


class Site:
    """One segment, or several."""

    def __init__(self, shape: Shape) -> None:
        self.segments = range(len(shape))
        self.daemons: list[Daemon] = []
        for segment, count in enumerate(shape):
            for _ in range(count):
                self.daemons.append(Daemon(len(self.daemons) + 1, segment, len(shape)))
        self.streams: list[list[Bundle]] = [[] for _ in shape]
        self.bundles: dict[Place, Bundle] = {}
        self.past: dict[Place, set[Place]] = {}
        self.knew: dict[Place, set[Place]] = {}
        """The group changes that a bundle's daemon had delivered when it was stamped."""

        self.reports: list[Report] = []
        self._stamps = [0 for _ in shape]
        self._heads = [[0 for _ in shape] for _ in shape]
        self._last_of: dict[tuple[int, int], list[int]] = {}
        self._past_of: dict[tuple[int, int], tuple[int, int]] = {}
        self._last_change = 0
        self._announced: dict[Place, tuple[int, int]] = {}
        """Intents, by position: who will make the change."""

        self._made: dict[Place, Place] = {}
        """The change that followed on an intent."""

    def configuration(self) -> Configuration:
        parts = tuple(
            tuple(one.member for one in self.daemons if one.segment == segment)
            for segment in self.segments
        )
        members = tuple(one.member for one in self.daemons)
        return Configuration(ConfigId(1, DaemonId(1), Incarnation(1), 1), members, parts)

    def everything_for(self, daemon: Daemon) -> list[Bundle]:
        """In the one order."""
        return [self.bundles[at] for at in sorted(self.bundles) if daemon.is_for(self.bundles[at])]

    # What is sent.

    def send(self, number: int, session: int, service: Service, gap: int, to: int) -> None:
        """A message, for the segments of a mask and its own, if it need not wait (D2)."""
        sender = self.daemons[number]
        sender.take()
        if self._must_wait(sender):
            return
        self._stamp(number, session, service, False, gap, {s for s in self.segments if to >> s & 1})

    def _must_wait(self, sender: Daemon) -> bool:
        """In one segment the token tells of changes, in several intents announce them."""
        if len(self.segments) == 1:
            return sender.delivery.cursor < self._last_change
        announced = [intent for intent in self._announced if intent in sender.has]
        return any(self._made.get(intent, -1) not in sender.seen for intent in announced)

    def change(self, number: int, session: int, gap: int) -> None:
        """A group change; with several segments its announcement comes first."""
        sender = self.daemons[number]
        sender.take()
        key = (number, session)
        if len(self.segments) > 1:
            waiting = [at for at, who in self._announced.items() if who == key]
            waiting = [at for at in waiting if at not in self._made]
            if not waiting:
                intent = self._stamp(number, 0, Service.RELIABLE, True, gap, {*self.segments})
                self._announced[intent] = key
                return
            if self.bundles[waiting[0]].stamp > sender.delivery.stable:
                return
        made = self._stamp(number, session, Service.AGREED, True, gap, {*self.segments})
        if len(self.segments) > 1:
            self._made[waiting[0]] = made
        self._last_change = made

    def _stamp(
        self, number: int, session: int, service: Service, control: bool, gap: int, to: set[int]
    ) -> Place:
        sender = self.daemons[number]
        delivery, mine = sender.delivery, sender.segment
        sequence = len(self.streams[mine]) + 1
        key = (number, session)
        early, ordered = self._past_of.get(key, (0, 0))
        last = self._last_of.setdefault(key, [0 for _ in self.segments])
        changes = {one.position for one in sender.delivered if is_change(one)}
        several = len(self.segments) > 1
        bundle = Bundle(sender.member, session, sequence, 1, service, b"", control)
        bundle.sequence, bundle.segment = sequence, mine
        bundle.stamp = max(self._stamps[mine], sender.clock) + 1 + gap
        bundle.previous = last[mine]
        bundle.early_past = max(delivery.early_past[mine], early)
        bundle.order_past = max(delivery.order_past, ordered)
        bundle.after_change = max(changes, default=0) if several else self._last_change
        self._add_other_pasts(bundle, delivery)
        bundle.reach = self._reach(bundle, to | {mine}, last)
        for segment in self.segments:
            if bundle.way_to(segment) is not None:
                self._heads[mine][segment] = last[segment] = sequence
        place = bundle.position
        causes = {*sender.seen, *self.sent_by(number, session)}
        self.past[place] = causes.union(*(self.past[one] for one in causes))
        self.knew[place] = changes
        self._past_of[key] = (early, place) if service in ORDERED else (sequence, ordered)
        self._stamps[mine] = bundle.stamp
        self.streams[mine].append(bundle)
        self.bundles[place] = bundle
        self.arrive(number, place)
        return place

    def _add_other_pasts(self, bundle: Bundle, delivery: Delivery) -> None:
        """What is held everywhere is told as a place in the order, the rest by its number."""
        pasts = []
        for source in delivery.sources:
            sequence = delivery.early_past[source.index]
            if source.index == bundle.segment or not sequence:
                continue
            if sequence > source.released:
                pasts.append((source.index, sequence))
            else:
                oldest = position(delivery.stable + 1, 0) - 1
                bundle.order_past = max(bundle.order_past, oldest)
        bundle.early_pasts = tuple(pasts)

    def _reach(self, bundle: Bundle, to: set[int], last: list[int]) -> tuple[Reach, ...]:
        heads = self._heads[bundle.segment]
        dense = all(head == bundle.sequence - 1 for head in heads)
        if to == {*self.segments} and dense and len(set(last)) == 1:
            return ()
        return tuple(Reach(segment, heads[segment], last[segment]) for segment in sorted(to))

    def sent_by(self, number: int, session: int) -> list[Place]:
        member = self.daemons[number].member
        return [
            at
            for at, one in self.bundles.items()
            if one.sender == member and one.session == session
        ]

    # What comes.

    def arrive(self, number: int, place: Place) -> None:
        receiver = self.daemons[number]
        if place not in receiver.has:
            bundle = self.bundles[place]
            receiver.has.add(place)
            receiver.clock = max(receiver.clock, bundle.stamp)
            assert receiver.delivery.add(bundle)

    def visit(self, number: int) -> None:
        """The token of its segment comes to a daemon: all that was stamped is behind it."""
        one = self.daemons[number]
        mine = one.segment
        self._stamps[mine] = one.clock = max(self._stamps[mine], one.clock)
        self._hear(one, self._tell(mine))

    def report(self, segment: int) -> None:
        self.reports.append(self._tell(segment))

    def _tell(self, segment: int) -> Report:
        held = min(one.delivery.line for one in self.daemons if one.segment == segment)
        heads = tuple(self._heads[segment])
        count = len(self.streams[segment])
        return Report(segment, count, self._stamps[segment], heads, held)

    def hear(self, number: int, which: int) -> None:
        """Any report of another segment, also an old one."""
        one = self.daemons[number]
        others = [report for report in self.reports if report.segment != one.segment]
        if others:
            self._hear(one, others[which % len(others)])

    def _hear(self, one: Daemon, report: Report) -> None:
        one.reports.append(report)
        one.clock = max(one.clock, report.floor)
        head = report.heads[one.segment]
        one.delivery.learn(report.segment, report.count, report.floor, head)
        one.holds[report.segment] = max(one.holds[report.segment], report.held)
        one.delivery.make_stable(min(one.holds))

    def settle(self) -> None:
        """Everything comes to where it is for, and everybody learns so."""
        for number, daemon in enumerate(self.daemons):
            for bundle in self.everything_for(daemon):
                self.arrive(number, bundle.position)
        for _ in range(3):
            self.exchange()
            for daemon in self.daemons:
                daemon.take()

    def exchange(self) -> None:
        """Every token goes round, and everybody hears the newest of every segment."""
        for number in range(len(self.daemons)):
            self.visit(number)
        for segment in self.segments:
            self.report(segment)
            for daemon in self.daemons:
                if daemon.segment != segment:
                    self._hear(daemon, self.reports[-1])


def is_change(bundle: Bundle) -> bool:
    """A group change; an intent only announces one."""
    return bundle.control and bundle.service in ORDERED


def must_precede(site: Site, daemon: Daemon, bundle: Bundle) -> set[Place]:
    """Of what is for a daemon."""
    ours = [one.position for one in site.everything_for(daemon)]
    needed = {at for at in ours if at <= bundle.after_change}
    if bundle.service >= Service.FIFO:
        session = site.sent_by(bundle.sender.daemon - 1, bundle.session)
        needed |= {at for at in session if at < bundle.position}
    if bundle.service >= Service.CAUSAL:
        causes = site.past[bundle.position]
        needed |= {at for at in causes if site.bundles[at].service >= Service.CAUSAL}
    if bundle.service in ORDERED:
        needed |= {at for at in ours if at < bundle.position}
    return needed & {*ours}


SHAPES = st.sampled_from([(3,), (1, 1), (1, 2), (1, 1, 1), (2, 1, 2), (1, 1, 1, 1)])
Step = tuple[Any, ...]
"""What happens; numbers are taken modulo what there is."""

KINDS = ("send", "change", "arrive", "visit", "report", "hear", "exchange", "release", "settle")
WEIGHTS = (6, 2, 8, 2, 2, 2, 1, 1, 0.3)
STEPS_MAX = 80


def random_steps(seed: int) -> list[Step]:
    """Drawn at once: a strategy that draws step by step makes short and dull stories."""
    random = Random(seed)
    weights = [weight * (random.random() + 0.05) for weight in WEIGHTS]
    kinds = random.choices(KINDS, weights, k=random.randrange(STEPS_MAX))
    return [(kind, *_details(kind, random)) for kind in kinds]


def _details(kind: str, random: Random) -> Step:
    which, other = random.randrange(30), random.randrange(30)
    gap = random.choice((0, 0, 1, 2))
    match kind:
        case "send":
            service = random.choice([*EARLY, *ORDERED])
            return which, random.randint(1, 2), service, gap, random.randrange(16)
        case "change":
            return which, random.randint(1, 2), gap
        case "arrive" | "hear":
            return which, other
        case "visit" | "report":
            return (which,)
    return ()


STEPS = st.integers(0, 2**32 - 1).map(random_steps)


def play(site: Site, step: Step) -> None:
    daemons = len(site.daemons)
    match step:
        case ("send", number, session, service, gap, to):
            site.send(number % daemons, session, service, gap, to)
        case ("change", number, session, gap):
            site.change(number % daemons, session, gap)
        case ("arrive", number, which):
            absent = sorted(set(site.bundles) - site.daemons[number % daemons].has)
            if absent:
                site.arrive(number % daemons, absent[which % len(absent)])
        case ("visit", number):
            site.visit(number % daemons)
        case ("report", segment):
            site.report(segment % len(site.segments))
        case ("hear", number, which):
            site.hear(number % daemons, which)
        case ("exchange",):
            site.exchange()
        case ("settle",):
            site.settle()
        case ("release",):
            for daemon in site.daemons:
                daemon.take()
                daemon.delivery.release()
