"""One stream of a configuration, as far as it has come to this daemon.

Sequences are dense, but not every bundle is for every segment. Each names the one before it
that is for us, so ours form a chain; where all go everywhere it is simply the next one.
"""

from bisect import bisect_left
from collections import deque

from antiphon.core.bundle import Bundle
from antiphon.core.ranges import RangeSet

SessionKey = tuple[int, int]
"""Daemon and session."""

LEAP_MAX = 1 << 32
"""Nobody is so far ahead: numbers that rise must never come to their end."""


class Source:
    """Invariants: passed <= chained <= known; `ready` is the chain between `passed` and
    `chained`; everything received and not stable is in `held`."""

    __slots__ = (
        "ahead",
        "bytes",
        "chained",
        "chained_stamp",
        "gaps",
        "held",
        "index",
        "known",
        "marks",
        "passed",
        "pledged",
        "ready",
        "released",
        "stamp",
        "total_bytes",
        "_links",
        "_mine",
        "_numbers",
        "_report",
    )

    def __init__(self, index: int, mine: int) -> None:
        self.index = index
        self._mine = mine
        self.held: dict[int, Bundle] = {}
        """For us, or on the way to others."""

        self.bytes = 0
        """Of the bodies that are held."""

        self.total_bytes = 0
        """And of all that ever were."""

        self.chained = 0
        """Sequence of the end of the chain, and its stamp."""

        self.chained_stamp = 0
        self.known = 0
        """All up to this sequence is here, or not for us."""

        self.stamp = 0
        """Nothing more for us will come with a stamp up to this."""

        self.ready: deque[Bundle] = deque()
        """Of the chain, what the cursor has not passed."""

        self.passed = 0
        self.released = 0
        """All up to here is stable, and forgotten."""

        self._numbers: list[int] = []
        """Sequences of what is held, sorted."""

        self.ahead = RangeSet()
        """Delivered, and not passed by the cursor."""

        self.pledged = RangeSet()
        self._links: dict[int, int] = {}
        """What follows on a bundle that the chain has not come to."""

        self._report: tuple[int, int, int] = (0, 0, 0)
        self.marks: dict[SessionKey, int] = {}
        """Per session: up to where its bundles are delivered without a gap."""

        self.gaps: dict[SessionKey, dict[int, int]] = {}
        """Per session: what was delivered behind a gap, by what it follows on."""

    def add(self, bundle: Bundle, before: int | None) -> bool:
        """Take a bundle; `before` is the one before it in our chain, None if it only passes
        through. False if it cannot be: stamps rise with the sequence."""
        sequence = bundle.sequence
        numbers = self._numbers
        at = bisect_left(numbers, sequence)
        floor = self.stamp if sequence > self.known else 0
        if sequence > self.chained:
            floor = max(floor, self.chained_stamp)
        if at:
            floor = max(floor, self.held[numbers[at - 1]].stamp)
        if not floor < bundle.stamp <= self.stamp + LEAP_MAX:
            return False
        if at < len(numbers) and self.held[numbers[at]].stamp <= bundle.stamp:
            return False
        if before is not None:
            if sequence <= self.chained or not self.chained <= before < sequence:
                return False
            if before != self.chained:
                if before in self._links:
                    return False
                self._links[before] = sequence
        self.held[sequence] = bundle
        numbers.insert(at, sequence)
        self.bytes += len(bundle.body)
        self.total_bytes += len(bundle.body)
        if before == self.chained:
            self._advance(bundle)
        return True

    def _advance(self, bundle: Bundle | None) -> None:
        """The chain goes on with this one, and what was waiting for it."""
        while bundle is not None:
            self.chained = bundle.sequence
            self.chained_stamp = bundle.stamp
            self.ready.append(bundle)
            following = self._links.pop(self.chained, 0) if self._links else 0
            bundle = self.held[following] if following else None
        if self.chained > self.known:
            self.known = self.chained
        if self.chained_stamp > self.stamp:
            self.stamp = self.chained_stamp
        if self._report[0]:
            self._realize()

    @property
    def lacks(self) -> bool:
        """Its leader has told of something for us that is not here."""
        return self._report[2] > self.chained

    def learn(self, count: int, floor: int, head: int) -> None:
        """Its leader says: `count` bundles so far, the last for us is `head`, and what follows
        has stamps above `floor`."""
        if (count, floor) > self._report[:2]:
            self._report = (count, floor, head)
            self._realize()

    def _realize(self) -> None:
        count, floor, head = self._report
        if head <= self.chained:
            self.known = max(self.known, count)
            self.stamp = max(self.stamp, floor)
            self._report = (0, 0, 0)

    def release(self, stable: int, cursor: int) -> None:
        """Forget what is held everywhere, and delivered here or not for us (SP-69, SP-72)."""
        gone = 0
        for sequence in self._numbers:
            bundle = self.held[sequence]
            if bundle.stamp > stable:
                break
            if bundle.position > cursor and bundle.way_to(self._mine) is not None:
                break
            self.released = sequence
            del self.held[sequence]
            self.bytes -= len(bundle.body)
            gone += 1
        if gone:
            del self._numbers[:gone]
