"""Reports between leaders: at once where somebody waits for them, few where nobody does."""

from random import Random

import pytest

from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.core.service import Service
from antiphon.protocol.stream.settings import StreamSettings
from tests.unit.protocol.stream.continent import Continent

FAR_US = 20 * MILLISECOND
"""Ways take one to two times that."""

SENT = 100
PACE_US = 10 * MILLISECOND


def land(members: tuple[int, ...], *sizes: int) -> Continent:
    made = Continent(Random(4), *sizes, far_us=FAR_US)
    made.start()
    made.tell_groups({"g": members})
    made.run(2 * SECOND)
    made.reports = 0
    return made


def stream(made: Continent, service: Service) -> None:
    for number in range(SENT):
        made.at(made.now + number * PACE_US, lambda: made.send(100, service, ("g",)))
    made.run(made.now + SENT * PACE_US + 3 * SECOND)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 3, 1)])
def test_reliable_messages_cost_some_reports_in_a_second(sizes: tuple[int, ...]) -> None:
    made = land((100, 200, 300), *sizes)
    stream(made, Service.RELIABLE)
    assert 0 < made.reports <= 2 * SENT, "nine for each message, if all were told at once"
    for daemon in made.daemons.values():
        assert not daemon.stream.busy(), "all is stable in the end"
    made.reports = 0
    made.run(made.now + 10 * SECOND)
    assert made.reports == 0, "then there is silence"


def test_what_reliable_messages_change_is_told_in_time() -> None:
    made = land((100, 200, 300), 1, 1, 1)
    made.send(100, Service.RELIABLE, ("g",))
    sender = made.daemons[made.parts[0][0].daemon].stream
    assert sender.busy()
    made.run(made.now + 3 * StreamSettings().tell_us + 8 * FAR_US)
    assert not sender.busy()


@pytest.mark.parametrize("service", [Service.AGREED, Service.SAFE])
@pytest.mark.parametrize("members", [(100, 200, 300), (100, 200)])
def test_ordered_messages_wait_for_no_timer(members: tuple[int, ...], service: Service) -> None:
    """SP-66: one exchange for agreed, two for safe, also if a segment is spared the message."""
    made = land(members, 1, 1, 1)
    for count in range(1, 21):
        begin = made.now
        made.send(100, service, ("g",))
        way_us = 2 * 2 * FAR_US  # over a leader between
        exchanges = 1 if service == Service.AGREED else 2
        made.run(begin + 2 * exchanges * way_us)
        assert len(made.daemons[made.parts[0][0].daemon].delivered) == count
        made.run(begin + 2 * SECOND)
