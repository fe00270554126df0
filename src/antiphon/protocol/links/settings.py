"""What one edge between two sites may be told to do differently. Both ends have the same."""

from dataclasses import dataclass, field
from enum import StrEnum

from antiphon.core.errors import ConfigError
from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.core.weights import WEIGHT_MAX
from antiphon.protocol.links.tcp_settings import TcpSettings
from antiphon.wire.link import (
    ACK_HEAD,
    ACK_RUN,
    ACK_RUNS_MAX,
    LINK_OVERHEAD,
    NACK_HEAD,
    NACK_RUN,
    NACK_RUNS_MAX,
    OBJECT_BYTES_MAX,
    OBJECT_OVERHEAD,
    WINDOW_MAX,
)
from antiphon.wire.packet import PACKET_BYTES_MAX

PACKET_BYTES_MIN = 256
"""Room for an ack or a nack with some runs."""


@dataclass(frozen=True, slots=True)
class HopSettings:
    packet_bytes: int = 1400
    """Of a link packet, header included: fits an Ethernet frame with room for encryption."""

    rate_bytes: int = 0
    """Per second, everything counted; 0: found out by the link itself (SP-165)."""

    rate_bytes_min: int = 8_000
    rate_bytes_max: int = 125_000_000
    """Between these an automatic rate moves."""

    burst_bytes: int = 16_384
    """May leave at once after silence (SP-165). An automatic rate has its own: what it gives
    in two send_us."""

    window_objects: int = 4096
    """So many may be on their way from the lowest that is not acknowledged on (SP-166)."""

    send_us: int = 1 * MILLISECOND
    """What may leave is looked for at most this often (SP-169)."""

    ack_packets: int = 16
    """So many packets sent or received make an ack due (SP-142)."""

    ack_short_us: int = 5 * MILLISECOND
    """An ack follows the first packet after silence by this at most (SP-169)."""

    ack_long_us: int = 25 * MILLISECOND
    """And any other packet by this (SP-169)."""

    nack_us: int = 1 * MILLISECOND
    """A gap is asked for after this at the earliest (SP-148, SP-169)."""

    nack_us_max: int = 100 * MILLISECOND
    """However late packets were found to come, no gap waits longer. Equal to nack_us: the
    paper's fixed delay."""

    requests_max: int = 25
    """An object asked for more often than this is never going to come (SP-152, SP-153)."""

    dead_us: int = 2 * SECOND
    """But no link is dead sooner than after this: short ways ask often."""

    round_trip_us: int = 100 * MILLISECOND
    """Believed until it is measured."""

    def __post_init__(self) -> None:
        if not PACKET_BYTES_MIN <= self.packet_bytes <= PACKET_BYTES_MAX:
            fault = f"{self.packet_bytes} is out of range"
            raise ConfigError("packet_bytes", fault, f"use {PACKET_BYTES_MIN} to 65507")
        if not 0 < self.rate_bytes_min <= self.rate_bytes_max or self.rate_bytes < 0:
            raise ConfigError("rate_bytes", "no rate lies between its limits", "correct them")
        if self.burst_bytes < self.packet_bytes:
            raise ConfigError("burst_bytes", "is less than a packet", "raise it")
        if self.rate_bytes * self.send_us > self.burst_bytes * SECOND:
            raise ConfigError(
                "burst_bytes", "is less than the rate gives in send_us", "raise it or lower send_us"
            )
        if not 1 <= self.window_objects <= WINDOW_MAX:
            raise ConfigError("window_objects", "is out of range", f"use 1 to {WINDOW_MAX}")
        if not 1 <= self.ack_packets <= max(1, self.window_objects // 2):
            raise ConfigError("ack_packets", "the window may close before it", "lower it")
        if not 0 < self.ack_short_us <= self.ack_long_us:
            raise ConfigError("ack_short_us", "is not within ack_long_us", "lower it")
        if not 0 <= self.nack_us <= self.nack_us_max:
            raise ConfigError("nack_us", "is above nack_us_max", "lower it")
        if min(self.send_us, self.requests_max, self.dead_us, self.round_trip_us) < 1:
            raise ConfigError("send_us", "a time or a limit is not positive", "raise it")

    @property
    def object_bytes_max(self) -> int:
        """The largest object: it has a packet for itself."""
        return min(self.packet_bytes - LINK_OVERHEAD - OBJECT_OVERHEAD, OBJECT_BYTES_MAX)

    @property
    def ack_runs_max(self) -> int:
        """An ack never takes more than half of a packet from the objects beside it."""
        return min(ACK_RUNS_MAX, (self.packet_bytes // 2 - ACK_HEAD.size) // ACK_RUN.size)

    @property
    def nack_runs_max(self) -> int:
        taken = LINK_OVERHEAD + ACK_HEAD.size + NACK_HEAD.size
        return min(NACK_RUNS_MAX, (self.packet_bytes - taken) // NACK_RUN.size)


class LinkKind(StrEnum):
    HOP = "hop"
    TCP = "tcp"


@dataclass(frozen=True, slots=True)
class EdgeSettings:
    """Of two sites, by their places in the list of sites."""

    one: int
    two: int
    link: LinkKind = LinkKind.HOP
    hop: HopSettings = field(default_factory=HopSettings)
    tcp: TcpSettings = field(default_factory=TcpSettings)
    weight: int | None = None
    """From one to two; None: not set by hand (SP-112)."""

    weight_back: int | None = None
    """From two to one."""

    def __post_init__(self) -> None:
        if self.one == self.two or min(self.one, self.two) < 0:
            raise ConfigError("edges", f"{self.one} and {self.two} are not two sites", "change it")
        for weight in (self.weight, self.weight_back):
            if weight is not None and not 1 <= weight <= WEIGHT_MAX:
                raise ConfigError("weight", f"{weight} is out of range", f"use 1 to {WEIGHT_MAX}")
