"""What becomes of the bundles of a configuration that ends (docs/protocols/recovery.md).

All who come along from the old configuration (T) read the same holdings, so each rule
below gives the same answer at all of them; that is virtual synchrony (D4).
"""

from functools import cached_property, lru_cache
from hashlib import blake2b
from itertools import chain, zip_longest
from struct import Struct

from antiphon.core.bundle import Bundle
from antiphon.core.effects import Holdings, Part, Recover, StreamHoldings
from antiphon.core.ids import Configuration, DaemonId, Member
from antiphon.core.positions import position
from antiphon.core.ranges import RangeSet
from antiphon.core.service import Service
from antiphon.protocol.stream.delivery import Delivery
from antiphon.protocol.stream.source import Source

UNLIMITED = 1 << 62
NOTHING = StreamHoldings((), 0, 0, ())
Holder = tuple[DaemonId, list[RangeSet]]
MEMBER = Struct(">QQ")


class Plan:
    """Made from the holdings of T and the old configuration alone."""

    def __init__(self, recover: Recover, old: Configuration) -> None:
        parts = recover.parts
        members = tuple(sorted(chain.from_iterable(part.members for part in parts)))
        self.together, self.lineage = _named(members)
        """T, and its name: behind a hole others may order group changes on another ground."""

        streams = range(len(old.segments))
        self.any_holds = [RangeSet() for _ in streams]
        """Bundles that somebody of T holds, per stream."""

        self.early = [RangeSet() for _ in streams]
        """Bundles that somebody of T delivered ahead of the order, or pledged to."""

        self._highest = 0
        """The highest stamp that anybody of T has heard of."""

        for part in parts:
            self._add(part.holdings.streams)
        self._least = [min(told) for told in zip(*(part.least for part in parts), strict=True)]
        """Up to here nobody of T lacks anything: it may be stable, and forgotten by some."""

        self._recover = recover
        self.complete_to = self.stable_to = UNLIMITED
        """Stamps: up to which nobody of T misses anything, or everybody ever held it."""

        self.delivered_to = max(part.holdings.cursor for part in parts)
        """Position: somebody of T has delivered up to here, or pledged to."""

        coming = frozenset(self.together)
        torn = [index for index in streams if not coming.issuperset(old.segments[index])]
        if torn:
            self.complete_to = min(self._complete(index, parts) for index in torn)
            self.stable_to = max(part.holdings.stable for part in parts)

    def _add(self, streams: tuple[StreamHoldings, ...]) -> None:
        """What a part of T holds."""
        highest = self._highest
        for index, (held, _, stamp, early) in enumerate(streams):
            highest = max(highest, stamp)
            for first, last, ends in held:
                self.any_holds[index].add_run(first, last)
                highest = max(highest, ends)
            for first, last in early:
                self.early[index].add_run(first, last)
        self._highest = highest

    def _complete(self, index: int, parts: tuple[Part, ...]) -> int:
        """Up to which stamp all of T will have a stream without a hole: in each segment what one
        of those who come from there knew, and on from there what anybody holds."""
        streams = [part.holdings.streams[index] for part in parts]
        best: dict[int, tuple[int, int]] = {}
        for part, stream in zip(parts, streams, strict=True):
            told = (stream.known, stream.stamp)
            best[part.segment] = max(told, best.get(part.segment, told))
        return min(self._run_on(index, known, stamp, streams) for known, stamp in best.values())

    def _run_on(self, index: int, known: int, stamp: int, streams: list[StreamHoldings]) -> int:
        while known + 1 in self.any_holds[index]:
            known, ends = _run_end(known + 1, streams)
            stamp = max(stamp, ends)
        return stamp

    @cached_property
    def _near(self) -> list[Holder]:
        return [_holder(daemon, (holdings,)) for daemon, holdings in self._recover.near]

    @cached_property
    def _far(self) -> list[Holder]:
        return [_holder(daemon, holdings) for daemon, holdings in self._recover.far]

    def missing(self, delivery: Delivery) -> dict[int, RangeSet]:
        """What I have to get before I can be ready, per stream. A deputy has to get what anybody
        may lack, also if it is not for itself: others may have nobody else to ask."""
        missing: dict[int, RangeSet] = {}
        for source, held in zip(delivery.sources, self.any_holds, strict=True):
            fetches = self._recover.deputy and self._recover.far
            floor = self._least[source.index] if fetches else source.known
            for sequence in held:
                if sequence > max(floor, source.released) and sequence not in source.held:
                    missing.setdefault(source.index, RangeSet()).add(sequence)
        return missing

    def holder(self, index: int, sequence: int, spread: int) -> DaemonId:
        """Whom to ask: of my party different holders by those who miss the same, else the
        nearest that can get it (SP-127)."""
        holders = [daemon for daemon, streams in self._near if sequence in streams[index]]
        if holders:
            return holders[(spread + sequence // 64) % len(holders)]
        return next(daemon for daemon, streams in self._far if sequence in streams[index])

    def is_far(self, daemon: DaemonId) -> bool:
        return all(daemon != near for near, _ in self._near)

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


def _holder(daemon: DaemonId, holdings: tuple[Holdings, ...]) -> Holder:
    """What it can give, per stream."""
    streams = zip_longest(*(one.streams for one in holdings), fillvalue=NOTHING)
    return daemon, [RangeSet(run[:2] for stream in told for run in stream.held) for told in streams]


@lru_cache(maxsize=8)
def _named(members: tuple[Member, ...]) -> tuple[tuple[Member, ...], int]:
    """Members and a number for them; the same for all nodes of a process."""
    packed = b"".join(MEMBER.pack(*member) for member in members)
    return members, int.from_bytes(blake2b(packed, digest_size=8).digest(), "big")


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
