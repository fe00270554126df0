"""Which links a packet takes from one site to another, and what they amount to together.

A link between two sites is their path, also where a detour would be shorter: it is what the
Internet does between them. Two sites without one are joined along the links there are, by the
least delay.
"""

from dataclasses import dataclass
from heapq import heappop, heappush

from antiphon.tools.wan.topology import DOWN, UP, Link, LinkSettings, Topology

PING_BYTES = 1024 + 28
"""Of the pings that are told: 1024 bytes as in seed 001 (SP-211), and the headers."""

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Path:
    links: tuple[Link, ...]

    @property
    def delay_ms(self) -> float:
        return sum(link.settings.delay_ms for link in self.links)

    @property
    def jitter_ms(self) -> float:
        return sum(link.settings.jitter_ms for link in self.links)

    @property
    def loss(self) -> float:
        arrives = 1.0
        for link in self.links:
            arrives *= 1.0 - link.settings.loss
        return 1.0 - arrives

    @property
    def mbit(self) -> float:
        """Of the narrowest link; 0 for no limit."""
        return min((link.settings.mbit for link in self.links if link.settings.mbit), default=0.0)

    @property
    def via(self) -> list[str]:
        """The places between its ends."""
        return [link.end for link in self.links if link.end not in (UP, DOWN)][:-1]

    def time_ms(self, size: int) -> float:
        """How long a packet of so many bytes takes when nobody else sends, jitter at its mean."""
        return sum(map(lambda link: _time_ms(link.settings, size), self.links))


def paths(topology: Topology) -> dict[Pair, Path]:
    """From every site to every other one."""
    links = {(link.start, link.end): link for link in topology.links}
    found = {}
    for start in (site.name for site in topology.sites):
        ways = _ways(topology, start)
        for end in (site.name for site in topology.sites if site.name != start):
            direct = links.get((start, end))
            between = (direct,) if direct else ways.get(end)
            if between is not None:
                access = links.get((start, UP)), *between, links.get((end, DOWN))
                found[start, end] = Path(tuple(link for link in access if link))
    return found


def unconnected(topology: Topology) -> list[Pair]:
    found = paths(topology)
    names = [site.name for site in topology.sites]
    return [
        (start, end)
        for start in names
        for end in names
        if start != end and (start, end) not in found
    ]


def ping_ms(topology: Topology, start: str, end: str) -> float:
    """There and back."""
    found = paths(topology)
    return found[start, end].time_ms(PING_BYTES) + found[end, start].time_ms(PING_BYTES)


def _ways(topology: Topology, start: str) -> dict[str, tuple[Link, ...]]:
    """To every place that can be reached: least delay, then fewest links, then by name."""
    leaving: dict[str, list[Link]] = {}
    for link in topology.links:
        if link.end not in (UP, DOWN):
            leaving.setdefault(link.start, []).append(link)
    found: dict[str, tuple[Link, ...]] = {}
    waiting: list[tuple[float, int, tuple[str, ...], tuple[Link, ...]]] = [(0.0, 0, (start,), ())]
    while waiting:
        delay, count, names, way = heappop(waiting)
        if names[-1] in found:
            continue
        found[names[-1]] = way
        for link in leaving.get(names[-1], ()):
            longer = (delay + link.settings.delay_ms, count + 1, (*names, link.end))
            heappush(waiting, (*longer, (*way, link)))
    return found


def _time_ms(settings: LinkSettings, size: int) -> float:
    sending = size * 0.008 / settings.mbit if settings.mbit else 0.0
    return settings.delay_ms + settings.jitter_ms / 2 + sending
