"""The window of a segment's stream follows what the ways carry (SP-210)."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.machine import MILLISECOND, SECOND, Instant
from antiphon.protocol.stream.far_window import LEAST_LIFE_US, FarWindow
from antiphon.protocol.stream.settings import StreamSettings

SETTINGS = StreamSettings(far_bytes_min=128 * 1024, far_spare_us=100 * MILLISECOND)
STEP_US = MILLISECOND


class Way:
    """Bytes that were stamped become stable: at a rate, some time later, told now and then."""

    def __init__(self, rate: int, delay_us: int, tell_us: int = STEP_US, load: int = 0) -> None:
        self.window = FarWindow(SETTINGS)
        self.rate = rate
        self.delay_us = delay_us
        self.tell_us = tell_us
        self.load = load
        """Bytes per second that clients have; 0: always more than may be sent."""

        self.now: Instant = 0
        self.stamped = self.crossed = self.stable = 0
        self.owed = 0.0
        self._free_at: Instant = 0
        self._history: list[tuple[Instant, int]] = []
        self.most = 0

    def run(self, us: int) -> int:
        """Bytes per second that became stable."""
        before = self.stable
        for _ in range(us // STEP_US):
            self._step()
        return (self.stable - before) * SECOND // us

    def _step(self) -> None:
        self.now += STEP_US
        room = max(0, self.window.bytes - (self.stamped - self.stable))
        self.owed += self.load * STEP_US / SECOND
        wish = int(self.owed) if self.load else room + 1
        burst = min(room, self.window.burst_bytes()) if self.now >= self._free_at else 0
        sent = min(burst, wish)
        self._free_at = max(self._free_at, self.now + self.window.pause_us(sent))
        self.stamped += sent
        if self.load:
            self.owed -= sent
        self.crossed = min(self.stamped, self.crossed + self.rate * STEP_US // SECOND)
        self._history.append((self.now, self.crossed))
        if self.now % self.tell_us == 0:
            while self._history and self._history[0][0] <= self.now - self.delay_us:
                self.stable = self._history.pop(0)[1]
        self.window.note(self.now, self.stamped, self.stable, sent < wish)
        self.most = max(self.most, self.stamped - self.stable)


def test_a_slow_way_keeps_the_least_window() -> None:
    way = Way(rate=60_000, delay_us=150 * MILLISECOND)
    assert way.run(60 * SECOND) >= 0.97 * 60_000
    assert way.most <= 3 * SETTINGS.far_bytes_min // 2


def test_a_wide_way_is_filled_within_a_second() -> None:
    """40 Mbit/s and 70 ms, 140 there and back."""
    way = Way(rate=5_000_000, delay_us=140 * MILLISECOND, tell_us=25 * MILLISECOND)
    way.run(SECOND)
    assert way.run(30 * SECOND) >= 0.97 * 5_000_000
    assert way.most < SETTINGS.far_bytes_max // 3


def test_sites_that_are_near_get_all_they_can_carry() -> None:
    way = Way(rate=60_000_000, delay_us=2 * MILLISECOND, tell_us=25 * MILLISECOND)
    way.run(SECOND // 5)
    assert way.run(15 * SECOND) >= 0.98 * 60_000_000


def test_a_rate_that_rises_is_found() -> None:
    way = Way(rate=50_000, delay_us=200 * MILLISECOND)
    way.run(20 * SECOND)
    way.rate = 4_000_000
    way.run(4 * SECOND)
    assert way.run(10 * SECOND) >= 0.95 * 4_000_000


def test_a_rate_that_falls_is_followed() -> None:
    way = Way(rate=4_000_000, delay_us=200 * MILLISECOND)
    way.run(10 * SECOND)
    way.rate = 400_000
    way.run(30 * SECOND)
    way.most = 0
    assert way.run(30 * SECOND) >= 0.97 * 400_000
    assert way.most <= 2 * 400_000 * 6 // 10, "twice what it holds, and what a report may wait"


def test_a_queue_is_not_taken_for_distance() -> None:
    """After hours the window is what it was after a minute."""
    way = Way(rate=1_000_000, delay_us=100 * MILLISECOND)
    way.run(60 * SECOND)
    way.most = 0
    way.run(240 * SECOND)
    assert way.most <= 2 * 1_000_000 * 2 // 10 * 5 // 4


def test_a_longer_way_is_found_though_a_short_one_was_known() -> None:
    way = Way(rate=4_000_000, delay_us=5 * MILLISECOND)
    way.run(5 * SECOND)
    way.delay_us = 900 * MILLISECOND
    way.run(2 * LEAST_LIFE_US)
    assert way.run(30 * SECOND) >= 0.9 * 4_000_000


def test_what_queues_anyway_leaves_at_an_even_pace() -> None:
    way = Way(rate=80_000, delay_us=150 * MILLISECOND)
    way.run(30 * SECOND)
    assert 0 < way.window.burst_bytes() <= 80_000 // 50
    assert way.window.pause_us(1_000) >= 1_000 * SECOND // 120_000
    way.load = 10_000
    way.run(10 * SECOND)
    assert way.window.pause_us(1_000) == 0, "and at once, if nothing queues"


def test_a_small_load_says_nothing_of_the_ways() -> None:
    way = Way(rate=2_000_000, delay_us=100 * MILLISECOND)
    way.run(10 * SECOND)
    wide = way.window.bytes
    way.load = 10_000
    way.run(60 * SECOND)
    assert way.window.bytes >= wide * 3 // 4
    way.load = 0
    assert way.run(3 * SECOND) >= 0.9 * 2_000_000, "at once when there is more again"


def test_a_large_bundle_does_not_creep_at_the_rate_of_small_changes() -> None:
    """Its pieces wait and are not stamped; nine bytes of a group change are (site seed 173)."""
    way = Way(rate=2_000_000, delay_us=100 * MILLISECOND)
    way.run(10 * SECOND)
    for _ in range(40):
        way.now += 400 * MILLISECOND
        way.stamped += 9
        way.window.note(way.now, way.stamped, way.stable, True)
        way.now += 900 * MILLISECOND  # far longer than the least: as if something queued
        way.stable = way.crossed = way.stamped
        way.window.note(way.now, way.stamped, way.stable, True)
        assert way.window.pause_us(1_000) <= SECOND // 100


def test_a_round_that_began_with_little_under_way_says_nothing_of_the_ways() -> None:
    """Nine bytes leave, and only then is the window filled (site seed 812)."""
    window = FarWindow(SETTINGS)
    full = SETTINGS.far_bytes_min
    window.note(0, 9, 0, False)
    window.note(200 * MILLISECOND, 9, 9, False)
    window.note(300 * MILLISECOND, 18, 9, False)
    window.note(400 * MILLISECOND, 9 + full, 9, True)
    window.note(2 * SECOND, 9 + full, 18, True)
    assert window.pause_us(1_000) == 0


def test_a_load_that_the_ways_carry_is_never_held_up() -> None:
    """Though it needs more than a quarter of the window, and the way becomes longer."""
    way = Way(rate=130_000, delay_us=300 * MILLISECOND, load=100_000)
    way.run(5 * SECOND)
    way.delay_us = 500 * MILLISECOND
    most = 0.0
    for _ in range(40):
        way.run(SECOND)
        most = max(most, way.owed)
    assert most <= 1_000, "bytes that wait"


def test_a_window_is_never_above_the_common_one() -> None:
    way = Way(rate=100_000_000, delay_us=500 * MILLISECOND)
    way.run(20 * SECOND)
    assert way.most == SETTINGS.far_bytes_max


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3_000_000),
            st.integers(0, 200_000),
            st.integers(0, 200_000),
            st.booleans(),
        ),
        max_size=60,
    ),
    st.integers(1024, 100_000),
)
def test_whatever_happens_something_may_be_stamped_and_not_too_much(
    steps: list[tuple[int, int, int, bool]], least: int
) -> None:
    """It is never zero: nobody waits for ever for a window in which nothing is."""
    settings = replace(SETTINGS, far_bytes_min=least)
    window = FarWindow(settings)
    now = stamped = stable = 0
    for us, more, held, held_up in steps:
        now += us
        stamped += more
        stable = min(stamped, stable + held)
        window.note(now, stamped, stable, held_up)
        assert least // 4 <= window.bytes <= settings.far_bytes_max
        assert window.pause_us(1_400) <= now + settings.far_spare_us
