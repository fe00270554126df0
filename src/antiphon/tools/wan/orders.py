"""What the owner of an emulation says to its relay, a line of JSON each, and what is answered."""

import msgspec

from antiphon.tools.wan.topology import LinkSettings, Topology


class Begin(msgspec.Struct, frozen=True, tag=True):
    """The first order. It is answered by Done as soon as every host has its device."""

    topology: Topology
    namespaces: list[str]
    """Of the hosts, in their order."""

    seed: int


class Change(msgspec.Struct, frozen=True, tag=True):
    """A link's properties, from now on."""

    start: str
    end: str
    settings: LinkSettings


class Count(msgspec.Struct, frozen=True, tag=True):
    """What was counted so far."""


class Done(msgspec.Struct, frozen=True, tag=True):
    pass


class LinkCounts(msgspec.Struct, frozen=True):
    packets: int
    """Sent, those that were lost on the way among them."""

    bytes: int
    lost: int
    """By the link's loss."""

    dropped: int
    """Since the queue was full; they were not sent."""

    reordered: int


class Counts(msgspec.Struct, frozen=True, tag=True):
    """Of all links, and whether the relay kept up: if not, what was measured is worth little."""

    links: list[tuple[str, str, LinkCounts]]
    arrived: int
    """Packets that were handed to a host."""

    strays: int
    """Packets to no host, and those that a host did not take."""

    overruns: int
    """Packets that hosts lost because the relay did not read them in time."""

    late_us: float
    """How much later than due packets were handed over, on average."""

    late_us_max: float


Order = Begin | Change | Count
Answer = Done | Counts
