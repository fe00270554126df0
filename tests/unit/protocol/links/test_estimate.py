"""What the way is found to be like."""

import pytest

from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.protocol.links.estimate import (
    FLOOR_LIFE_US,
    Floor,
    Loss,
    Path,
    Queue,
    Reordering,
    RoundTrip,
    difference,
)
from antiphon.wire.link import CLOCK


def test_clocks_are_compared_across_their_end() -> None:
    assert difference(5, CLOCK - 5) == 10
    assert difference(CLOCK - 5, 5) == -10


def test_a_floor_is_the_lowest_of_the_last_while() -> None:
    floor = Floor()
    assert floor.value() is None
    for now, value in ((0, 50), (10, 30), (20, 40)):
        floor.note(now, value)
    assert floor.value() == 30
    floor.note(FLOOR_LIFE_US // 2 + 20, 60)
    assert floor.value() == 30
    floor.note(FLOOR_LIFE_US + 100, 70)
    assert floor.value() == 60


def test_a_round_trip_is_a_guess_until_it_is_measured() -> None:
    trip = RoundTrip(100 * MILLISECOND)
    assert trip.timeout_us() == 300 * MILLISECOND and not trip.known
    trip.note(0, 40 * MILLISECOND)
    assert (trip.smooth_us, trip.least_us()) == (40_000, 40_000)
    for now in range(1, 60):
        trip.note(now, 40 * MILLISECOND)
    assert trip.timeout_us() <= 43 * MILLISECOND
    trip.note(60, 80 * MILLISECOND)
    assert trip.timeout_us() >= 80 * MILLISECOND
    assert trip.least_us() == 40_000


def test_the_queue_is_what_the_way_takes_longer_than_at_best() -> None:
    """The other clock is far ahead, and passes its end meanwhile."""
    queue = Queue()
    ahead = CLOCK - 20_000
    for now, way_us in ((0, 30_000), (1000, 25_000), (2000, 45_000)):
        queue.note(now, now, (now + way_us + ahead) % CLOCK)
    assert queue.delay_us == 20_000


def test_reordering_is_remembered_and_fades() -> None:
    """SP-148."""
    reordering = Reordering(1000, 50_000)
    assert reordering.patience_us() == 1000
    reordering.came_late(8000)
    assert reordering.patience_us() == 10_000
    reordering.came_late(4000)
    assert reordering.patience_us() == 10_000
    for _ in range(100):
        reordering.was_lost()
    assert reordering.patience_us() < 6000
    reordering.came_late(SECOND)
    assert reordering.patience_us() == 50_000


def test_loss_is_the_share_that_was_asked_for_again() -> None:
    loss = Loss()
    for _ in range(20):
        loss.lost += 20
        loss.note_sent(200)
    assert loss.share == pytest.approx(0.1)
    for _ in range(30):
        loss.note_sent(200)
    assert loss.share < 0.001


def test_repairs_are_waited_for_as_long_as_they_take_but_not_for_ever() -> None:
    path = Path(100_000, 1000, 1000)
    for now in range(50):
        path.round_trip.note(now, 40_000)
        path.repair.note(now, 60_000)
    assert 60_000 <= path.repair_timeout_us() <= 65_000
    for now in range(50, 100):
        path.repair.note(now, SECOND)
    assert path.repair_timeout_us() == 2 * path.round_trip.timeout_us()
