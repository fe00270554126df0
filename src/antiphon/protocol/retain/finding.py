"""What a reader is answered: the table in docs/protocols/retain.md.

Pure lookups in what is on disk and in what the groups know; nothing is read here.
"""

from collections.abc import Mapping
from typing import NamedTuple

from antiphon.core.offsets import NO_BRANCH, ORIGIN, Branch, Offset
from antiphon.protocol.retain.parts import Part
from antiphon.wire.retained import Ends

TRIMMED = "trimmed"
MISSING = "missing"
OTHER_BRANCH = "other_branch"


class Range(NamedTuple):
    """Sequences that can be read."""

    branch: Branch
    first: int
    last: int


class Gap(NamedTuple):
    """Why nothing comes after an offset, which range is concerned (a last of 0: not known), and
    from where on this daemon can go on."""

    code: str
    branch: Branch
    first: int
    last: int
    resume: Offset


class Found(NamedTuple):
    ranges: tuple[Range, ...]
    end: Offset
    """Where a reader is that has read them."""

    others: Ends = ()
    """Ends of other branches that were met on the way: what was made there is not here."""


class Stretch(NamedTuple):
    """Neighbouring parts of a branch."""

    branch: Branch
    before: Ends
    first: int
    last: int


class Finder:
    """One group at one daemon, now."""

    def __init__(
        self,
        parts: list[Part],
        now: Branch,
        tips: Mapping[Branch, int],
        covered: Mapping[Branch, int],
        busy: bool = False,
    ) -> None:
        self._stretches = _stretches(parts)
        self._parts = parts
        self._now = now
        self._tips = tips
        self._covered = covered
        self._busy = busy

    @property
    def earliest(self) -> Offset:
        """Before everything that is here."""
        if not self._stretches:
            return self.latest
        first = self._stretches[0]
        if first.first == 1 and not first.before:
            return ORIGIN
        return Offset(first.branch, first.first - 1)

    @property
    def latest(self) -> Offset:
        if self._stretches:
            last = self._stretches[-1]
            return Offset(last.branch, last.last)
        return Offset(*max(self._tips.items())) if self._tips else ORIGIN

    def after(self, offset: Offset, rows_max: int, until: Offset | None = None) -> Found | Gap:
        """What comes after an offset, no more than so many rows and not beyond `until`."""
        ranges: list[Range] = []
        others: dict[Branch, int] = {}
        at = offset
        while rows_max > 0 and at != until:
            found = self._next(at)
            if isinstance(found, Gap) and not ranges:
                return found
            if not isinstance(found, Range):
                break
            if found.branch != at.branch:
                others.update(one for one in self._before(found.branch) if one != at)
            last = min(found.last, found.first + rows_max - 1)
            if until is not None and until.branch == found.branch:
                last = min(last, until.sequence)
            if last < found.first:
                break
            ranges.append(Range(found.branch, found.first, last))
            rows_max -= last - found.first + 1
            at = Offset(found.branch, last)
        return Found(tuple(ranges), at, tuple(sorted(others.items())))

    def part_with(self, branch: Branch, sequence: int) -> Part | None:
        for part in self._parts:
            if part.branch == branch and part.first <= sequence <= part.last:
                return part
        return None

    def _before(self, branch: Branch) -> Ends:
        return next(one.before for one in self._stretches if one.branch == branch)

    def _next(self, at: Offset) -> Range | Gap | None:
        """None: nothing yet."""
        branch, sequence = at
        mine = [place for place, one in enumerate(self._stretches) if one.branch == branch]
        for place in mine:
            one = self._stretches[place]
            if one.first <= sequence + 1 <= one.last:
                return Range(branch, sequence + 1, one.last)
            if one.first > sequence + 1:
                code = MISSING if place else TRIMMED
                resume = Offset(branch, one.first - 1)
                return Gap(code, branch, sequence + 1, one.first - 1, resume)
        if branch == self._now:
            return None
        behind = self._stretches[mine[-1] + 1 :] if mine else self._stretches
        for one in behind:
            if (branch, sequence) in one.before or (at == ORIGIN and not one.before):
                return self._enter(one)
        if self._busy or at in self._tips.items() or (at == ORIGIN and not self._stretches):
            return None
        return self._gap(at, behind)

    def _enter(self, one: Stretch) -> Range | Gap:
        if one.first == 1:
            return Range(one.branch, 1, one.last)
        return Gap(TRIMMED, one.branch, 1, one.first - 1, Offset(one.branch, one.first - 1))

    def _gap(self, at: Offset, behind: list[Stretch]) -> Gap:
        branch, sequence = at
        # Ids of configurations rise: what is later has not been read, whatever was.
        later = next((one for one in behind if one.branch > branch), None)
        if later is not None:
            resume = Offset(later.branch, later.first - 1)
        else:
            resume = self.latest
            last = resume.branch if resume.branch in self._tips else max(self._tips, default=None)
            if last is not None:
                resume = Offset(last, self._tips[last])
        if branch == NO_BRANCH:
            return Gap(TRIMMED, branch, 1, 0, resume)
        known = max(self._covered.get(branch, 0), self._tips.get(branch, 0))
        if known >= sequence:
            return Gap(MISSING, branch, sequence + 1, known if known > sequence else 0, resume)
        return Gap(OTHER_BRANCH, branch, sequence + 1, 0, resume)


def _stretches(parts: list[Part]) -> list[Stretch]:
    found: list[Stretch] = []
    for part in parts:
        if found and found[-1].branch == part.branch and found[-1].last + 1 == part.first:
            found[-1] = found[-1]._replace(last=part.last)
        else:
            found.append(Stretch(part.branch, part.before, part.first, part.last))
    return found
