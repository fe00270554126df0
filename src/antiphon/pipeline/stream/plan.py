"""From offsets to pieces of a log: what a micro-batch reads, and what no daemon can give."""

import logging
from collections.abc import Iterator, Mapping
from functools import partial

from antiphon.client.log import BlockingLog, LogGap, LogRange, LogReach
from antiphon.core.ids import GroupName
from antiphon.core.offsets import Offset, parse_offset
from antiphon.pipeline.stream.columns import Columns
from antiphon.pipeline.stream.daemons import Daemons
from antiphon.pipeline.stream.options import EARLIEST, SKIP, StreamOptions
from antiphon.records.arrow import Batch

ALL_ROWS = 1 << 62
REACHES_MAX = 1_000
"""Between two offsets are fewer branches than this, or somebody leads us in circles."""

logger = logging.getLogger("antiphon.stream")

Offsets = dict[str, str]
"""Of each group, as Spark keeps them."""


class Planner:
    def __init__(self, options: StreamOptions) -> None:
        self._options = options
        self._daemons = Daemons(options.connect, options.token, options.timeout)

    def ends(self, wanted: str | Mapping[GroupName, Offset], usual: str) -> Offsets:
        """Each group's offset that `startingOffsets` or `endingOffsets` means."""
        found = {}
        for group in self._options.groups:
            if isinstance(wanted, str):
                found[group] = self._end(group, wanted)
            else:
                found[group] = str(wanted.get(group) or self._end(group, usual))
        return found

    def _end(self, group: GroupName, which: str) -> str:
        return str(self._daemons.ask(group, lambda log: getattr(log, which)()))

    def latest(self, start: Offsets, rows: int = 0, target: Offsets | None = None) -> Offsets:
        """How far one comes from `start`; no more than so many rows of all groups together, and
        not beyond `target`."""
        left = rows or ALL_ROWS
        end = dict(start)
        for group in self._options.groups:
            at = parse_offset(start.get(group) or self._end(group, EARLIEST))
            goal = None if target is None else parse_offset(target[group])
            reach = self._after(group, at, left, goal)
            left -= sum(one.last - one.first + 1 for one in reach.ranges)
            end[group] = str(reach.end)
            for other in reach.others:
                logger.warning("%s: another branch ends at %s; it is not read", group, other)
            if left <= 0:
                break
        return end

    def pieces(self, start: Offsets, end: Offsets) -> list[tuple[GroupName, LogRange]]:
        """What lies between, in the order of reading, cut to the size of a partition."""
        found = []
        for group in self._options.groups:
            if group in end and start.get(group) != end[group]:
                at = parse_offset(start.get(group) or self._end(group, EARLIEST))
                found += [(group, one) for one in self._ranges(group, at, parse_offset(end[group]))]
        return [(group, cut) for group, one in found for cut in self._cut(one)]

    def _ranges(self, group: GroupName, at: Offset, end: Offset) -> Iterator[LogRange]:
        for _ in range(REACHES_MAX):
            if at == end:
                return
            reach = self._after(group, at, ALL_ROWS, end)
            yield from reach.ranges
            if not reach.ranges and reach.end == at:
                # A daemon that is behind: another one has it, for it was there before.
                self._daemons.next()
            at = reach.end
        raise RuntimeError(
            f"{group!r}: no way from {at} to {end}; the checkpoint is of another log"
        )

    def _cut(self, one: LogRange) -> Iterator[LogRange]:
        size = self._options.partition_rows
        for first in range(one.first, one.last + 1, size):
            yield LogRange(one.branch, first, min(one.last, first + size - 1))

    def _after(self, group: GroupName, at: Offset, rows: int, until: Offset | None) -> LogReach:
        try:
            return self._daemons.ask(group, lambda log: log.after(at, rows=rows, until=until))
        except LogGap as gap:
            if self._options.on_gap != SKIP:
                raise
            logger.warning("skipped: %s", gap.what)
            return LogReach((), gap.resume, ())

    def read(self, group: GroupName, wanted: LogRange) -> Iterator[Batch]:
        """A piece, from one daemon or, if that ends, the rest from the next."""
        columns = Columns(group, wanted)
        first = wanted.first
        while first <= wanted.last:
            rest = LogRange(wanted.branch, first, wanted.last)
            data, first = self._daemons.ask(group, partial(_some_entries, rest))
            yield from columns.add(data)
        if columns.waiting:
            yield columns.batch()
        self._daemons.close()


def _some_entries(wanted: LogRange, log: BlockingLog) -> tuple[bytes, int]:
    return log.some_entries(wanted)
