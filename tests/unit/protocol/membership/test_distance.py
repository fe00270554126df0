"""How far a leader is: round trips by echoed clocks, loss by missing numbers."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.weights import measured_weight
from antiphon.protocol.membership.distance import MOVED_MIN, TRIPS, UNKNOWN, Distance
from antiphon.wire.control import NO_TIMES, Times
from antiphon.wire.link import CLOCK, NOTHING_HEARD

BORN = 5_000_000
GREET_US = 150_000
SKEW = 123_456_789
"""Their clock shows other numbers than mine."""


class Pair:
    """A leader and one far away, which greet each other."""

    def __init__(self, way_us: int, back_us: int, start: int = BORN) -> None:
        self.there_us = way_us
        self.back_us = back_us
        self.now = start
        self.start = start
        self.mine = Distance()
        self.theirs = Distance()
        self.number = 0
        self.told = 0

    def exchange(self, lost: bool = False) -> None:
        """I greet; somewhat later they do."""
        self.number += 1
        self.now += GREET_US
        their_time = self.now + self.there_us + SKEW
        echo = self.mine.echo(self.now)
        self.theirs.hear(their_time, Times(self.number, self.now % CLOCK, *echo), CLOCK)
        their_time += 40_000
        answer = Times(self.number, their_time % CLOCK, *self.theirs.echo(their_time))
        self.now = their_time - SKEW + self.back_us
        if not lost:
            self.told += self.mine.hear(self.now, answer, self.now - self.start)


@given(st.integers(50, 300_000), st.integers(50, 300_000), st.sampled_from([BORN, CLOCK - 200_000]))
def test_the_round_trip_is_exact_whatever_the_clocks_show(there: int, back: int, at: int) -> None:
    """SP-44."""
    pair = Pair(there, back, at)
    for _ in range(3):
        pair.exchange()
    assert pair.mine.round_trip_us == there + back
    assert pair.mine.weight == measured_weight(there + back, 0.0)
    assert pair.theirs.round_trip_us == there + back


def test_nothing_is_known_before_the_first_echo() -> None:
    distance = Distance()
    assert distance.echo(9) == (0, NOTHING_HEARD)
    assert not distance.hear(BORN, NO_TIMES._replace(number=1, clock=7), BORN)
    assert distance.round_trip_us is None and distance.weight == UNKNOWN
    assert distance.echo(BORN + 5) == (7, 5)


def test_an_echo_from_before_my_life_tells_nothing() -> None:
    distance = Distance()
    assert not distance.hear(BORN, Times(1, 7, BORN - 2_000_000, 1_900_000), 1_999_999)
    assert distance.round_trip_us is None
    assert distance.hear(BORN, Times(2, 7, BORN - 2_000_000, 1_900_000), 2_000_000)
    assert distance.round_trip_us == 100_000


def test_a_queue_is_no_distance_and_a_longer_way_is_noticed_in_time() -> None:
    pair = Pair(20_000, 20_000)
    for _ in range(100):
        pair.back_us = 20_000 + Random(pair.number).randrange(30_000)
        pair.exchange()
    assert pair.mine.round_trip_us == pytest.approx(40_000, rel=0.3)
    pair.back_us = 200_000
    for _ in range(TRIPS):
        pair.exchange()
    assert pair.mine.round_trip_us == 220_000


def test_loss_makes_a_way_longer() -> None:
    """A lost object comes a round trip later."""
    pair = Pair(20_000, 20_000)
    draw = Random(3)
    for _ in range(400):
        pair.exchange(lost=draw.random() < 0.2)
    assert pair.mine.loss == pytest.approx(0.2, abs=0.12)
    assert pair.theirs.loss == 0.0
    assert pair.mine.weight > pair.theirs.weight == 200, "each direction has its own loss"


def test_what_comes_late_or_twice_was_not_lost() -> None:
    distance = Distance()
    for number in (1, 3, 2, 2, 4, 5):
        distance.hear(BORN, NO_TIMES._replace(number=number, clock=number), BORN)
    assert distance.loss == 0.0
    assert distance.echo(BORN) == (5, 0)


def test_a_first_greeting_with_a_high_number_is_no_loss() -> None:
    distance = Distance()
    distance.hear(BORN, NO_TIMES._replace(number=900), BORN)
    assert distance.loss == 0.0


@pytest.mark.parametrize("way_us", [500, 5_000, 80_000])
def test_noise_is_not_told(way_us: int) -> None:
    """A report is renewed only when a weight moved by a quarter and 1 ms."""
    draw = Random(1)
    pair = Pair(way_us, way_us)
    for _ in range(1_000):
        pair.back_us = way_us + int(way_us * draw.random() / 2)
        pair.exchange(lost=draw.random() < 0.03)
    assert 1 <= pair.told <= 3


def test_a_short_way_that_became_a_little_longer_is_the_same() -> None:
    pair = Pair(100, 100)
    pair.exchange()
    pair.back_us = 1_500
    for _ in range(2 * TRIPS):
        pair.exchange()
    assert pair.mine.weight == 1
    pair.back_us = 100 + 2 * 100 * MOVED_MIN
    for _ in range(2 * TRIPS):
        pair.exchange()
    assert pair.mine.weight == 1 + MOVED_MIN
