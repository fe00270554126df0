"""What members hold, put together: the size grows with streams and holes, not with members."""

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from antiphon.core.effects import StreamHoldings
from antiphon.core.ids import ConfigId, Member
from antiphon.core.ranges import RangeSet
from antiphon.wire.control import MemberState, PartState

NOTHING = StreamHoldings((), 0, 0, ())

Place = tuple[ConfigId, int]
"""An old configuration, and a segment of it."""


def merge_members(states: Iterable[MemberState]) -> tuple[PartState, ...]:
    """Per segment that they come from."""
    groups: dict[Place, list[MemberState]] = {}
    for state in states:
        groups.setdefault((state.base, state.segment), []).append(state)
    parts = []
    for base, segment in sorted(groups):
        group = groups[base, segment]
        members = tuple(sorted(state.member for state in group))
        told = zip_longest(*(state.streams for state in group), fillvalue=NOTHING)
        least = tuple(min(stream.known for stream in streams) for streams in told)
        parts.append(PartState(members, base, segment, least, *_together(group)))
    return tuple(parts)


def _together(
    states: Sequence[MemberState],
) -> tuple[tuple[StreamHoldings, ...], int, int]:
    told = zip_longest(*(state.streams for state in states), fillvalue=NOTHING)
    streams = tuple(_merge(streams) for streams in told)
    stable = max(state.stable for state in states)
    return streams, stable, max(state.cursor for state in states)


def _merge(streams: Sequence[StreamHoldings]) -> StreamHoldings:
    """A run of the union ends where one of the runs ends, so its stamp there is known."""
    held, early = RangeSet(), RangeSet()
    stamps: dict[int, int] = {}
    for stream in streams:
        early.update(RangeSet(stream.early))
        for first, last, stamp in stream.held:
            held.add_run(first, last)
            stamps[last] = stamp
    known, stamp = max((stream.known, stream.stamp) for stream in streams)
    runs = tuple((first, last, stamps[last]) for first, last in held.runs())
    return StreamHoldings(runs, known, stamp, tuple(early.runs()))


def members_of(parts: Sequence[PartState]) -> tuple[Member, ...]:
    if len(parts) == 1:
        return parts[0].members
    return tuple(sorted(member for part in parts for member in part.members))
