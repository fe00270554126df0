"""Figures of a run, from rows made up for them."""

from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.ids import DaemonId, Incarnation, SessionId
from antiphon.core.service import Service
from antiphon.core.trace import Kind, Record
from antiphon.sim.figures import bucket, figures, middle_us

ORIGIN = SessionId(DaemonId(1), Incarnation(1), 1)
AGREED = int(Service.AGREED)


def row(kind: Kind, time: int, first: int = 0, count: int = 0) -> Record:
    return Record(kind, time, DaemonId(1), origin=ORIGIN, first=first, count=count, service=AGREED)


def test_merging_takes_from_the_disturbance_to_the_last_install() -> None:
    rows = [
        row(Kind.INSTALL, 10),
        row(Kind.FAULT, 100),
        row(Kind.FAULT, 200),
        row(Kind.INSTALL, 650),
        row(Kind.INSTALL, 700),
        row(Kind.QUIET, 1_000),
    ]
    assert figures(rows).merge_us == 500
    assert figures(rows[:1]).merge_us is None


def test_each_message_of_a_range_counts_at_each_receiver() -> None:
    rows = [
        row(Kind.SUBMIT, 0, first=1, count=2),
        row(Kind.SUBMIT, 500, first=3, count=1),
        row(Kind.HAND, 1_000, first=1, count=3),
        row(Kind.HAND, 2_000, first=2, count=1),
        row(Kind.HAND, 9_000, first=7, count=1),  # whose submission was not recorded
    ]
    assert figures(rows).latencies == {
        ("agreed", bucket(1_000)): 2,
        ("agreed", bucket(500)): 1,
        ("agreed", bucket(2_000)): 1,
    }


@given(st.integers(1, 10**10))
def test_a_bucket_tells_a_time_to_a_twelfth(microseconds: int) -> None:
    assert abs(middle_us(bucket(microseconds)) / microseconds - 1) < 1 / 12
