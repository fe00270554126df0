"""Who waits for whom on a link."""

from hypothesis import given
from hypothesis import strategies as st

from antiphon.protocol.links.backlog import Backlog

Thing = tuple[int, bool]
"""Its stream, and whether it is a report."""


def left(backlog: Backlog) -> list[bytes]:
    found = []
    while backlog:
        assert backlog.first == (data := backlog.pop())
        found.append(data)
    return found


def test_a_report_does_not_wait_for_what_others_send() -> None:
    backlog = Backlog()
    backlog.add(b"bundle", 1)
    backlog.add(b"of another", 2, True)
    backlog.add(b"of its own", 1, True)
    assert left(backlog) == [b"of another", b"bundle", b"of its own"]


def test_it_goes_first_again_when_its_stream_has_gone() -> None:
    backlog = Backlog()
    for data, stream in ((b"a", 1), (b"b", 2)):
        backlog.add(data, stream)
    assert backlog.pop() == b"a"
    backlog.add(b"report", 1, True)
    assert left(backlog) == [b"report", b"b"]


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=60))
def test_what_belongs_together_stays_in_order(things: list[Thing]) -> None:
    """Nothing of a stream overtakes anything of it, and only reports overtake at all."""
    backlog = Backlog()
    for number, (stream, is_report) in enumerate(things):
        backlog.add(bytes([number]), stream, is_report)
    assert backlog.bytes == len(things)
    order = [data[0] for data in left(backlog)]
    assert sorted(order) == list(range(len(things))) and not backlog.bytes
    for stream in range(4):
        mine = [number for number in order if things[number][0] == stream]
        assert mine == sorted(mine)
    bundles = [number for number in order if not things[number][1]]
    assert bundles == sorted(bundles)
