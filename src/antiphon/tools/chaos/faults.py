"""Which faults befall a run, and when: drawn from a seed before it begins.

A fault begins, lasts and ends. Faults of the network are rules for what arrives at a daemon;
those that last at the same time add up. A daemon and its clients suffer one fault of their own
at a time.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from antiphon.tools.chaos.namespaces import address_of

Link = tuple[int, int]
"""(from, to): daemons, numbered from 1. What goes this way is concerned, and nothing else."""


class FaultKind(StrEnum):
    CRASH = "crash"  # kill -9 of a daemon; started again at the end
    STOP = "stop"  # SIGTERM, the clean end of a daemon; started again at the end
    PAUSE = "pause"  # SIGSTOP, and SIGCONT at the end
    CLIENT = "client"  # kill -9 of a client; another one is started at the end
    HANG = "hang"  # SIGSTOP of a client: it does not read; SIGCONT at the end
    SPLIT = "split"  # two sides, nothing goes across
    ONE_WAY = "one-way"  # one daemon does not hear another
    TRIANGLE = "triangle"  # two do not hear each other, and all others hear both
    LOSS = "loss"  # packets are lost at random, everywhere
    STRANGER = "stranger"  # garbage at a daemon's ports
    # Only if there are several sites.
    LEAD = "lead"  # kill -9 of the daemon that represents a site
    SITE_DOWN = "site-down"  # kill -9 of all daemons of a site
    SITE_CUT = "site-cut"  # nothing goes in or out of a site
    SITE_SLOW = "site-slow"  # little goes in or out of a site in a second


SITE_KINDS = (FaultKind.LEAD, FaultKind.SITE_DOWN, FaultKind.SITE_CUT, FaultKind.SITE_SLOW)
KINDS = tuple(kind for kind in FaultKind if kind not in SITE_KINDS)
AT_CLIENTS = (FaultKind.CLIENT, FaultKind.HANG)

AT_ONCE_MAX = 3
GAP_SECONDS = (0.2, 3.0)
"""From the beginning of a fault to that of the next."""

LASTING_SECONDS = {
    FaultKind.CRASH: (0.1, 3.0),
    FaultKind.STOP: (0.5, 3.0),
    FaultKind.PAUSE: (0.1, 5.0),
    FaultKind.CLIENT: (0.1, 2.0),
    FaultKind.HANG: (2.0, 8.0),
    FaultKind.STRANGER: (0.1, 0.1),
    FaultKind.LEAD: (0.5, 3.0),
    FaultKind.SITE_DOWN: (0.5, 4.0),
    FaultKind.SITE_SLOW: (2.0, 8.0),
}
NETWORK_SECONDS = (0.5, 6.0)
LOSS_PERCENT = (1, 20)
SLOW_KBYTES = (10, 80)
"""In a second, from each daemon to each."""

Places = tuple[tuple[int, ...], ...]
"""Daemons by site; the one that represents it when all are up is the first."""


@dataclass(frozen=True, slots=True)
class Fault:
    kind: FaultKind
    begin: float
    """Seconds from the first moment at which faults are allowed."""

    end: float
    daemon: int = 0
    """Whose process it befalls; 0: nobody's."""

    client: int = 0
    """Which of the daemon's clients, from 0."""

    links: tuple[Link, ...] = ()
    percent: int = 100
    """So much of what goes along the links is lost."""

    kbytes: int = 0
    """If not 0: so much gets through in a second, and only the rest is lost."""

    others: tuple[int, ...] = ()
    """Daemons that suffer the same."""

    @property
    def daemons(self) -> tuple[int, ...]:
        return (self.daemon, *self.others) if self.daemon else ()

    def __str__(self) -> str:
        lasts = f"for {self.end - self.begin:.1f} s"
        match self.kind:
            case FaultKind.CLIENT | FaultKind.HANG:
                return f"{self.kind} {self.daemon}.{self.client} {lasts}"
            case FaultKind.LOSS:
                return f"loss {self.percent} % {lasts}"
            case FaultKind.SITE_SLOW:
                inside = " ".join(map(str, sorted({source for source, _ in self.links})))
                return f"{self.kind} {self.kbytes} kbytes/s among {inside} {lasts}"
        if self.daemons:
            return f"{self.kind} {' '.join(map(str, self.daemons))} {lasts}"
        ways = " ".join(f"{source}>{target}" for source, target in self.links)
        return f"{self.kind} {ways} {lasts}"


def draw_faults(
    rng: Random, seconds: float, daemons: int, clients: int, places: Places = ()
) -> list[Fault]:
    """Faults that begin and end within so many seconds. Each kind comes once before any comes
    again, so that short runs have many kinds."""
    kinds = KINDS + SITE_KINDS if len(places) > 1 else KINDS
    faults: list[Fault] = []
    bag: list[FaultKind] = []
    now = 0.0
    while True:
        now += rng.uniform(*GAP_SECONDS)
        lasting = [fault for fault in faults if fault.end > now]
        if len(lasting) >= AT_ONCE_MAX:
            now = min(fault.end for fault in lasting)
            continue
        if not bag:
            bag = rng.sample(kinds, len(kinds))
        kind = bag.pop()
        if kind in SITE_KINDS:
            fault = _draw_at_site(rng, kind, now, places, lasting)
        else:
            fault = _draw(rng, kind, now, daemons, clients, lasting)
        if now >= seconds:
            return faults
        if fault is not None and fault.end <= seconds:
            faults.append(fault)


def _draw(
    rng: Random, kind: FaultKind, now: float, daemons: int, clients: int, lasting: list[Fault]
) -> Fault | None:
    """None if nobody is free to suffer it."""
    end = now + rng.uniform(*LASTING_SECONDS.get(kind, NETWORK_SECONDS))
    everybody = range(1, daemons + 1)
    if kind is FaultKind.LOSS:
        links = tuple((one, other) for one in everybody for other in everybody if one != other)
        return Fault(kind, now, end, links=links, percent=rng.randint(*LOSS_PERCENT))
    if kind is FaultKind.SPLIT:
        side = set(rng.sample(everybody, rng.randint(1, daemons - 1)))
        across = [(one, other) for one in everybody for other in everybody]
        links = tuple(link for link in across if (link[0] in side) != (link[1] in side))
        return Fault(kind, now, end, links=links)
    if kind in (FaultKind.ONE_WAY, FaultKind.TRIANGLE):
        one, other = rng.sample(everybody, 2)
        both = kind is FaultKind.TRIANGLE
        return Fault(
            kind, now, end, links=((one, other), (other, one)) if both else ((one, other),)
        )
    suffering = {daemon for fault in lasting for daemon in fault.daemons}
    free = [daemon for daemon in everybody if daemon not in suffering]
    if not free:
        return None
    daemon = rng.choice(free)
    client = rng.randrange(clients) if kind in AT_CLIENTS else 0
    return Fault(kind, now, end, daemon, client)


def _draw_at_site(
    rng: Random, kind: FaultKind, now: float, places: Places, lasting: list[Fault]
) -> Fault | None:
    end = now + rng.uniform(*LASTING_SECONDS.get(kind, NETWORK_SECONDS))
    site = rng.choice(places)
    if kind in (FaultKind.SITE_CUT, FaultKind.SITE_SLOW):
        outside = [daemon for place in places if place != site for daemon in place]
        links = tuple(link for one in site for two in outside for link in ((one, two), (two, one)))
        kbytes = rng.randint(*SLOW_KBYTES) if kind is FaultKind.SITE_SLOW else 0
        return Fault(kind, now, end, links=links, kbytes=kbytes)
    victims = site if kind is FaultKind.SITE_DOWN else site[:1]
    if any(daemon in fault.daemons for fault in lasting for daemon in victims):
        return None
    return Fault(kind, now, end, victims[0], others=victims[1:])


def rules_at(target: int, lasting: Iterable[Fault]) -> list[str]:
    """The packet filter of one daemon while these faults last."""
    rules = []
    for fault in lasting:
        for source, where in fault.links:
            if where != target:
                continue
            some = "" if fault.percent == 100 else f"numgen random mod 100 < {fault.percent} "
            if fault.kbytes:
                some = f"limit rate over {fault.kbytes} kbytes/second "
            rules.append(f"ip saddr {address_of(source)} {some}drop")
    return sorted(set(rules))
