"""Waiting for clients that are behind, on one ring (docs/protocols/flow.md)."""

from antiphon.core.machine import Instant
from antiphon.protocol.stream.settings import StreamSettings


class Patient:
    """How long this member sends nothing new, and how it keeps the others from it: it counts
    packets on the token that nobody sent, as many as leave no room for anybody's."""

    __slots__ = ("_flow", "until")

    def __init__(self, settings: StreamSettings) -> None:
        # A member may always send as many as it did a rotation ago, if the rest is as it was.
        self._flow = settings.ring_packets_max + settings.member_packets_max
        self.until: Instant = 0

    def flow(self, now: Instant, others: int) -> int:
        """Packets to be counted beside these of the others."""
        return max(0, self._flow - others) if now < self.until else 0
