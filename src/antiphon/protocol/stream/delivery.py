"""When a bundle of the current configuration may be delivered: the six services.

Every segment of the configuration has a stream (source.py). The *line* is the stamp up to
which all of them are known here. `cursor` walks the positions up to it, over all services; the
early services may run ahead of it under their own rule:

    reliable   at once
    fifo       when everything earlier of its session is delivered; its direct predecessor
               is not enough, that may be a reliable bundle which itself ran ahead
    causal     as fifo, and when everything its sender had delivered is delivered here
    agreed     when the cursor comes
    safe       when the cursor comes and every member holds it; until then the cursor waits,
               so that agreed after safe is one order

Nothing runs ahead of a group change before it (`after_change`): a view lies at the same
place among all messages (D4, D7).

A daemon hears of every stream all the time, and there are as many as sites: nothing here looks
at all of them for one bundle or one report.
"""

from heapq import heappop, heappush

from antiphon.core.bundle import Bundle
from antiphon.core.positions import stamp_of
from antiphon.core.service import ORDERED, Service
from antiphon.protocol.stream.source import Source

MARKS_MAX = 256
"""Above so many, marks behind the cursor are forgotten: the cursor says the same (SP-61)."""


class Delivery:
    """Bundles of one configuration at one daemon, whose segment is `mine`."""

    def __init__(self, segments: int = 1, mine: int = 0) -> None:
        self.sources = [Source(index, mine) for index in range(segments)]
        self.own = self.sources[mine]
        self._mine = mine
        self.line = 0
        """All that is for us with a lower or equal stamp is here."""

        self._at_line = segments
        """So many streams are known up to there and no further."""

        self._heads: list[tuple[int, int]] = []
        """Stamp and number of each stream with something ready; a heap."""

        self._holding: dict[int, Source] = {}
        """Streams of which something is held."""

        self._releasing = False
        """Something may have become one to forget."""

        self.stable = 0
        """Up to this stamp everybody holds what is for it."""

        self.cursor = 0
        """Position of what was delivered last in its turn."""

        self.pledged_to = 0
        """Position up to which a plan that I was ready for has all group changes."""

        self.early_past = [0] * segments
        self.order_past = 0
        self._waiting: dict[int, Bundle] = {}
        """Early services by position."""

    def has(self, bundle: Bundle) -> bool:
        """It is here, or was."""
        source = self.sources[bundle.segment]
        return bundle.sequence <= source.released or bundle.sequence in source.held

    def add(self, bundle: Bundle) -> bool:
        """Take a stamped bundle; False if its place cannot be."""
        if self.has(bundle):
            return True
        source = self.sources[bundle.segment]
        if any(segment >= len(self.sources) for segment, _ in bundle.early_pasts):
            return False
        way = bundle.way_to(self._mine)
        stamp, was_ready = source.stamp, bool(source.ready)
        if not source.add(bundle, None if way is None else way[0]):
            return False
        self._holding[source.index] = source
        self._releasing |= bundle.stamp <= self.stable
        if source.ready and not was_ready:
            heappush(self._heads, (source.ready[0].stamp, source.index))
        if way is not None and bundle.service not in ORDERED:
            self._waiting[bundle.position] = bundle
        self._renew_line(stamp, source.stamp)
        return True

    def learn(self, segment: int, count: int, floor: int, head: int) -> None:
        """What a segment's leader says of its stream."""
        source = self.sources[segment]
        stamp = source.stamp
        source.learn(count, floor, head)
        self._renew_line(stamp, source.stamp)

    def _renew_line(self, before: int, after: int) -> None:
        """One stream is known up to a later stamp: the line moves when it was the last there."""
        if before != self.line or after == before:
            return
        self._at_line -= 1
        if not self._at_line:
            stamps = [source.stamp for source in self.sources]
            self.line = min(stamps)
            self._at_line = stamps.count(self.line)

    def take(self) -> list[Bundle]:
        """Everything that may be delivered now, in order of delivery."""
        taken: list[Bundle] = []
        while self._advance(taken) or self._run_ahead(taken):
            pass
        return taken

    def _next(self) -> Source | None:
        """Whose turn it is; None while something with a lower stamp may come."""
        if self._heads and self._heads[0][0] <= self.line:
            return self.sources[self._heads[0][1]]
        return None

    def _advance(self, taken: list[Bundle]) -> bool:
        moved = False
        while (source := self._next()) is not None:
            bundle = source.ready[0]
            if bundle.sequence in source.ahead:
                source.ahead.remove_run(bundle.sequence, bundle.sequence)
            elif bundle.service == Service.SAFE and bundle.stamp > self.stable:
                break
            else:
                self._deliver(bundle, taken)
            source.ready.popleft()
            heappop(self._heads)
            if source.ready:
                heappush(self._heads, (source.ready[0].stamp, source.index))
            source.passed = bundle.sequence
            self.cursor = bundle.position
            moved = self._releasing = True
        return moved

    def _reached(self, position: int) -> bool:
        """Everything for us up to there is delivered."""
        if position <= self.cursor:
            return True
        if stamp_of(position) > self.line:
            return False
        source = self._next()
        return source is None or source.ready[0].position > position

    def _run_ahead(self, taken: list[Bundle]) -> bool:
        """Deliver early what may be, lowest first."""
        if not self._waiting:
            return False
        lowest: dict[int, int] = {}
        """Per stream, of those that still wait after their turn."""

        moved = False
        for place in sorted(self._waiting):
            bundle = self._waiting[place]
            if bundle.after_change <= self.cursor and self._early(bundle, lowest):
                self.sources[bundle.segment].ahead.add(bundle.sequence)
                self._deliver(bundle, taken)
                moved = True
            else:
                lowest.setdefault(bundle.segment, bundle.sequence)
        return moved

    def _early(self, bundle: Bundle, lowest: dict[int, int]) -> bool:
        if bundle.service == Service.RELIABLE:
            return True
        if not self._follows_on(bundle):
            return False
        if bundle.service == Service.FIFO:
            return True
        # Causal: all that its sender delivered before it is delivered here, too: early
        # bundles up to its early past, and everything up to `order_past`.
        if not self._early_past_is_here(bundle.segment, bundle.early_past, lowest):
            return False
        for segment, sequence in bundle.early_pasts:
            if not self._early_past_is_here(segment, sequence, lowest):
                return False
        return self._reached(bundle.order_past)

    def _early_past_is_here(self, segment: int, sequence: int, lowest: dict[int, int]) -> bool:
        if self.sources[segment].known < sequence:
            return False
        return not 0 < lowest.get(segment, 0) <= sequence

    def _deliver(self, bundle: Bundle, taken: list[Bundle]) -> None:
        taken.append(bundle)
        self._waiting.pop(bundle.position, None)
        self._mark(bundle)
        self.remember(bundle)

    def remember(self, bundle: Bundle) -> None:
        """What I send from now on happens after this one."""
        if bundle.service in ORDERED:
            self.order_past = max(self.order_past, bundle.position)
            return
        early = self.early_past
        segment = bundle.segment
        early[segment] = max(early[segment], bundle.sequence, bundle.early_past)
        for segment, sequence in bundle.early_pasts:
            early[segment] = max(early[segment], sequence)
        self.order_past = max(self.order_past, bundle.order_past)

    def _follows_on(self, bundle: Bundle) -> bool:
        """Everything earlier of its session is delivered."""
        previous = self._previous(bundle)
        source = self.sources[bundle.segment]
        if previous <= source.passed:
            return True
        return previous <= source.marks.get((bundle.sender.daemon, bundle.session), 0)

    def _previous(self, bundle: Bundle) -> int:
        if not bundle.reach:
            return bundle.previous
        way = bundle.way_to(self._mine)
        assert way is not None, "only what is for us is delivered"
        return way[1]

    def _mark(self, bundle: Bundle) -> None:
        """Keep, per session, up to where its bundles are delivered without a gap."""
        key = (bundle.sender.daemon, bundle.session)
        source = self.sources[bundle.segment]
        if not self._follows_on(bundle):
            source.gaps.setdefault(key, {})[self._previous(bundle)] = bundle.sequence
            return
        mark = bundle.sequence
        gaps = source.gaps.get(key)
        if gaps is not None:
            while (following := gaps.pop(mark, None)) is not None:
                mark = following
            if not gaps:
                del source.gaps[key]
        source.marks[key] = mark

    def make_stable(self, stamp: int) -> None:
        """Every member holds everything for it up to `stamp`."""
        if stamp > self.stable:
            self.stable = stamp
            self._releasing = True

    def release(self) -> None:
        """Forget what is delivered here and held everywhere."""
        if not self._releasing:
            return
        self._releasing = False
        for source in list(self._holding.values()):
            source.release(self.stable, self.cursor)
            if not source.held:
                del self._holding[source.index]
            if len(source.marks) > MARKS_MAX:
                marks, passed = source.marks, source.passed
                source.marks = {key: mark for key, mark in marks.items() if mark > passed}

    def undelivered(self) -> list[Bundle]:
        """For us, held and not delivered, in order."""
        found = [
            bundle
            for source in self._holding.values()
            for bundle in source.held.values()
            if bundle.position > self.cursor
            and bundle.sequence not in source.ahead
            and bundle.way_to(self._mine) is not None
        ]
        return sorted(found, key=_position)


def _position(bundle: Bundle) -> int:
    return bundle.position
