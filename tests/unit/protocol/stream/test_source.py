"""One stream as a segment sees it: its chain, what passes through, and what leaders say."""

import pytest

from antiphon.core.bundle import Bundle
from antiphon.core.positions import position
from antiphon.core.reach import Reach
from antiphon.core.service import Service
from antiphon.protocol.stream.delivery import Delivery
from antiphon.protocol.stream.source import LEAP_MAX, Source
from tests.unit.protocol.stream.bench import member

MINE = 1
"""Our segment; the stream is segment 0's."""


def source() -> Source:
    return Source(0, MINE)


def stamped(sequence: int, stamp: int = 0, before: int | None = None) -> Bundle:
    """A bundle of stream 0. With `before` it is for us and follows on that one, else it is on
    its way to segment 2."""
    bundle = Bundle(member(1), 1, sequence, 1, Service.AGREED, b"")
    bundle.sequence, bundle.stamp = sequence, stamp or 10 * sequence
    reach = (0, 2) if before is None else (0, MINE)
    bundle.reach = tuple(Reach(segment, before or 0, 0) for segment in reach)
    return bundle


def take(stream: Source, sequence: int, before: int | None = None, stamp: int = 0) -> bool:
    return stream.add(stamped(sequence, stamp, before), before)


def known(stream: Source) -> tuple[int, int]:
    return stream.known, stream.stamp


def ready(stream: Source) -> list[int]:
    return [bundle.sequence for bundle in stream.ready]


def test_a_chain_goes_on_over_what_is_not_for_us() -> None:
    """SP-120, SP-121: nothing has to be sent to say that nothing was sent."""
    stream = source()
    assert take(stream, 2, before=0)
    assert take(stream, 7, before=2)
    assert (ready(stream), known(stream)) == ([2, 7], (7, 70))


def test_a_bundle_behind_a_gap_waits_for_its_chain() -> None:
    stream = source()
    assert take(stream, 9, before=5)
    assert take(stream, 5, before=2)
    assert (ready(stream), known(stream)) == ([], (0, 0))
    assert take(stream, 2, before=0)
    assert (ready(stream), known(stream)) == ([2, 5, 9], (9, 90))
    assert stream._links == {}


def test_what_passes_through_is_held_and_is_no_part_of_the_chain() -> None:
    """SP-118, SP-119: it may be the last copy."""
    stream = source()
    assert take(stream, 1)
    assert (ready(stream), known(stream)) == ([], (0, 0))
    assert take(stream, 3, before=0)
    assert take(stream, 2)
    assert (ready(stream), known(stream)) == ([3], (3, 30))
    assert sorted(stream.held) == [1, 2, 3]


def test_a_record_raises_what_is_known_as_soon_as_its_head_is_here() -> None:
    """SP-65, SP-66."""
    stream = source()
    stream.learn(count=4, floor=45, head=2)
    assert known(stream) == (0, 0)
    assert take(stream, 2, before=0)
    assert known(stream) == (4, 45)


def test_a_silent_stream_is_known_by_its_floor_alone() -> None:
    """SP-66: an idle site answers."""
    stream = source()
    stream.learn(count=0, floor=99, head=0)
    assert known(stream) == (0, 99)


def test_a_record_that_comes_late_says_nothing() -> None:
    """All are monotone: the newest record says everything."""
    stream = source()
    assert take(stream, 2, before=0)
    stream.learn(count=6, floor=70, head=2)
    stream.learn(count=4, floor=45, head=2)
    stream.learn(count=0, floor=5, head=0)
    assert known(stream) == (6, 70)


def test_the_newest_record_waits_and_not_an_older_one() -> None:
    stream = source()
    stream.learn(count=8, floor=85, head=8)
    stream.learn(count=4, floor=45, head=2)
    assert take(stream, 2, before=0)
    assert known(stream) == (2, 20)
    assert take(stream, 8, before=2)
    assert known(stream) == (8, 85)


def test_a_new_head_is_asked_for_again_after_a_record_was_used() -> None:
    stream = source()
    stream.learn(count=3, floor=35, head=0)
    stream.learn(count=4, floor=45, head=4)
    assert known(stream) == (3, 35)
    assert take(stream, 4, before=0)
    assert known(stream) == (4, 45)


@pytest.mark.parametrize(
    ("sequence", "before", "stamp"),
    [
        (4, 1, 40),
        (2, 1, 20),
        (9, 5, 90),
        (4, 4, 40),
        (4, 7, 40),
        (4, None, 30),
        (9, None, 80),
        (7, None, 80),
        (9, 3, 30 + LEAP_MAX + 1),
    ],
    ids=[
        "it follows on what another follows on",
        "it is inside of the chain",
        "it follows on what one that waits follows on",
        "it follows on itself",
        "it follows on what is behind it",
        "the stamp of the end of the chain",
        "the stamp of the one before it",
        "the stamp of the one behind it",
        "a stamp far ahead",
    ],
)
def test_a_place_that_cannot_be_is_refused(sequence: int, before: int | None, stamp: int) -> None:
    """A peer's mistake must not spoil the order."""
    stream = source()
    assert take(stream, 1, before=0)
    assert take(stream, 3, before=1)
    assert take(stream, 6, before=5), "it waits for 5"
    assert take(stream, 8), "it is for others"
    assert not take(stream, sequence, before, stamp)
    assert sorted(stream.held) == [1, 3, 6, 8]
    assert (ready(stream), known(stream)) == ([1, 3], (3, 30))


def test_behind_a_record_only_higher_stamps_can_come() -> None:
    stream = source()
    stream.learn(count=2, floor=100, head=0)
    assert not take(stream, 3, before=0, stamp=100)
    assert take(stream, 1, stamp=99), "it was counted, and is not for us"
    assert take(stream, 3, before=0, stamp=101)
    assert known(stream) == (3, 101)


def test_what_is_stable_and_passed_is_forgotten_transit_too() -> None:
    """SP-69, SP-72, P4."""
    stream = source()
    assert take(stream, 1)
    assert take(stream, 2, before=0)
    assert take(stream, 3)
    stream.release(stable=20, cursor=0)
    assert sorted(stream.held) == [2, 3], "transit goes when it is stable; ours is not delivered"
    stream.release(stable=20, cursor=position(20, 0))
    assert sorted(stream.held) == [3]
    stream.release(stable=30, cursor=position(20, 0))
    assert stream.held == {} and stream._numbers == []
    assert stream.released == 3


def test_a_past_in_a_stream_that_is_not_there_is_refused() -> None:
    delivery = Delivery(segments=2, mine=MINE)
    bundle = stamped(1, before=0)
    bundle.service, bundle.early_pasts = Service.CAUSAL, ((2, 1),)
    assert not delivery.add(bundle)
    assert delivery.take() == []


def test_transit_is_kept_until_it_is_stable() -> None:
    stream = source()
    assert take(stream, 1)
    stream.release(stable=9, cursor=position(50, 0))
    assert sorted(stream.held) == [1]
