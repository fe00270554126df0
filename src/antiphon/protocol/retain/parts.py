"""A part: a run of entries of one branch in one file, and what is known of it without reading.

What a daemon finds on its disk when it starts becomes parts again, up to the first entry that
is not whole.
"""

from bisect import bisect_right
from collections.abc import Iterable

from antiphon.core.errors import DecodeError
from antiphon.core.ids import GroupName
from antiphon.core.machine import Instant
from antiphon.core.offsets import NO_BRANCH, Branch
from antiphon.wire.retained import (
    COVERED_MAX,
    PRODUCERS_MAX,
    Ends,
    Entry,
    KeptState,
    read_part,
    walk,
)

INDEX_BYTES = 64 * 1024
"""So far apart are the places that are remembered."""


class Part:
    __slots__ = (
        *("key", "group", "branch", "before", "first", "last"),
        *("size", "written", "sequences", "places"),
    )

    def __init__(self, key: str, group: GroupName, branch: Branch, before: Ends) -> None:
        self.key = key
        self.group = group
        self.branch = branch
        self.before = before
        """Tips of the branch, also if this is not its first part."""

        self.first = 0
        self.last = 0
        """Sequences that are on disk; 0: none."""

        self.size = 0
        self.written: Instant = 0
        """When it was last written."""

        self.sequences: list[int] = []
        self.places: list[int] = []
        """At these places in the file begin entries with these sequences."""

    def note(self, sequence: int, count: int, at: int) -> None:
        """An entry is on disk."""
        if not self.places or at - self.places[-1] >= INDEX_BYTES:
            self.sequences.append(sequence)
            self.places.append(at)
        self.first = self.first or sequence
        self.last = sequence + count - 1

    def place_of(self, sequence: int) -> int:
        """Where to read on to meet this sequence."""
        return self.places[bisect_right(self.sequences, sequence) - 1]

    def span(self, first: int, last: int, size: int) -> tuple[int, int, int]:
        """From where to where to read to meet these sequences, at remembered places, about so
        many bytes; and the sequence that comes then."""
        start = bisect_right(self.sequences, first) - 1
        at = self.places[start]
        for sequence, end in zip(
            self.sequences[start + 1 :], self.places[start + 1 :], strict=True
        ):
            if sequence > last or end - at >= size:
                return at, end, sequence
        return at, self.size, self.last + 1


class Stored:
    """What one file holds."""

    def __init__(
        self, key: str, data: bytes | memoryview, age_us: int = 0, tell: bool = False
    ) -> None:
        self.key = key
        self.age_us = age_us
        self.told: list[Entry] = []
        """All entries, if they are to be told of."""

        self.part: Part | None = None
        """None if not even one entry is whole."""

        try:
            self._read(data, tell)
        except DecodeError:
            pass  # it is nothing, and will be discarded

    def _read(self, data: bytes | memoryview, tell: bool) -> None:
        head, at = read_part(data)
        self.state = head.state
        part = Part(self.key, head.state.group, head.branch, head.state.tips)
        self.marks = dict(head.state.marks)
        expected = head.first
        for entry in walk(data, at):
            if entry.sequence != expected:
                break
            part.note(entry.sequence, entry.count, at)
            if tell:
                self.told.append(entry)
            if entry.producer:
                mark = entry.key + entry.count - 1
                self.marks[entry.producer] = max(mark, self.marks.pop(entry.producer, -1))
            expected, at = entry.last + 1, entry.end
        part.size = at
        if part.last:
            self.part = part


def group_states(stored: Iterable[Stored]) -> list[KeptState]:
    """What lies behind each group by what its parts say, oldest first."""
    chains: dict[GroupName, list[Stored]] = {}
    for one in stored:
        if one.part is not None:
            chains.setdefault(one.part.group, []).append(one)
    return [_group_state(group, chains[group]) for group in sorted(chains)]


def _group_state(group: GroupName, chain: list[Stored]) -> KeptState:
    covered: dict[Branch, int] = {}
    marks: dict[str, int] = {}
    tip = NO_BRANCH
    for one in chain:
        assert one.part is not None, "only whole ones are in a chain"
        for branch, last in (*one.state.covered, *one.state.tips):
            covered[branch] = max(last, covered.get(branch, 0))
        for producer, mark in one.marks.items():
            marks[producer] = max(mark, marks.pop(producer, -1))
        tip = one.part.branch
        covered[tip] = one.part.last
    tips = ((tip, covered.pop(tip)),)
    latest = tuple(sorted(covered.items())[-COVERED_MAX:])
    return KeptState(group, tips, latest, tuple(marks.items())[-PRODUCERS_MAX:])
