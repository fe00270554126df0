"""What loss and reordering cost a link at a fixed rate."""

from dataclasses import replace

import pytest

from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.protocol.links.settings import HopSettings
from tests.unit.protocol.links.channel import End, Way, joined, keep_busy

PING_US = 104 * MILLISECOND
"""Mae East to UCSB and back (SP-211)."""

RATE = HopSettings(rate_bytes=1_500_000 // 8)
OBJECTS = 2500


def seconds(loss: float, settings: HopSettings = RATE) -> tuple[float, End, End]:
    """For a stream of 1024-byte objects, with loss in both directions (SP-221)."""
    one, two = joined(settings, Way(PING_US // 2, loss=loss), seed=3)
    keep_busy(one, OBJECTS)
    one.clockwork.run(120 * SECOND, lambda: len(two.arrived) >= OBJECTS)
    assert len(set(two.arrived)) == OBJECTS
    return one.clockwork.now / SECOND, one, two


@pytest.fixture(scope="module")
def lossless() -> float:
    return seconds(0)[0]


@pytest.mark.parametrize(("loss", "kept"), [(0.05, 0.925), (0.1, 0.85), (0.2, 0.75)])
def test_throughput_falls_little_more_than_what_is_lost(
    loss: float, kept: float, lossless: float
) -> None:
    """SP-218, SP-220: the paper keeps 92.0, 80.8 and 72.2 percent."""
    took, one, two = seconds(loss)
    assert lossless / took >= kept
    assert two.hop.receiving.duplicates <= OBJECTS // 100, "hardly anything is sent in vain"
    assert one.hop.path.loss.share == pytest.approx(loss, rel=0.5)


def test_repeated_objects_are_charged_to_the_rate() -> None:
    """SP-159, X-03."""
    took, one, _ = seconds(0.2)
    sent = sum(packet.size for packet in one.packets if packet.objects)
    assert one.hop.sending.repeated > OBJECTS // 5
    assert sent <= RATE.rate_bytes * took + RATE.burst_bytes + RATE.packet_bytes


def latencies(loss: float, load: float) -> list[int]:
    """One-way times of objects sent at a steady pace."""
    one, two = joined(RATE, Way(PING_US // 2, loss=loss), seed=5)
    pace_us = round(1100 * SECOND / (RATE.rate_bytes * load))
    for number in range(1000):
        data = number.to_bytes(4, "big") * 256
        one.clockwork.at(number * pace_us, lambda data=data: one.send(data))
    one.clockwork.run(60 * SECOND)
    assert len(two.arrived) == 1000
    return [
        at - int.from_bytes(data[:4], "big") * pace_us
        for data, at in zip(two.arrived, two.arrived_at, strict=True)
    ]


def test_latency_is_that_of_the_network_up_to_a_high_load() -> None:
    """SP-213, SP-217: at most 5 percent over half a ping, idle or at four fifths of the rate."""
    for load in (0.1, 0.8):
        times = latencies(0, load)
        assert sum(times) / len(times) <= 1.05 * PING_US / 2


def test_a_loss_delays_what_was_lost_and_nothing_else() -> None:
    """SP-118, SP-124: all others take half a ping, however much is missing before them."""
    times = sorted(latencies(0.1, 0.5))
    assert times[int(len(times) * 0.88)] <= 1.05 * PING_US / 2
    assert times[-1] > PING_US


def false_requests(settings: HopSettings) -> tuple[int, End]:
    """One packet in a hundred comes 8 ms late, overtaken by several others."""
    way = Way(PING_US // 2, swapped=0.01, swap_us=8 * MILLISECOND)
    one, two = joined(replace(settings, rate_bytes=1_000_000), way, way, seed=2)
    keep_busy(one, OBJECTS)
    one.clockwork.run(60 * SECOND)
    assert len(two.arrived) == OBJECTS
    return two.hop.receiving.false_requests, two


def test_a_short_delay_before_asking_avoids_false_losses() -> None:
    """SP-148, SP-149: about one percent without the delay; the delay learns how long to wait."""
    without, _ = false_requests(HopSettings(nack_us=0, nack_us_max=0))
    fixed, _ = false_requests(HopSettings(nack_us=10 * MILLISECOND, nack_us_max=10 * MILLISECOND))
    learned, two = false_requests(HopSettings())
    assert without >= OBJECTS // 200
    assert fixed == 0
    assert learned <= 3
    patience_us = two.hop.path.reordering.patience_us()
    assert 8 * MILLISECOND <= patience_us <= 12 * MILLISECOND
    assert two.hop.receiving.late >= OBJECTS // 200


def test_the_delay_is_short_again_when_nothing_comes_late_any_more() -> None:
    """SP-243: a repair is there long before the window is full."""
    _, two = false_requests(HopSettings())
    reordering = two.hop.path.reordering
    for _ in range(1000):
        reordering.was_lost()
    assert reordering.patience_us() == HopSettings().nack_us
