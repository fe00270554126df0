"""The pure parts of what verify asks about order: steps, windows, chains, sessions and causes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from antiphon.check.disputes import find_dispute
from antiphon.pipeline.verify.batches import ONWARD, TAG_BITS, Arrays, Sink, Tag
from antiphon.pipeline.verify.by_message import IS_SEND, ROW_SERVICE, SERVICE
from antiphon.pipeline.verify.by_process import Course
from antiphon.pipeline.verify.causal import Scope
from antiphon.pipeline.verify.events import NUMBER_BITS
from antiphon.pipeline.verify.faults import Fault
from antiphon.pipeline.verify.histories import TIME_BITS
from antiphon.pipeline.verify.holes import leads
from antiphon.pipeline.verify.total_order import windows

RELIABLE, FIFO, CAUSAL, AGREED = 1, 2, 3, 4


def key(origin: int, number: int) -> int:
    return origin << NUMBER_BITS | number * 2


def events(*told: tuple[int, int, int, bool]) -> Arrays:
    """(process, message, service, whether it is sent), in the order of time; the key of the one
    order is the message's own."""
    rows = []
    for t, (process, message, service, is_send) in enumerate(told):
        tag = Tag.EVENT | service << SERVICE | service << ROW_SERVICE | (IS_SEND if is_send else 0)
        rows.append((process << TIME_BITS | t, 0, tag, message, message, 0, -1, 0))
    columns = np.array(rows, np.int64).reshape(-1, len(ONWARD)).T
    return {name: column.copy() for name, column in zip(ONWARD, columns, strict=True)}


def findings(sink: Sink, fault: Fault) -> list[tuple[int, int, int]]:
    """Process, message, second message."""
    batch = sink.batch()
    rows = {name: batch.column(ONWARD.index(name)).to_pylist() for name in ONWARD}
    told = zip(rows["tag"], rows["k1"], rows["key"], rows["config"], strict=True)
    wanted = Tag.FINDING | fault << TAG_BITS
    return [(who, one, other) for tag, who, one, other in told if tag == wanted]


def tags(sink: Sink) -> list[int]:
    return [tag & ((1 << TAG_BITS) - 1) for tag in sink.batch().column(2).to_pylist()]


def judged(*told: tuple[int, int, int, bool]) -> Sink:
    """Of events in the order of time; a slice has them sorted by process."""
    rows = events(*told)
    order = np.argsort(rows["lane"], kind="stable")
    sink = Sink()
    Course({name: column[order] for name, column in rows.items()}).judge(sink)
    return sink


def test_a_fifo_message_before_an_earlier_one_is_found() -> None:
    """S3; an earlier message of another session is no matter."""
    sink = judged(
        *((1, key(5, 3), FIFO, False), (1, key(6, 1), RELIABLE, False)),
        *((1, key(5, 2), RELIABLE, False), (1, key(5, 4), AGREED, False)),
        *((2, key(5, 2), RELIABLE, False), (2, key(5, 3), FIFO, False)),
    )
    assert findings(sink, Fault.BEFORE_EARLIER) == [(1, key(5, 3), key(5, 2))]


def test_a_reliable_message_may_overtake() -> None:
    sink = judged((1, key(5, 3), RELIABLE, False), (1, key(5, 2), FIFO, False))
    assert findings(sink, Fault.BEFORE_EARLIER) == []


@given(st.lists(st.lists(st.integers(1, 9), unique=True), min_size=1, max_size=3))
def test_steps_are_told_where_the_key_falls_and_only_there(processes: list[list[int]]) -> None:
    told = [
        (who, key(1, number), AGREED, False)
        for who, numbers in enumerate(processes, 1)
        for number in numbers
    ]
    falls = sum(
        one > other for each in processes for one, other in zip(each, each[1:], strict=False)
    )
    assert tags(judged(*told)).count(Tag.STEP) == falls


@given(st.lists(st.permutations(range(6)), min_size=2, max_size=3))
def test_a_dispute_lies_in_one_window(orders: list[list[int]]) -> None:
    """What lies in windows is enough to see whether there is a dispute, and a message outside is
    in none: the argument of docs/verify.md."""
    steps = [
        (one, other)
        for order in orders
        for one, other in zip(order, order[1:], strict=False)
        if one > other
    ]
    ranges = windows(steps)
    parties = list(enumerate(orders))
    for low, high in ranges:
        assert low < high
    inside = [
        (who, [one for one in order if any(low <= one <= high for low, high in ranges)])
        for who, order in parties
    ]
    assert (find_dispute(parties) is None) == (find_dispute(inside) is None)


def test_windows_that_touch_are_one() -> None:
    assert windows([(5, 3), (9, 8), (4, 1)]) == [(1, 5), (8, 9)]


def test_an_effect_before_its_cause_is_found_over_a_third() -> None:
    """S4: session 1 sends m, session 2 answers it with a reliable n, session 3 answers that with
    o; session 4 gets o before m, and never n."""
    m, n, o = key(1, 1), key(2, 1), key(3, 1)
    rows = events(
        *((1, m, CAUSAL, True), (2, m, CAUSAL, False), (2, n, RELIABLE, True)),
        *((3, n, RELIABLE, False), (3, o, CAUSAL, True)),
        *((4, o, CAUSAL, False), (4, m, CAUSAL, False)),
    )
    sink = Sink()
    Scope(rows).judge(sink)
    assert findings(sink, Fault.BEFORE_CAUSE) == [(4, o, m)]


def test_what_was_got_after_a_submit_is_no_cause() -> None:
    m, o = key(1, 1), key(3, 1)
    rows = events(
        *((1, m, CAUSAL, True), (3, o, CAUSAL, True), (3, m, CAUSAL, False)),
        *((4, o, CAUSAL, False), (4, m, CAUSAL, False)),
    )
    sink = Sink()
    Scope(rows).judge(sink)
    assert findings(sink, Fault.BEFORE_CAUSE) == []


def test_a_chain_leads_over_others() -> None:
    after = {1: {2}, 2: {3}, 4: {3}}
    assert leads(1, 3, after)
    assert not leads(4, 2, after)
