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


KINDS = tuple(FaultKind)
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
}
NETWORK_SECONDS = (0.5, 6.0)
LOSS_PERCENT = (1, 20)


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

    def __str__(self) -> str:
        lasts = f"for {self.end - self.begin:.1f} s"
        match self.kind:
            case FaultKind.CLIENT | FaultKind.HANG:
                return f"{self.kind} {self.daemon}.{self.client} {lasts}"
            case FaultKind.CRASH | FaultKind.STOP | FaultKind.PAUSE | FaultKind.STRANGER:
                return f"{self.kind} {self.daemon} {lasts}"
            case FaultKind.LOSS:
                return f"loss {self.percent} % {lasts}"
        ways = " ".join(f"{source}>{target}" for source, target in self.links)
        return f"{self.kind} {ways} {lasts}"


def draw_faults(rng: Random, seconds: float, daemons: int, clients: int) -> list[Fault]:
    """Faults that begin and end within so many seconds. Each kind comes once before any comes
    again, so that short runs have many kinds."""
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
            bag = rng.sample(KINDS, len(KINDS))
        kind = bag.pop()
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
    suffering = {fault.daemon for fault in lasting}
    free = [daemon for daemon in everybody if daemon not in suffering]
    if not free:
        return None
    daemon = rng.choice(free)
    client = rng.randrange(clients) if kind in AT_CLIENTS else 0
    return Fault(kind, now, end, daemon, client)


def rules_at(target: int, lasting: Iterable[Fault]) -> list[str]:
    """The packet filter of one daemon while these faults last."""
    rules = []
    for fault in lasting:
        for source, where in fault.links:
            if where != target:
                continue
            some = "" if fault.percent == 100 else f"numgen random mod 100 < {fault.percent} "
            rules.append(f"ip saddr {address_of(source)} {some}drop")
    return sorted(set(rules))
