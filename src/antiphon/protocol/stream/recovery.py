"""What becomes of the bundles of a configuration that ends (docs/protocols/recovery.md).

All who come along from the old configuration (T) read the same holdings, so each rule
below gives the same answer at all of them; that is virtual synchrony (D4).
"""

from collections.abc import Iterator
from hashlib import blake2b
from struct import Struct

from antiphon.core.bundle import Bundle
from antiphon.core.effects import Holdings, Recover, StreamHoldings
from antiphon.core.ids import Configuration, DaemonId, Member
from antiphon.core.positions import position
from antiphon.core.ranges import RangeSet
from antiphon.core.service import Service
from antiphon.protocol.stream.delivery import Delivery
from antiphon.protocol.stream.source import Source

UNLIMITED = 1 << 62
MEMBER = Struct(">QQ")


class Plan:
    """Made from the holdings of T and the old configuration alone."""

    def __init__(self, recover: Recover, old: Configuration) -> None:
        self.together: tuple[Member, ...] = tuple(member for member, _ in recover.holdings)
        packed = b"".join(MEMBER.pack(*member) for member in self.together)
        self.lineage = int.from_bytes(blake2b(packed, digest_size=8).digest(), "big")
        """Names T: behind a hole others may order group changes on another ground."""

        streams = range(len(old.segments))
        self.any_holds = [RangeSet() for _ in streams]
        """Bundles that somebody of T holds, per stream."""

        self.early = [RangeSet() for _ in streams]
        """Bundles that somebody of T delivered ahead of the order, or pledged to."""

        self._holders: list[list[tuple[DaemonId, RangeSet]]] = [[] for _ in streams]
        for member, holdings in recover.holdings:
            for index, stream in enumerate(holdings.streams):
                held = RangeSet((first, last) for first, last, _ in stream.held)
                self._holders[index].append((member.daemon, held))
                self.any_holds[index].update(held)
                self.early[index].update(RangeSet(stream.early))
        self.complete_to = self.stable_to = UNLIMITED
        """Stamps: up to which nobody of T misses anything, or everybody ever held it."""

        self.delivered_to = max(holdings.cursor for _, holdings in recover.holdings)
        """Position: somebody of T has delivered up to here, or pledged to."""

        self._highest = max((max(_stamps(holdings)) for _, holdings in recover.holdings))
        torn = [index for index in streams if not set(old.segments[index]) <= set(self.together)]
        if torn:
            self.complete_to = min(
                self._complete(index, segment, recover.holdings)
                for index in torn
                for segment in old.segments
            )
            self.stable_to = max(holdings.stable for _, holdings in recover.holdings)

    def _complete(
        self,
        index: int,
        segment: tuple[Member, ...],
        holdings: tuple[tuple[Member, Holdings], ...],
    ) -> int:
        """Up to which stamp those of T who are in this segment will have a stream without a
        hole: what one of them knew, and on from there what anybody holds."""
        streams = [told.streams[index] for _, told in holdings]
        mine = [told.streams[index] for member, told in holdings if member in segment]
        if not mine:
            return UNLIMITED
        known, stamp = max((stream.known, stream.stamp) for stream in mine)
        while known + 1 in self.any_holds[index]:
            known, ends = _run_end(known + 1, streams)
            stamp = max(stamp, ends)
        return stamp

    def missing(self, delivery: Delivery) -> dict[int, RangeSet]:
        """What I have to get before I can be ready, per stream."""
        missing: dict[int, RangeSet] = {}
        for source, held in zip(delivery.sources, self.any_holds, strict=True):
            for sequence in held:
                if sequence > source.known and sequence not in source.held:
                    missing.setdefault(source.index, RangeSet()).add(sequence)
        return missing

    def holder(self, index: int, sequence: int, spread: int) -> DaemonId:
        """Whom to ask; members that miss the same ask different holders."""
        holders = [daemon for daemon, held in self._holders[index] if sequence in held]
        return holders[(spread + sequence // 64) % len(holders)]

    def survives(self, bundle: Bundle) -> bool:
        """Is it delivered, or was it sent by a departed member behind a possible hole, and
        seen by nobody?"""
        return (
            bundle.stamp <= self.complete_to
            or bundle.sender in self.together
            or bundle.sequence in self.early[bundle.segment]
            or bundle.position <= self.delivered_to
        )

    def regular(self, bundle: Bundle) -> bool:
        """May it be delivered while the old configuration is still told as a whole?"""
        if bundle.stamp > self.complete_to:
            return False
        return bundle.service != Service.SAFE or bundle.stamp <= self.stable_to

    def lineage_of(self, bundle: Bundle) -> int:
        """Which ground a group change is made on; 0: on all changes before it."""
        return 0 if bundle.position <= self.ground else self.lineage

    @property
    def ground(self) -> int:
        """Position up to which T holds every group change that there is."""
        complete_to = min(self.complete_to, self._highest)
        return max(self.delivered_to, position(complete_to + 1, 0) - 1)


def _stamps(holdings: Holdings) -> Iterator[int]:
    """All that a member has heard of."""
    yield 0
    for stream in holdings.streams:
        yield stream.stamp
        yield from (stamp for _, _, stamp in stream.held)


def _run_end(sequence: int, streams: list[StreamHoldings]) -> tuple[int, int]:
    """The longest run that holds this sequence: its end, and the stamp there."""
    return max(
        (last, stamp)
        for stream in streams
        for first, last, stamp in stream.held
        if first <= sequence <= last
    )


def stream_holdings(source: Source) -> StreamHoldings:
    """What this daemon tells of one stream."""
    runs = RangeSet((sequence, sequence) for sequence in sorted(source.held)).runs()
    held = tuple((first, last, source.held[last].stamp) for first, last in runs)
    early = source.ahead.copy()
    early.update(source.pledged)
    return StreamHoldings(held, source.known, source.stamp, tuple(early.runs()))
