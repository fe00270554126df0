"""The model of a link, driven by a made-up clock: delay, order, bandwidth, loss and the queue."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.tools.wan.link import GONE, NS_PER_MS, LinkModel
from antiphon.tools.wan.topology import LinkSettings

BYTES = 1250
"""One millisecond at 10 Mbit/s."""

PACKETS = 2000


def model(seed: int = 7, **settings: Any) -> LinkModel:
    return LinkModel(LinkSettings(**settings), Random(seed))


def outs(link: LinkModel, count: int = PACKETS, every_ns: int = NS_PER_MS) -> list[int]:
    return [link.enter(n * every_ns, BYTES) for n in range(count)]


def test_a_wire_delays_nothing() -> None:
    assert outs(model(), 3) == [0, NS_PER_MS, 2 * NS_PER_MS]


def test_the_delay_is_added() -> None:
    assert model(delay_ms=52.5).enter(1000, BYTES) == 1000 + 52_500_000


def test_bandwidth_takes_time_for_each_byte_and_packets_wait_for_each_other() -> None:
    link = model(mbit=10.0, delay_ms=5.0, queue_kb=1000.0)
    assert [link.enter(0, BYTES) for _ in range(3)] == [6_000_000, 7_000_000, 8_000_000]
    assert link.enter(3 * NS_PER_MS, BYTES // 2) == 8_500_000, "the queue is empty again"


def test_a_full_queue_drops_what_comes() -> None:
    link = model(mbit=10.0, queue_kb=5.0)
    results = [link.enter(0, BYTES) for _ in range(10)]
    assert results == [NS_PER_MS * (n + 1) for n in range(4)] + [GONE] * 6
    assert (link.packets, link.bytes, link.dropped, link.lost) == (4, 4 * BYTES, 6, 0)
    assert link.enter(NS_PER_MS, BYTES) != GONE, "one has left since"
    assert link.enter(NS_PER_MS, BYTES) == GONE


def test_a_queue_shorter_than_a_packet_lets_single_ones_pass() -> None:
    link = model(mbit=10.0, queue_kb=1.0)
    assert link.enter(0, BYTES) == NS_PER_MS
    assert link.enter(0, BYTES) == GONE
    assert link.enter(NS_PER_MS, BYTES) == 2 * NS_PER_MS


@given(st.lists(st.tuples(st.integers(0, 3_000_000), st.integers(20, 1500)), max_size=50))
def test_never_more_than_the_bandwidth_nor_more_than_the_queue(
    steps: list[tuple[int, int]],
) -> None:
    link, now, last, queue_ns = model(mbit=10.0, queue_kb=4.0), 0, 0, 4000 * 800
    for gap, size in steps:
        now += gap
        out = link.enter(now, size)
        if out == GONE:
            assert last - now + size * 800 > queue_ns
        else:
            assert out == max(now, last) + size * 800
            assert out - now <= queue_ns
            last = out


def test_losses_come_as_often_as_they_should_and_have_used_the_bandwidth() -> None:
    link = model(loss=0.1, mbit=10.0)
    assert outs(link).count(GONE) == link.lost
    assert link.packets == PACKETS and link.dropped == 0
    assert abs(link.lost - 200) < 60
    link = model(loss=1.0, mbit=10.0)
    assert link.enter(0, BYTES) == GONE
    link.change(LinkSettings(mbit=10.0))
    assert link.enter(0, BYTES) == 2 * NS_PER_MS, "it waited for the lost one"


def test_jitter_keeps_the_order_unless_told_otherwise() -> None:
    in_order = outs(model(delay_ms=10.0, jitter_ms=8.0))
    assert in_order == sorted(in_order)
    delays = [out - n * NS_PER_MS for n, out in enumerate(in_order)]
    assert 10 * NS_PER_MS <= min(delays) and max(delays) <= 18 * NS_PER_MS
    assert max(delays) - min(delays) > 6 * NS_PER_MS
    mixed = outs(model(delay_ms=10.0, jitter_ms=8.0, overtake=True))
    assert mixed != sorted(mixed)
    assert all(10 <= (out / NS_PER_MS - n) <= 18 for n, out in enumerate(mixed))


def test_a_reordered_packet_is_overtaken_and_holds_up_nobody() -> None:
    link = model(delay_ms=10.0, reorder=0.05, reorder_ms=3.5)
    late = [out - n * NS_PER_MS for n, out in enumerate(outs(link))]
    assert set(late) == {10 * NS_PER_MS, 13_500_000}
    assert late.count(13_500_000) == link.reordered
    assert abs(link.reordered - 100) < 40


def test_the_same_seed_does_the_same() -> None:
    def run(seed: int) -> list[int]:
        return outs(model(seed, loss=0.1, jitter_ms=3.0, reorder=0.1))

    assert run(7) == run(7) != run(8)


@pytest.mark.parametrize("change", [{"loss": 1.0}, {"delay_ms": 9.0}, {"mbit": 1.0}])
def test_a_change_holds_from_the_next_packet_on(change: dict[str, Any]) -> None:
    link = model(delay_ms=1.0)
    assert link.enter(0, BYTES) == NS_PER_MS
    link.change(LinkSettings(**change))
    assert link.enter(0, BYTES) == model(**change).enter(0, BYTES) != NS_PER_MS
