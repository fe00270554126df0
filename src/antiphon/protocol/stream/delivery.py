"""When a bundle of the current configuration may be delivered: the six services.

In a site all bundles have one dense sequence. `cursor` walks it over all services; the
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
"""

from antiphon.core.bundle import Bundle
from antiphon.core.ranges import RangeSet
from antiphon.core.service import ORDERED, Service

SessionKey = tuple[int, int]

LEAP_MAX = 1 << 32
"""Nobody is so far ahead: numbers that rise must never come to their end."""

MARKS_MAX = 256
"""Above so many, marks behind the cursor are forgotten: the cursor says the same (SP-61)."""


class Delivery:
    """Bundles of one configuration at one daemon.

    Invariants: released <= min(stable, cursor); cursor <= complete; everything received
    above `released` is in `held`; `ahead` lies above `cursor`.
    """

    def __init__(self) -> None:
        self.held: dict[int, Bundle] = {}
        self.complete = 0
        self.line = 0
        """Stamp of the bundle at `complete`: all with a lower or equal stamp are here."""

        self.cursor = 0
        self.stable = 0
        self.released = 0
        self.ahead = RangeSet()
        self.pledged = RangeSet()
        self.early_past = 0
        self.order_past = 0
        self._waiting: dict[int, Bundle] = {}
        self._marks: dict[SessionKey, int] = {}
        self._links: dict[SessionKey, dict[int, int]] = {}

    def add(self, bundle: Bundle) -> bool:
        """Take a stamped bundle; False if its stamp cannot be: they rise with the sequence."""
        sequence = bundle.sequence
        if sequence <= self.complete or sequence in self.held:
            return True  # it was here before
        before, behind = self.held.get(sequence - 1), self.held.get(sequence + 1)
        floor = before.stamp if before is not None else self.line
        if not floor < bundle.stamp <= self.line + LEAP_MAX:
            return False
        if behind is not None and behind.stamp <= bundle.stamp:
            return False
        self.held[sequence] = bundle
        if bundle.service not in ORDERED:
            self._waiting[sequence] = bundle
        while (following := self.held.get(self.complete + 1)) is not None:
            self.complete += 1
            self.line = following.stamp
        return True

    def take(self) -> list[Bundle]:
        """Everything that may be delivered now, in order of delivery."""
        taken: list[Bundle] = []
        if self.cursor == self.complete and not self._waiting:
            return taken
        while self._advance(taken) or self._run_ahead(taken):
            pass
        return taken

    def _advance(self, taken: list[Bundle]) -> bool:
        moved = False
        while (bundle := self.held.get(self.cursor + 1)) is not None:
            if bundle.sequence in self.ahead:
                self.ahead.remove_run(bundle.sequence, bundle.sequence)
            elif bundle.service == Service.SAFE and bundle.sequence > self.stable:
                break
            else:
                self._deliver(bundle, taken)
            self.cursor += 1
            moved = True
        return moved

    def _run_ahead(self, taken: list[Bundle]) -> bool:
        """Deliver early what may be, lowest first."""
        if not self._waiting:
            return False
        lowest = 0
        """Of those that still wait after their turn; 0 if none does."""

        moved = False
        for sequence in sorted(self._waiting):
            bundle = self._waiting[sequence]
            if bundle.after_change <= self.cursor and self._early(bundle, lowest):
                self.ahead.add(sequence)
                self._deliver(bundle, taken)
                moved = True
            elif not lowest:
                lowest = sequence
        return moved

    def _early(self, bundle: Bundle, lowest: int) -> bool:
        if bundle.service == Service.RELIABLE:
            return True
        if not self._follows_on(bundle):
            return False
        if bundle.service == Service.FIFO:
            return True
        # Causal: all that its sender delivered before it is delivered here, too: early
        # bundles up to `early_past`, and everything up to `order_past`.
        if self.complete < bundle.early_past or self.cursor < bundle.order_past:
            return False
        return not 0 < lowest <= bundle.early_past

    def _deliver(self, bundle: Bundle, taken: list[Bundle]) -> None:
        taken.append(bundle)
        self._waiting.pop(bundle.sequence, None)
        self._mark(bundle)
        self.remember(bundle)

    def remember(self, bundle: Bundle) -> None:
        """What I send from now on happens after this one."""
        if bundle.service in ORDERED:
            self.order_past = max(self.order_past, bundle.sequence)
        else:
            self.early_past = max(self.early_past, bundle.sequence, bundle.early_past)
            self.order_past = max(self.order_past, bundle.order_past)

    def _follows_on(self, bundle: Bundle) -> bool:
        """Everything earlier of its session is delivered."""
        if bundle.previous <= self.cursor:
            return True
        return bundle.previous <= self._marks.get((bundle.sender.daemon, bundle.session), 0)

    def _mark(self, bundle: Bundle) -> None:
        """Keep, per session, up to where its bundles are delivered without a gap."""
        key = (bundle.sender.daemon, bundle.session)
        links = self._links.get(key)
        if not self._follows_on(bundle):
            if links is None:
                links = self._links[key] = {}
            links[bundle.previous] = bundle.sequence
            return
        mark = bundle.sequence
        if links is not None:
            while (following := links.pop(mark, None)) is not None:
                mark = following
            if not links:
                del self._links[key]
        self._marks[key] = mark

    def make_stable(self, stamp: int) -> None:
        """Every member holds everything up to `stamp`."""
        while (bundle := self.held.get(self.stable + 1)) is not None and bundle.stamp <= stamp:
            self.stable += 1

    def release(self) -> None:
        """Forget what is delivered here and held everywhere (SP-69, SP-72)."""
        while self.released < min(self.stable, self.cursor):
            self.released += 1
            del self.held[self.released]
        if len(self._marks) > MARKS_MAX:
            self._marks = {key: mark for key, mark in self._marks.items() if mark > self.cursor}

    def undelivered(self) -> list[Bundle]:
        """Held and not delivered, in order."""
        return [
            self.held[sequence]
            for sequence in sorted(self.held)
            if sequence > self.cursor and sequence not in self.ahead
        ]
