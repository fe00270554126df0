"""What leaders say of their streams, put together as it comes."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.ids import ConfigId, Configuration, DaemonId, Incarnation, Member
from antiphon.protocol.stream.abroad import Abroad
from antiphon.protocol.stream.delivery import Delivery
from antiphon.protocol.stream.settings import StreamSettings
from antiphon.wire.pieces import RingPacket
from antiphon.wire.reports import StreamReport
from antiphon.wire.ring import REPORTS

MEMBERS = tuple(Member(DaemonId(number), Incarnation(7)) for number in range(1, 5))
CONFIG = ConfigId(3, *MEMBERS[0], 1)
CONFIGURATION = Configuration(CONFIG, MEMBERS, tuple((member,) for member in MEMBERS))
MINE = 1
OTHERS = (0, 2, 3)
STEPS = st.lists(
    st.tuples(st.sampled_from(OTHERS), *[st.integers(0, 3)] * 4, st.integers(0, 4_000)), max_size=40
)


def abroad() -> Abroad:
    settings = replace(StreamSettings(), far_bytes_min=1_024)
    delivery = Delivery(len(MEMBERS), MINE)
    return Abroad(
        CONFIGURATION, MINE, delivery, None, settings, lambda bundle: True, lambda *loose: None
    )


def on_the_ring(report: StreamReport) -> RingPacket:
    return RingPacket(*MEMBERS[MINE], CONFIG, 1, 1, REPORTS, MEMBERS[MINE], 0, [], 0, (report,))


@given(STEPS)
def test_it_is_what_the_newest_reports_say(steps: list[tuple[int, ...]]) -> None:
    """SP-71, SP-123: the least that all hold, the most that anybody waits for."""
    tested = abroad()
    newest: dict[int, StreamReport] = {}
    for segment, held, more, floor_wanted, held_wanted, unstable in steps:
        last = newest.get(segment, StreamReport(segment, 0, 0, 0, 0, 0, 0, 0, ()))
        report = StreamReport(
            segment,
            last.number + 1,
            0,
            max(last.floor + more, last.held + held),
            last.held + held,
            unstable,
            last.floor_wanted + floor_wanted,
            last.held_wanted + held_wanted,
            (0,) * len(MEMBERS),
        )
        assert tested.hear_packet(0, on_the_ring(report)) == []
        newest[segment] = report
        told = newest.values()
        assert tested.floor == max(one.floor for one in told)
        assert tested.floor_wanted == max(one.floor_wanted for one in told)
        assert tested.held_wanted == max(one.held_wanted for one in told)
        assert tested._unstable == sum(one.unstable for one in told)
        assert tested.is_pressed() == (max(one.unstable for one in told) >= 2 * 1_024)
        everybody = len(newest) == len(OTHERS)
        assert tested.held == (min(one.held for one in told) if everybody else 0)


@given(STEPS)
def test_the_line_is_where_the_last_stream_is(steps: list[tuple[int, ...]]) -> None:
    delivery = Delivery(len(MEMBERS), MINE)
    for segment, more, *_ in steps:
        for index in (segment, MINE):
            source = delivery.sources[index]
            delivery.learn(index, source.known, source.stamp + more, 0)
        assert delivery.line == min(source.stamp for source in delivery.sources)


def test_a_leader_that_takes_back_what_it_said_holds_up_nobody() -> None:
    tested = abroad()
    numbers = iter(range(1, 100))

    def tell(segment: int, held: int) -> None:
        heads = (0,) * len(MEMBERS)
        report = StreamReport(segment, next(numbers), 0, held, held, 0, 0, 0, heads)
        tested.hear_packet(0, on_the_ring(report))

    for segment, held in ((0, 5), (2, 5), (3, 7), (0, 3), (0, 9), (2, 9)):
        tell(segment, held)
    assert tested.held == 7
