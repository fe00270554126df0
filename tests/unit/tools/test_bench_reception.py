"""What a bench's receiver finds wrong, and what it measures."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.client.events import Closed, Message, Refusal, View
from antiphon.core.service import Service
from antiphon.core.trace import Cause
from antiphon.tools.bench.payload import END, HEAD, MESSAGE, PayloadMaker
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


def reception(service: Service = Service.AGREED, senders: int = 1, **options: Any) -> Reception:
    return Reception(Plan(senders=senders, size=SIZE, services=(service,), **options))


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
            receiving.take(sent(number))
    assert receiving.take(end(100))
    assert receiving.report().lost == 1


def test_two_orders_are_told_apart() -> None:
    orders = []
    for senders in ((0, 1), (1, 0), (0, 1)):
        receiving = reception(senders=2, rate=1.0)
        receiving.window = Window(0, 1, 1)
        for sender in senders:
            receiving.take(sent(1, sender))
        orders.append(receiving.report().order)
    assert orders[0] == orders[2] != orders[1]


def test_only_the_window_is_measured() -> None:
    times = iter([90, 100, 150, 200, 210])
    receiving = Reception(Plan(size=SIZE, rate=1.0), lambda: next(times))
    receiving.window = Window(100, 200, 250)
    for number in range(1, 6):
        receiving.take(sent(number, time=80))
    report = receiving.report()
    assert (report.messages, report.nanoseconds, report.all_messages) == (2, 100, 5)
    assert report.latencies == [70, 120]


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
