"""The receiving half of a link: what came, what is missing, when to ask for it."""

from heapq import heappop, heappush

from antiphon.core.machine import MILLISECOND, NEVER, Instant
from antiphon.protocol.links.estimate import Path
from antiphon.protocol.links.settings import HopSettings
from antiphon.wire.link import LinkObject

TOGETHER_US = 1 * MILLISECOND
"""Gaps that fall due within this are asked for in one packet."""

ASKED_REMEMBERED = 1024
"""So many repaired objects are remembered, to tell whether asking was wrong."""


class Missing:
    __slots__ = ("since", "asked_at", "requests", "due")

    def __init__(self, since: Instant, due: Instant) -> None:
        self.since = since
        self.asked_at: Instant = 0
        self.requests = 0
        self.due = due


class Receiving:
    """Invariant: everything up to `highest` has come, except `missing` (SP-138 to SP-140).

    `missing` is kept in rising order: gaps are only ever found above all others.
    """

    def __init__(self, settings: HopSettings, path: Path) -> None:
        self._settings = settings
        self._path = path
        self.highest = 0
        self.missing: dict[int, Missing] = {}
        self._due: list[tuple[Instant, int]] = []
        """A heap; an entry that is not the `due` of its object any more is void."""

        self._asked: dict[int, Instant] = {}
        self.requests = 0
        self.false_requests = 0
        """Asked for although it was only late (SP-149)."""

        self._repaired_at: Instant = 0
        self.late = 0
        self.duplicates = 0

    @property
    def received(self) -> int:
        """All received up to here (SP-139, SP-239)."""
        return next(iter(self.missing)) - 1 if self.missing else self.highest

    def is_beyond(self, sequence: int) -> bool:
        """The other end's window does not reach so far."""
        return sequence > self.received + self._settings.window_objects

    def learn(self, now: Instant, sequence: int) -> None:
        """So many were sent: what has not come up to there is missing (SP-147, SP-151). It is
        asked for after a short delay, for it may only be late (SP-148)."""
        due = now + self._path.reordering.patience_us()
        for each in range(self.highest + 1, sequence + 1):
            self.missing[each] = Missing(now, due)
            heappush(self._due, (due, each))
        self.highest = max(self.highest, sequence)

    def take(self, now: Instant, each: LinkObject) -> bool:
        """True if it is new: it goes up at once. X-04: exactly one of three cases."""
        if each.sequence > self.highest:
            self.learn(now, each.sequence - 1)
            self.highest = each.sequence
            return True
        gap = self.missing.pop(each.sequence, None)
        if gap is None:
            self._note_duplicate(now, each)
            return False
        if not each.repeats:
            self._note_late(now - gap.since, gap.requests > 0)
        else:
            self._note_repair(now, each.sequence, gap)
        return True

    def _note_repair(self, now: Instant, sequence: int, gap: Missing) -> None:
        self._path.reordering.was_lost()
        self._repaired_at = now
        if gap.requests == 1:  # of several requests nobody knows which was answered
            self._path.repair.note(now, now - gap.asked_at)
        self._asked[sequence] = gap.since
        if len(self._asked) > ASKED_REMEMBERED:
            del self._asked[next(iter(self._asked))]

    def _note_late(self, late_us: int, asked: bool) -> None:
        self.late += 1
        self.false_requests += asked
        self._path.reordering.came_late(late_us)

    def _note_duplicate(self, now: Instant, each: LinkObject) -> None:
        """SP-161. If it is the first sending of what was asked for, that was only late."""
        self.duplicates += 1
        since = self._asked.pop(each.sequence, None)
        if since is not None and not each.repeats:
            self._note_late(now - since, asked=True)

    def next_due(self) -> Instant:
        while self._due:
            due, sequence = self._due[0]
            gap = self.missing.get(sequence)
            if gap is not None and gap.due == due:
                return due
            heappop(self._due)
        return NEVER

    def take_due(self, now: Instant) -> tuple[list[int], bool]:
        """What to ask for now, sorted, and whether something was asked for too often (SP-150,
        SP-152). The next time is by the round trip. While other repairs come it is not too
        often: a slow link has many to bring, and the sending end counts each by itself."""
        wanted = []
        too_often = False
        again = now + self._path.repair_timeout_us() + self._path.reordering.patience_us()
        while self.next_due() <= now + TOGETHER_US:
            sequence = heappop(self._due)[1]
            gap = self.missing[sequence]
            gap.requests += 1
            gap.asked_at = now
            gap.due = again
            heappush(self._due, (again, sequence))
            wanted.append(sequence)
            often = gap.requests > self._settings.requests_max
            waited_us = now - max(gap.since, self._repaired_at)
            too_often |= often and waited_us >= self._settings.dead_us
        self.requests += len(wanted)
        return sorted(wanted), too_often

    def runs(self, most: int) -> tuple[tuple[int, int], ...]:
        """What came above `received`, for an ack: so many missing, so many received."""
        runs: list[tuple[int, int]] = []
        first = previous = self.received + 1
        for sequence in self.missing:
            if sequence > previous + 1:
                runs.append((previous - first + 1, sequence - previous - 1))
                if len(runs) == most:
                    return tuple(runs)
                first = sequence
            previous = sequence
        if self.missing and self.highest > previous:
            runs.append((previous - first + 1, self.highest - previous))
        return tuple(runs)


def as_runs(sequences: list[int]) -> list[tuple[int, int]]:
    """Sorted numbers as (first, how many)."""
    runs: list[tuple[int, int]] = []
    for sequence in sequences:
        if runs and sum(runs[-1]) == sequence:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((sequence, 1))
    return runs
