"""One link between two hosts, and what can befall its packets."""

from dataclasses import dataclass

from antiphon.sim.damage import SMALLEST_BYTES
from antiphon.sim.gates import Ways
from antiphon.sim.host import Host
from antiphon.wire.packet import CONFIG_BYTES, HEADER_BYTES

LOOPBACK_US = 20
ANY_TIMES = -1


class Filter:
    """Drops chosen packets: the next `times` of a tag, or some contents for ever."""

    __slots__ = ("tag", "times", "until", "for_ever", "victims")

    def __init__(self, tag: int, times: int, until: int, for_ever: bool = False) -> None:
        self.tag = tag
        self.times = times
        self.until = until
        self.for_ever = for_ever
        self.victims: set[bytes] = set()

    def drops(self, now: int, packet: bytes) -> bool:
        if packet[1] != self.tag or now >= self.until:
            return False
        if self.for_ever:
            return self._is_victim(packet)
        if self.times == 0:
            return False
        if self.times > 0:
            self.times -= 1
        return True

    def spent(self, now: int) -> bool:
        return not self.for_ever and (self.times == 0 or now >= self.until)

    def _is_victim(self, packet: bytes) -> bool:
        """Every copy of a ring packet has its configuration and its link sequence, whoever
        repeats it and in whichever visit of the token."""
        link_sequence = packet[SMALLEST_BYTES - 8 : SMALLEST_BYTES]
        content = packet[HEADER_BYTES : HEADER_BYTES + CONFIG_BYTES] + link_sequence
        if content in self.victims:
            return True
        if self.times == 0 or not any(link_sequence):
            return False
        self.times -= 1
        self.victims.add(content)
        return True


@dataclass(frozen=True, slots=True, eq=False)
class Storm:
    """One property of some links is worse for a while."""

    what: str
    amount: float
    ways: Ways


class Link:
    """From one host to another; first in, first out unless it reorders. Fields that
    `Network.transmit` reads are kept ready."""

    __slots__ = (
        "source",
        "target",
        "latency",
        "jitter",
        "loss",
        "duplicate",
        "reorder",
        "corrupt",
        "byte_us",
        "line_free",
        "last_arrival",
        "down",
        "far",
        "plain",
        "filters",
    )

    def __init__(self, source: Host, target: Host) -> None:
        self.source = source
        self.target = target
        self.latency = LOOPBACK_US
        self.jitter = 0
        self.loss = self.duplicate = self.reorder = self.corrupt = 0.0
        self.byte_us = 0.0
        self.line_free = 0
        self.last_arrival = 0
        self.filters: list[Filter] = []
        self.down = self.far = False
        self.plain = True

    def refresh(self) -> None:
        """Derive what the fast path reads."""
        noise = self.loss or self.duplicate or self.reorder or self.corrupt or self.byte_us
        self.plain = not noise and not self.filters
