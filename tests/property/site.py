"""Daemons of one configuration without packets and tokens: who stamped what, and who has it.

A bundle is stamped in the way of the ring (the pasts of its daemon and its session), reaches
each daemon at any time and in any order, and becomes stable when the teller says so. `past`
keeps, by brute force, the whole cause of every bundle.
"""

from typing import Any

from hypothesis import strategies as st

from antiphon.core.bundle import Bundle
from antiphon.core.ids import DaemonId, Incarnation, Member
from antiphon.core.service import EARLY, ORDERED, Service
from antiphon.protocol.stream.delivery import Delivery


class Daemon:
    def __init__(self, number: int) -> None:
        self.member = Member(DaemonId(number), Incarnation(1))
        self.delivery = Delivery()
        self.delivered: list[Bundle] = []
        self.has: set[int] = set()

    def take(self) -> list[Bundle]:
        taken = self.delivery.take()
        self.delivered += taken
        return taken

    @property
    def seen(self) -> set[int]:
        return {bundle.sequence for bundle in self.delivered}


class Site:
    def __init__(self, daemons: int) -> None:
        self.daemons = [Daemon(number) for number in range(1, daemons + 1)]
        self.bundles: list[Bundle] = []
        self.past: dict[int, set[int]] = {}
        self.last_change = 0
        self._stamp = 0
        self._last_of: dict[tuple[int, int], int] = {}
        self._past_of: dict[tuple[int, int], tuple[int, int]] = {}

    def send(self, daemon: int, session: int, service: Service, control: bool, gap: int) -> None:
        """Stamp a bundle, as the ring does: a message only behind all group changes (D2)."""
        sender = self.daemons[daemon]
        delivery = sender.delivery
        sender.take()
        if not control and delivery.cursor < self.last_change:
            return
        sequence = len(self.bundles) + 1
        self._stamp += 1 + gap
        key = (daemon, session)
        early, ordered = self._past_of.get(key, (0, 0))
        previous = self._last_of.get(key, 0)
        bundle = Bundle(
            sender.member,
            session,
            sequence,
            1,
            service,
            b"",
            control,
            False,
            sequence,
            self._stamp,
            previous,
            max(delivery.early_past, early),
            max(delivery.order_past, ordered),
            self.last_change,
        )
        causes = {*sender.seen, *self.sent_by(daemon, session)}
        self.past[sequence] = causes.union(*(self.past[one] for one in causes))
        self._last_of[key] = sequence
        self._past_of[key] = (early, sequence) if service in ORDERED else (sequence, ordered)
        if control:
            self.last_change = sequence
        self.bundles.append(bundle)
        self.arrive(daemon, sequence)

    def sent_by(self, daemon: int, session: int) -> list[int]:
        member = self.daemons[daemon].member
        return [
            one.sequence for one in self.bundles if one.sender == member and one.session == session
        ]

    def arrive(self, daemon: int, sequence: int) -> None:
        receiver = self.daemons[daemon]
        if sequence not in receiver.has:
            receiver.has.add(sequence)
            assert receiver.delivery.add(self.bundles[sequence - 1])

    def stabilize(self, daemon: int) -> None:
        """This daemon learns what everybody holds by now."""
        complete = min(one.delivery.complete for one in self.daemons)
        stamp = self.bundles[complete - 1].stamp if complete else 0
        self.daemons[daemon].delivery.make_stable(stamp)


def must_precede(site: Site, bundle: Bundle) -> set[int]:
    needed: set[int] = set()
    if bundle.after_change:
        needed |= {*range(1, bundle.after_change + 1)}
    if bundle.service >= Service.FIFO:
        session = site.sent_by(bundle.sender.daemon - 1, bundle.session)
        needed |= {one for one in session if one < bundle.sequence}
    if bundle.service >= Service.CAUSAL:
        causes = [site.bundles[one - 1] for one in site.past[bundle.sequence]]
        needed |= {one.sequence for one in causes if one.service >= Service.CAUSAL}
    if bundle.service in ORDERED:
        needed |= {*range(1, bundle.sequence)}
    return needed


DAEMONS = 3
Step = tuple[Any, ...]
SENT = st.tuples(
    st.just("send"),
    st.integers(0, DAEMONS - 1),
    st.integers(1, 2),
    st.sampled_from([*EARLY, *ORDERED, None]),
    st.integers(0, 2),
)
ARRIVED = st.tuples(st.just("arrive"), st.integers(0, DAEMONS - 1), st.integers(0, 30))
STABLE = st.tuples(st.just("stabilize"), st.integers(0, DAEMONS - 1))
STEPS = st.lists(st.one_of(SENT, SENT, ARRIVED, ARRIVED, ARRIVED, STABLE), max_size=60)


def play(site: Site, step: Step) -> None:
    match step:
        case ("send", daemon, session, None, gap):
            site.send(daemon, session, Service.AGREED, True, gap)
        case ("send", daemon, session, service, gap):
            site.send(daemon, session, service, False, gap)
        case ("arrive", daemon, which):
            absent = [one for one in range(1, len(site.bundles) + 1)]
            absent = [one for one in absent if one not in site.daemons[daemon].has]
            if absent:
                site.arrive(daemon, absent[which % len(absent)])
        case ("stabilize", daemon):
            site.stabilize(daemon)
