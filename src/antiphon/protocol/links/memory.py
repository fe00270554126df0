"""What outlives a link: how the way was, and how fast it may be used.

A link ends with its configuration; what it found out about the network does not.
"""

from antiphon.protocol.links.automatic import AutomaticRate
from antiphon.protocol.links.estimate import Path, Queue
from antiphon.protocol.links.rate import FixedRate
from antiphon.protocol.links.settings import HopSettings


class Memory:
    """Of one edge, for one link after the other."""

    def __init__(self, settings: HopSettings) -> None:
        self.path = Path(settings.round_trip_us, settings.nack_us, settings.nack_us_max)
        self.rate: FixedRate | AutomaticRate
        if settings.rate_bytes:
            self.rate = FixedRate(settings.rate_bytes, settings.burst_bytes)
        else:
            self.rate = AutomaticRate(settings)

    def begin(self) -> None:
        """A new link: totals start again, and the other end may have another clock."""
        self.path.queue = Queue()
        self.rate.begin()
