"""What members hold, put together."""

from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.effects import StreamHoldings
from antiphon.core.ids import ConfigId, DaemonId, Incarnation, Member
from antiphon.core.ranges import RangeSet
from antiphon.protocol.membership.merging import members_of, merge_members
from antiphon.wire.control import (
    MemberState,
    SiteState,
    pack_control,
    read_control,
)
from antiphon.wire.packet import Envelope, Tag

BASE = ConfigId(2, DaemonId(1), Incarnation(1), 1)
NEXT = ConfigId(3, DaemonId(1), Incarnation(1), 2)


def member(number: int) -> Member:
    return Member(DaemonId(number), Incarnation(number))


def holdings(numbers: set[int], known: int = 0, early: set[int] | None = None) -> StreamHoldings:
    """The stamp of each sequence is three times as high."""
    runs = RangeSet((one, one) for one in sorted(numbers)).runs()
    ahead = RangeSet((one, one) for one in sorted(early or ()))
    held = tuple((first, last, 3 * last) for first, last in runs)
    return StreamHoldings(held, known, 3 * known, tuple(ahead.runs()))


def state(
    number: int, streams: tuple[StreamHoldings, ...], base: ConfigId = BASE, segment: int = 0
) -> MemberState:
    return MemberState(member(number), base, segment, streams, number, 10 * number)


NUMBERS = st.sets(st.integers(1, 30))


@given(st.lists(st.tuples(NUMBERS, st.integers(0, 30), NUMBERS), min_size=1, max_size=5))
def test_a_part_holds_what_any_of_its_members_holds(
    told: list[tuple[set[int], int, set[int]]],
) -> None:
    """Names and stamps; and the highest that any of them knew."""
    states = [
        state(at, (holdings(numbers, known, early),))
        for at, (numbers, known, early) in enumerate(told, start=1)
    ]
    (part,) = merge_members(states)
    every = set().union(*(numbers for numbers, _, _ in told))
    known = max(known for _, known, _ in told)
    early = set().union(*(early for _, _, early in told))
    assert part.streams == (holdings(every, known, early),)
    assert part.least == (min(known for _, known, _ in told),)
    assert (part.stable, part.cursor) == (len(told), 10 * len(told))
    packet = pack_control(Envelope(1, member(1)), SiteState(NEXT, (part,)))
    assert read_control(Tag.SITE_STATE, packet) == SiteState(NEXT, (part,)), "one spelling"


def test_members_are_put_together_by_where_they_come_from() -> None:
    """SP-16: between sites it is told once for all of a segment."""
    other = ConfigId(1, DaemonId(9), Incarnation(9), 1)
    nothing = (holdings(set()),)
    states = [state(1, nothing, segment=1), state(2, nothing), state(3, nothing, other)]
    states.append(state(4, nothing, segment=1))
    parts = merge_members(states)
    assert [(part.base, part.segment, part.members) for part in parts] == [
        (other, 0, (member(3),)),
        (BASE, 0, (member(2),)),
        (BASE, 1, (member(1), member(4))),
    ]
    assert members_of(parts) == tuple(map(member, (1, 2, 3, 4)))


def test_streams_that_one_did_not_tell_of_are_empty_there() -> None:
    (part,) = merge_members([state(1, ()), state(2, (holdings({4}),))])
    assert part.streams == (holdings({4}),)
