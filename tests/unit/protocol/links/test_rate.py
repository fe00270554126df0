"""How fast a link sends: the bucket's arithmetic, and a rate that finds itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.protocol.links.automatic import AutomaticRate, Phase
from antiphon.protocol.links.rate import Bucket, Report
from antiphon.protocol.links.settings import HopSettings
from tests.unit.protocol.links.channel import End, Way, joined, keep_busy
from tests.unit.protocol.links.rival import Rival

BOTTLENECK = 1_250_000
"""10 Mbit/s."""

HALF_US = 20 * MILLISECOND
PIPE_BYTES = BOTTLENECK * 2 * HALF_US // SECOND


@given(
    rate=st.integers(1000, 10**8),
    burst=st.integers(1400, 10**5),
    steps=st.lists(st.tuples(st.integers(0, 50_000), st.integers(1, 1400)), max_size=60),
)
def test_a_bucket_lets_through_a_burst_and_then_the_rate(
    rate: int, burst: int, steps: list[tuple[int, int]]
) -> None:
    """SP-165: in any time, no more than burst and rate give, and one packet that was begun."""
    bucket = Bucket(0, rate, burst)
    now = sent = 0
    for wait_us, size in steps:
        now += wait_us
        bucket.fill(now)
        while not bucket.is_empty():
            bucket.charge(size)
            sent += size
        assert sent <= burst + rate * now / SECOND + 1400
        now = bucket.empty_until(now)
        bucket.fill(now)
        assert not bucket.is_empty(), "it says when it may go on, and keeps its word"


def flow(queue: float, loss: float = 0.0, jitter_us: int = 0, seed: int = 1) -> tuple[End, End]:
    """A link over the bottleneck; `queue` in bandwidth times delay."""
    there = Way(HALF_US, jitter_us, loss, 0.0, BOTTLENECK, int(queue * PIPE_BYTES))
    one, two = joined(HopSettings(), there, Way(HALF_US, jitter_us, loss), seed=seed)
    assert isinstance(one.hop.rate, AutomaticRate)
    return one, two


def used(one: End, two: End, begin_s: int, end_s: int) -> tuple[float, float]:
    """Share of the bottleneck that arrived, and the mean time in the queue, in ms."""
    queue_us: list[int] = []
    clock = one.clockwork

    def look() -> None:
        assert one.line is not None
        queue_us.append(one.line.waiting_us())
        clock.at(clock.now + 10 * MILLISECOND, look)

    clock.run(begin_s * SECOND)
    before = two.hop.delivered_bytes
    look()
    clock.run(end_s * SECOND)
    arrived = two.hop.delivered_bytes - before
    mean_ms = sum(queue_us) / len(queue_us) / MILLISECOND
    return arrived / (BOTTLENECK * (end_s - begin_s)), mean_ms


@pytest.mark.parametrize(("queue", "jitter_us"), [(2.0, 0), (0.5, 0), (2.0, 3000)])
def test_the_rate_finds_the_bottleneck_and_leaves_its_queue_short(
    queue: float, jitter_us: int
) -> None:
    one, two = flow(queue, jitter_us=jitter_us)
    keep_busy(one, 10**9)
    share, queue_ms = used(one, two, 2, 6)
    assert 0.85 <= share <= 1.0
    assert queue_ms <= 12


@pytest.mark.parametrize("loss", [0.02, 0.1])
def test_random_loss_takes_what_it_takes_and_no_more(loss: float) -> None:
    """A loss-based flow would be left with a tenth."""
    one, two = flow(2.0, loss)
    keep_busy(one, 10**9)
    share, queue_ms = used(one, two, 2, 6)
    assert share >= 0.85 * (1 - loss)
    assert queue_ms <= 25


@pytest.mark.parametrize(("queue", "link_first"), [(1.0, True), (2.0, False), (4.0, True)])
def test_a_flow_that_fills_the_queue_gets_its_share_and_leaves_ours(
    queue: float, link_first: bool
) -> None:
    """Each has 25 to 75 percent, whoever came first."""
    one, two = flow(queue)
    clock = one.clockwork
    assert one.line is not None
    rival = Rival(clock, one.line, HALF_US)
    starts = [lambda: keep_busy(one, 10**9), rival.start]
    for at_s, start in zip((0, 3), starts if link_first else starts[::-1], strict=True):
        clock.at(at_s * SECOND, start)
    clock.run(4 * SECOND)
    before = rival.delivered_bytes
    share, _ = used(one, two, 4, 19)
    theirs = (rival.delivered_bytes - before) / (BOTTLENECK * 15)
    assert 0.25 <= share <= 0.75
    assert 0.25 <= theirs <= 0.75


def test_when_the_other_flow_ends_the_queue_is_left_short_again() -> None:
    one, two = flow(2.0)
    assert one.line is not None
    rival = Rival(one.clockwork, one.line, HALF_US)
    keep_busy(one, 10**9)
    rival.start()
    one.clockwork.run(10 * SECOND)
    assert one.hop.rate.phase is Phase.CONTEND
    rival.stopped = True
    share, queue_ms = used(one, two, 17, 20)
    assert share >= 0.85 and queue_ms <= 12


def test_two_links_share() -> None:
    one, two = flow(2.0)
    three, four = joined(HopSettings(), Way(HALF_US), clockwork=one.clockwork)
    three.line = one.line
    keep_busy(one, 10**9)
    one.clockwork.at(3 * SECOND, lambda: keep_busy(three, 10**9))
    first, _ = used(one, two, 5, 15)
    second = four.hop.delivered_bytes / (BOTTLENECK * 12)
    assert 0.25 <= first <= 0.75 and 0.25 <= second <= 0.75


def test_a_link_with_little_to_send_keeps_what_it_knows() -> None:
    """Silence is no sign of a slow network."""
    one, _ = flow(2.0)
    keep_busy(one, 5000)
    one.clockwork.run(6 * SECOND)
    known = one.hop.rate.capacity
    for number in range(200):
        one.clockwork.at(6 * SECOND + number * 100 * MILLISECOND, lambda: one.send(b"little"))
    one.clockwork.run(30 * SECOND)
    assert one.hop.rate.capacity == known


def test_single_messages_do_not_raise_the_rate_of_a_new_link() -> None:
    """Whoever has little to send learns nothing; a flood after that starts as on a new link."""
    one, _ = flow(0.5)
    first = one.hop.rate.rate_bytes
    for number in range(30):
        one.clockwork.at(number * 100 * MILLISECOND, lambda: one.send(bytes(1024)))
    one.clockwork.run(4 * SECOND)
    assert one.hop.rate.rate_bytes == first
    keep_busy(one, 10**9)
    one.clockwork.run(6 * SECOND)
    assert one.line is not None and one.line.dropped <= 300


def test_a_rate_stays_within_its_limits() -> None:
    settings = HopSettings(rate_bytes_max=300_000)
    one, two = joined(settings, Way(HALF_US))
    keep_busy(one, 10**9)
    one.clockwork.run(5 * SECOND)
    assert 4 * 300_000 <= two.hop.delivered_bytes <= 5 * 300_000 + settings.burst_bytes


def test_a_new_link_is_not_compared_with_the_old_one() -> None:
    """Its totals and the other end's clock are others."""
    rate = AutomaticRate(HopSettings())
    before = rate.capacity
    rate.heard(0, Report(10_000, 0, 0, 40_000, 40_000, 100, 0))
    rate.begin()
    later = 100 * MILLISECOND
    rate.heard(later, Report(10**9, later, 0, 40_000, 40_000, 200, 0))
    assert rate.capacity == before
    rate.heard(2 * later, Report(10**9 + 10**6, 2 * later, 0, 40_000, 40_000, 300, 0))
    assert rate.capacity == 10**7


def test_a_word_of_more_delivered_than_can_be_stays_within_the_limits() -> None:
    settings = HopSettings()
    rate = AutomaticRate(settings)
    for step, delivered in enumerate((0, 2**63, 5, 2**63)):
        rate.heard(step * SECOND, Report(delivered, step * SECOND, 0, 40_000, 40_000, 0, 0))
        assert settings.rate_bytes_min <= rate.rate_bytes <= settings.rate_bytes_max
        assert rate.window_bytes > 0


def test_usual_loss_is_made_up_for_but_not_while_the_queue_is_to_empty() -> None:
    """Who began behind a full queue takes what is lost there for usual. Only DOWN can show it
    better, and not if it sends the more for that."""
    rate = AutomaticRate(HopSettings())
    seen = set()
    for round in range(60):
        sent = 50 * round
        report = Report(
            delivered=600 * sent,
            arrived=50 * MILLISECOND * round,
            queue_us=0,
            round_trip_us=40 * MILLISECOND,
            least_us=40 * MILLISECOND,
            sent=sent,
            lost=sent * 4 // 10,
        )
        rate.heard(50 * MILLISECOND * round, report)
        if round < 20:
            continue
        seen.add(rate.phase)
        if rate.phase is Phase.DOWN:
            assert rate.rate_bytes <= 0.6 * rate.capacity
        elif rate.phase is Phase.CRUISE:
            assert rate.rate_bytes >= 1.3 * rate.capacity
    assert {Phase.DOWN, Phase.CRUISE} <= seen
