"""The two halves of a link speak of the same things: what one says, the other understands."""

from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.machine import NEVER
from antiphon.protocol.links.estimate import Path
from antiphon.protocol.links.rate import NO_LIMIT
from antiphon.protocol.links.repair import Receiving, as_runs
from antiphon.protocol.links.sending import Sending
from antiphon.protocol.links.settings import HopSettings
from antiphon.wire.link import LinkAck, LinkObject

SETTINGS = HopSettings(rate_bytes=1_000_000, nack_us=0, nack_us_max=0)
COUNT = 30


def path() -> Path:
    return Path(100_000, 0, 0)


def sent() -> tuple[Sending, list[LinkObject]]:
    sending = Sending(SETTINGS, path())
    for number in range(COUNT):
        sending.backlog.add(bytes([number + 1]) * 100)
    return sending, sending.take(0, 10**6, NO_LIMIT)


def state(receiving: Receiving, runs_max: int) -> LinkAck:
    return LinkAck(receiving.received, 0, 0, 0, 0, receiving.runs(runs_max))


@given(
    order=st.lists(st.integers(0, COUNT - 1), max_size=60),
    looks=st.sets(st.integers(0, 59)),
    runs_max=st.integers(1, 20),
)
def test_an_ack_frees_exactly_what_came_and_a_nack_names_exactly_what_did_not(
    order: list[int], looks: set[int], runs_max: int
) -> None:
    """SP-134 to SP-136, SP-138 to SP-140, SP-145, SP-163: whatever came in whatever order."""
    sending, objects = sent()
    receiving = Receiving(SETTINGS, path())
    came: set[int] = set()
    for step, place in enumerate(order):
        each = objects[place]
        assert receiving.take(step, each) == (each.sequence not in came)
        came.add(each.sequence)
        lacked = {*range(1, max(came))} - came
        assert {*receiving.missing} == lacked
        assert receiving.received == min(lacked, default=max(came) + 1) - 1
        if step in looks:
            sending.acknowledge(state(receiving, runs_max))
            freed = {*range(1, COUNT + 1)} - {*sending.open}
            assert freed <= came and {*range(1, receiving.received + 1)} <= freed
            assert sending.acked == receiving.received
    sending.acknowledge(state(receiving, COUNT))
    assert {*sending.open} == {*range(1, COUNT + 1)} - came
    assert sending.open_bytes == 100 * len(sending.open)
    wanted, _ = receiving.take_due(10**6)
    assert wanted == sorted(receiving.missing)
    sending.request(10**6, 10**6, tuple(as_runs(wanted)))
    repairs = sending.take(10**6, 10**6, NO_LIMIT)
    assert [each.sequence for each in repairs] == wanted
    assert all(receiving.take(10**6, each) and each.repeats == 1 for each in repairs)
    assert not receiving.missing and receiving.next_due() == NEVER


@given(st.sets(st.integers(1, 200)))
def test_runs_are_as_few_as_they_can_be_and_whole(numbers: set[int]) -> None:
    runs = as_runs(sorted(numbers))
    assert {each for first, many in runs for each in range(first, first + many)} == numbers
    assert all(one[0] + one[1] < other[0] for one, other in zip(runs, runs[1:], strict=False))


def test_a_window_in_bytes_stops_new_objects_too() -> None:
    sending = Sending(SETTINGS, path())
    for _ in range(10):
        sending.backlog.add(bytes(100))
    assert len(sending.take(0, 10**6, 250)) == 3, "until it is reached"
    assert not sending.has_work(250)
    sending.acknowledge(LinkAck(1, 0, 0, 0, 0))
    assert sending.has_work(250)


def test_what_came_while_its_repair_waited_is_not_sent_again() -> None:
    sending, _ = sent()
    sending.request(10**6, 10**6, ((3, 2),))
    sending.acknowledge(LinkAck(3, 0, 0, 0, 0))
    assert [each.sequence for each in sending.take(10**6, 10**6, NO_LIMIT)] == [4]
