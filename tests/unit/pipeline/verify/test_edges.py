"""Slices connected by their edges say what one slice of everything would say."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from antiphon.pipeline.verify.batches import TAG_BITS, Arrays, Sink, Tag
from antiphon.pipeline.verify.by_process import Course
from antiphon.pipeline.verify.edges import connect
from antiphon.pipeline.verify.faults import Fault
from antiphon.pipeline.verify.histories import TIME_BITS
from antiphon.pipeline.verify.total_order import windows
from tests.unit.pipeline.verify.test_order import AGREED, CAUSAL, FIFO, RELIABLE, events, key

Told = tuple[int, int, int, bool]
KIND = (1 << TAG_BITS) - 1

histories = st.lists(
    st.tuples(st.integers(1, 2), st.integers(1, 2), st.integers(1, 8), st.booleans()), max_size=14
)
"""Process, origin, number, whether it is sent."""


def placed(told: list[Told]) -> Arrays:
    """Numbers rise with the order, and four messages are one configuration."""
    rows = events(*told)
    number = (rows["key"] & 0xFF) // 2
    rows["k1"], rows["config"] = number, (number - 1) // 4
    order = np.argsort(rows["lane"], kind="stable")
    return {name: column[order] for name, column in rows.items()}


def told_by(rows: Arrays, cuts: list[int]) -> Arrays:
    """What slices between these places in the order tell, connected."""
    sink = Sink()
    slices = np.searchsorted(cuts, rows["k1"], side="right") if cuts else np.zeros(len(rows["k1"]))
    for number in range(len(cuts) + 1):
        mine = {name: column[slices == number] for name, column in rows.items()}
        if len(mine["key"]):
            course = Course(mine)
            course.judge(sink)
            course.tell_edges(number, np.ones(len(mine["key"]), np.bool_), sink)
    found = sink.arrays()
    edges = (found["tag"] & KIND) == Tag.EDGE
    between = Sink()
    connect({name: column[edges] for name, column in found.items()}, between)
    more = between.arrays()
    return {name: np.append(found[name][~edges], more[name]) for name in found}


def doubts(rows: Arrays) -> set[tuple[int, int]]:
    chosen = (rows["tag"] & KIND) == Tag.DOUBT
    bits = zip(rows["lane"][chosen].tolist(), rows["k1"][chosen].tolist(), strict=True)
    return {(who, bit) for who, each in bits for bit in (1, 2, 4) if each & bit}


def steps(rows: Arrays) -> list[tuple[int, int]]:
    chosen = (rows["tag"] & KIND) == Tag.STEP
    return list(zip(rows["k1"][chosen].tolist(), rows["stay"][chosen].tolist(), strict=True))


def late(rows: Arrays) -> set[int]:
    """Processes that got a fifo message too early."""
    chosen = rows["tag"] == (Tag.FINDING | Fault.BEFORE_EARLIER << TAG_BITS)
    return set(rows["k1"][chosen].tolist())


@given(
    histories,
    st.sampled_from([RELIABLE, FIFO, CAUSAL, AGREED]),
    st.sampled_from([[3], [5], [3, 6]]),
)
def test_slices_say_together_what_one_says(
    drawn: list[tuple[int, int, int, bool]], service: int, cuts: list[int]
) -> None:
    told = [(who, key(origin, number), service, sent) for who, origin, number, sent in drawn]
    rows = placed(told)
    whole, parts = told_by(rows, []), told_by(rows, cuts)
    assert doubts(parts) == doubts(whole)
    assert late(parts) == late(whole)
    covered = windows(steps(parts))
    for low, high in windows(steps(whole)):
        assert any(one <= low and high <= other for one, other in covered), "no step is missed"
    if not steps(whole):
        assert not covered, "and none is made up"


def test_a_time_of_one_process_is_no_matter_of_another() -> None:
    rows = placed([(1, key(1, 5), AGREED, False), (2, key(1, 1), AGREED, False)])
    assert set(rows["lane"] >> TIME_BITS) == {1, 2}
    assert steps(told_by(rows, [3])) == []
