"""What a bench's receiver finds wrong, and what it measures."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.client.events import Closed, Message, Refusal, View
from antiphon.core.service import Service
from antiphon.core.trace import Cause
from antiphon.tools.bench.payload import (
    END,
    HEAD,
    MESSAGE,
    SHORT_SIZE_MAX,
    VARIANTS,
    PayloadMaker,
    payloads_until,
    portion_of,
    row_of,
)
from antiphon.tools.bench.plan import Plan, Window
from antiphon.tools.bench.reception import BenchFailed, Reception
from antiphon.tools.bench.round_trips import RoundTrips

SIZE = 60
TIME = range(8, 16)
"""Of the head: the bytes that nobody can know."""


def message(payload: bytes, kind: int = MESSAGE) -> Message:
    origin: Any = None
    return Message.alone(origin, 1, "#s#1", ("g",), payload, Service.AGREED, kind, None, False)


def sent(number: int, sender: int = 0, time: int = 0, size: int = SIZE) -> Message:
    return message(PayloadMaker(sender, size).make(number, time))


def end(last: int, sender: int = 0) -> Message:
    return message(PayloadMaker(sender, SIZE).make(last, 0), END)


def reception(service: Service = Service.AGREED, senders: int = 1, rate: float = 1.0) -> Reception:
    """Which checks each message as it comes; if there is no rate, portions of them."""
    return Reception(Plan(senders=senders, size=SIZE, services=(service,), rate=rate))


def portion(first: int = 1, sender: int = 0, time: int = 7) -> list[Message]:
    """As many as are compared as a whole; the last tells the time."""
    count = portion_of(SIZE)
    return [
        sent(number, sender, 0 if number % count else time)
        for number in range(first, first + count)
    ]


def take_all(receiving: Reception, events: list[Message]) -> bool:
    return any([receiving.take(event) for event in events])


def test_a_run_is_over_when_all_senders_have_ended() -> None:
    receiving = reception(senders=2)
    assert not receiving.take(sent(1))
    assert not receiving.take(sent(1, sender=1))
    assert not receiving.take(end(1))
    assert not receiving.take(sent(2, sender=1))
    assert receiving.take(end(2, sender=1))
    assert receiving.count == 3


@given(at=st.integers(0, SIZE - 1).filter(lambda at: at not in TIME), change=st.integers(1, 255))
def test_every_changed_byte_is_found(at: int, change: int) -> None:
    spoiled = bytearray(sent(1).payload)
    spoiled[at] ^= change
    with pytest.raises(BenchFailed):
        reception().take(message(bytes(spoiled)))


@given(
    which=st.integers(0, portion_of(SIZE) - 1),
    at=st.integers(0, SIZE - 1),
    change=st.integers(1, 255),
)
def test_every_changed_byte_of_a_portion_is_found(which: int, at: int, change: int) -> None:
    events = portion()
    spoiled = bytearray(events[which].payload)
    spoiled[at] ^= change
    events[which] = message(bytes(spoiled))
    receiving = reception(rate=0)
    receiving.window = Window(0, 1, 1)
    if at in TIME:  # a time that was not asked for is not what was sent, but nothing is lost
        assert not take_all(receiving, events)
        assert receiving.count == len(events)
    else:
        with pytest.raises(BenchFailed):
            take_all(receiving, events)


def test_a_byte_that_moved_to_the_next_message_is_found() -> None:
    events = portion()
    one, two = events[4].payload, events[5].payload
    events[4:6] = message(one[:-1]), message(one[-1:] + two)
    with pytest.raises(BenchFailed):
        take_all(reception(rate=0), events)


def test_a_hole_between_portions_is_found() -> None:
    receiving = reception(rate=0)
    assert not take_all(receiving, portion())
    with pytest.raises(BenchFailed, match=f"message {portion_of(SIZE) + 2} of sender 0"):
        take_all(receiving, portion(portion_of(SIZE) + 2))


def test_portions_are_compared_as_a_whole_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(*_: object) -> bool:
        raise AssertionError("looked at one by one")

    monkeypatch.setattr(Reception, "_take_one", nobody)
    times = iter([100, 150, 200, 210])
    receiving = Reception(Plan(senders=2, size=SIZE), lambda: next(times))
    receiving.window = Window(100, 200, 250)
    count = portion_of(SIZE)
    for first, sender in ((1, 0), (1, 1), (count + 1, 1), (count + 1, 0)):
        assert not take_all(receiving, portion(first, sender, time=80))
    report = receiving.report()
    assert (report.messages, report.nanoseconds, report.all_messages) == (2 * count, 100, 4 * count)
    assert report.latencies == [70, 120]


def test_an_end_ends_its_portion() -> None:
    receiving = reception(rate=0)
    assert not take_all(receiving, portion()[:10])
    assert receiving.take(end(10))
    assert receiving.count == 10


SIZES = [16, SIZE, SHORT_SIZE_MAX, SHORT_SIZE_MAX + 1, 5_000]


@given(
    sender=st.integers(0, 300),
    first=st.integers(1, 1 << 20),
    size=st.sampled_from(SIZES),
)
def test_a_row_is_what_a_sender_makes(sender: int, first: int, size: int) -> None:
    make, row = PayloadMaker(sender, size).make, row_of(sender, size)
    for count in (40, 1, 64, 300):  # one after the other, within blocks and across them
        expected = [make(number, 0) for number in range(first, first + count)]
        assert list(row.messages(first, count)) == expected
        assert row.are(expected, first, told=first - 1)
        first += count


@given(data=st.data(), first=st.integers(1, 600), size=st.sampled_from(SIZES))
def test_a_row_with_any_other_byte_is_not_what_comes_next(
    data: st.DataObject, first: int, size: int
) -> None:
    row, told = row_of(3, size), first + 5
    messages = list(row.messages(first, 40))
    at, change = data.draw(st.integers(0, 39)), data.draw(st.integers(1, 255))
    where = data.draw(st.integers(0, size - 1))
    spoiled = bytearray(messages[at])
    spoiled[where] ^= change
    messages[at] = bytes(spoiled)
    assert row.are(messages, first, told) == (at == 5 and where in TIME)


@given(cuts=st.lists(st.integers(1, 200), max_size=8), missing=st.integers(0, 398))
def test_it_does_not_matter_how_many_come_together(cuts: list[int], missing: int) -> None:
    count = 400
    good = [sent(number, time=0 if number % portion_of(SIZE) else 7) for number in range(1, count)]
    good.append(end(count - 1))
    receiving, rest = reception(rate=0), good
    for cut in cuts:
        assert not receiving.take_many(rest[: min(cut, len(rest) - 1)])
        rest = rest[min(cut, len(rest) - 1) :]
    assert receiving.take_many(rest) and receiving.count == count - 1
    bad = [*good[:missing], *good[missing + 1 :]]
    failing = reception(rate=0)
    with pytest.raises(BenchFailed):
        for at in range(0, len(bad), 150):
            failing.take_many(bad[at : at + 150])


def test_the_last_of_each_portion_tells_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([1, 2, 3, 4, 10])
    monkeypatch.setattr("time.monotonic_ns", lambda: next(times))
    payloads = list(payloads_until(10, sender=3, size=SIZE))
    heads = [HEAD.unpack_from(payload) for payload in payloads]
    count = portion_of(SIZE)
    assert [number for _, number, _ in heads] == list(range(1, 2 * count + 1))
    assert {number: time for _, number, time in heads if time} == {count: 2, 2 * count: 4}
    assert count > VARIANTS


@pytest.mark.parametrize("size", [0, HEAD.size - 1, HEAD.size, SIZE - 1, SIZE + 1])
def test_every_other_size_is_found(size: int) -> None:
    payload = (sent(1).payload + b"\0")[:size]
    with pytest.raises(BenchFailed):
        reception().take(message(payload))


def test_the_filler_of_another_message_is_found() -> None:
    mixed = sent(1).payload[: HEAD.size] + sent(2).payload[HEAD.size :]
    with pytest.raises(BenchFailed, match="other bytes"):
        reception().take(message(mixed))


@pytest.mark.parametrize("second", [1, 3])
@pytest.mark.parametrize("service", [Service.FIFO, Service.CAUSAL, Service.AGREED, Service.SAFE])
def test_a_sequence_with_a_hole_or_a_repeat_is_found(service: Service, second: int) -> None:
    receiving = reception(service)
    receiving.take(sent(1))
    with pytest.raises(BenchFailed, match="not 2"):
        receiving.take(sent(second))


def test_an_end_before_the_last_message_is_found() -> None:
    receiving = reception()
    receiving.take(sent(1))
    with pytest.raises(BenchFailed, match="ended after 2, not 1"):
        receiving.take(end(2))


def test_reliable_messages_may_come_in_any_order_but_must_come() -> None:
    receiving = reception(Service.RELIABLE)
    assert not receiving.take(sent(3))
    assert not receiving.take(sent(1))
    assert not receiving.take(end(3))
    assert "1 messages are missing" in receiving.standing()
    assert receiving.take(sent(2))


def test_reliable_messages_may_not_come_twice() -> None:
    receiving = reception(Service.RELIABLE)
    receiving.take(sent(2))
    with pytest.raises(BenchFailed, match="twice"):
        receiving.take(sent(2))


def test_lost_unreliable_messages_are_counted() -> None:
    receiving = reception(Service.UNRELIABLE)
    receiving.window = Window(0, 1, 1)
    for number in range(1, 101):
        if number != 40:
            receiving.take(sent(number, time=1))
    assert receiving.take(end(100))
    assert receiving.report().lost == 1


@given(
    one=st.permutations([0] * 6 + [1] * 6),
    other=st.permutations([0] * 6 + [1] * 6),
    rate=st.sampled_from([0.0, 1.0]),
)
def test_two_orders_are_told_apart(one: list[int], other: list[int], rate: float) -> None:
    """However the messages were checked."""
    orders = []
    for senders, rate_of in ((one, 1.0), (other, rate)):
        receiving = reception(senders=2, rate=rate_of)
        receiving.window = Window(0, 1, 1)
        numbers = [0, 0]
        for sender in senders:
            numbers[sender] += 1
            receiving.take(sent(numbers[sender], sender, time=1))
        if receiving.held:
            receiving.check()
        orders.append(receiving.report().order)
    assert (orders[0] == orders[1]) == (one == other)


def test_only_the_window_is_measured() -> None:
    times = iter([90, 100, 150, 200, 210])
    receiving = Reception(Plan(size=SIZE, rate=1.0), lambda: next(times))
    receiving.window = Window(100, 200, 250)
    for number in range(1, 6):
        receiving.take(sent(number, time=80))
    report = receiving.report()
    assert (report.messages, report.nanoseconds, report.all_messages) == (2, 100, 5)
    assert report.latencies == [70, 120]


def test_rates_of_turns_are_to_the_last_message_of_each() -> None:
    second = 1_000_000_000
    plan = Plan(size=SIZE, rate=1.0, turns=2, turn=1)
    marks = [1.5, 3.25, 3.5, 5.1, 7.5]  # in turns that began at 1, 3, 5 and 7
    times = iter([int(mark * second) for mark in marks])
    receiving = Reception(plan, lambda: next(times))
    receiving.window = Window(2 * second, 6 * second, 7 * second)
    for number in range(1, 6):
        receiving.take(sent(number, time=1))
    assert receiving.report().rates == pytest.approx([2 / 0.5, 1 / 0.1])


def test_a_window_in_which_nothing_came_is_no_measurement() -> None:
    with pytest.raises(BenchFailed, match="nothing came"):
        reception().report()


def test_a_split_of_the_daemons_ends_the_bench_with_its_evidence() -> None:
    id: Any = None
    joined = View("g", id, (), (), Cause.JOIN, "")
    assert not reception().take(joined)
    split = View("g", id, (), (), Cause.NETWORK, "two accused three")
    with pytest.raises(BenchFailed, match="two accused three"):
        reception().take(split)


@pytest.mark.parametrize("event", [Closed("slow"), Refusal("not_allowed", "send", "ask")])
def test_an_end_or_a_refusal_is_told(event: Closed | Refusal) -> None:
    with pytest.raises(BenchFailed, match="slow|not_allowed"):
        reception().take(event)


def test_a_round_trip_is_measured_once_and_only_in_the_window() -> None:
    trips = RoundTrips(Window(100, 200, 250), lambda: 170)
    for number, time in ((1, 90), (2, 150)):
        trips.sent(number, sent(number, time=time).payload)
        trips.take(sent(number, time=time))
    assert trips.times == [20]
    assert not len(trips)
    with pytest.raises(BenchFailed, match="twice"):
        trips.take(sent(2, time=150))


def test_an_echo_with_other_bytes_is_found() -> None:
    trips = RoundTrips(Window(0, 9, 9), lambda: 5)
    trips.sent(1, sent(1).payload)
    with pytest.raises(BenchFailed, match="other bytes"):
        trips.take(message(sent(1).payload[:-1] + b"?"))
