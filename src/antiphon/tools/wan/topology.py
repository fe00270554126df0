"""What a wide area consists of: sites with hosts, routers, and links with their properties.

    host -+                                              +- host
          +- LAN - site - up -> link -> ... -> down - site - LAN -+
    host -+                                              +- host

Hosts of one site share a LAN. Between two sites a packet takes the first one's access link `up`,
the links of the path, and the other one's access link `down`. All properties belong to one
direction of a link.
"""

from dataclasses import dataclass

UP, DOWN = "up", "down"
"""An access link's other end, where a link between two places has a name."""

TCP = "cubic"
"""Said, for what machines have by default differs, and so would what is measured."""

SITES_MAX = HOSTS_MAX = 250
"""Sites, and hosts of one site: each is one byte of an address."""


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """One direction of a link. The default is a wire: no delay, no limit, no loss."""

    delay_ms: float = 0.0

    jitter_ms: float = 0.0
    """At most so much more delay, drawn evenly for each packet."""

    overtake: bool = False
    """Whether packets may overtake each other by their jitter."""

    loss: float = 0.0
    """The probability that a packet is lost. It has used the bandwidth all the same."""

    reorder: float = 0.0
    """The probability that a packet is held back, so that later ones overtake it."""

    reorder_ms: float = 5.0
    """How long such a packet is held back."""

    mbit: float = 0.0
    """Bandwidth in millions of bits per second, counted in IP packets; 0 for no limit."""

    queue_kb: float = 64.0
    """What may wait for the bandwidth, in units of 1000 bytes; the rest is dropped."""


@dataclass(frozen=True, slots=True)
class Link:
    """One direction, from one place to another or between a site and its own LAN."""

    start: str
    end: str
    settings: LinkSettings

    @property
    def name(self) -> str:
        return link_name(self.start, self.end)


@dataclass(frozen=True, slots=True)
class Site:
    name: str
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Topology:
    name: str
    sites: tuple[Site, ...]
    links: tuple[Link, ...]
    """Both directions of each, and the access links."""

    tcp: str = TCP
    """The congestion control of the hosts' TCP between sites."""


@dataclass(frozen=True, slots=True)
class Host:
    name: str
    site: str
    address: str
    """Known inside the namespaces only."""


def link_name(start: str, end: str) -> str:
    """As people read it."""
    return f"{start} {end}" if end in (UP, DOWN) else f"{start} > {end}"


def hosts_of(topology: Topology) -> list[Host]:
    """All hosts in the order of the file: 10.204.<site>.<host>, both counted from 1."""
    return [
        Host(name, site.name, f"10.204.{site_number}.{host_number}")
        for site_number, site in enumerate(topology.sites, 1)
        for host_number, name in enumerate(site.hosts, 1)
    ]
