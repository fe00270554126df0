"""The earliest of many deadlines, whatever happens to them."""

from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.ids import DaemonId
from antiphon.core.machine import NEVER
from antiphon.protocol.links.deadlines import Deadlines

PEERS = [DaemonId(peer) for peer in range(1, 6)]
INSTANTS = st.one_of(st.integers(0, 20), st.just(NEVER))
MOVES = st.lists(st.tuples(st.sampled_from(PEERS), INSTANTS), max_size=40)


class Clock:
    def __init__(self) -> None:
        self.at = NEVER

    def deadline(self) -> int:
        return self.at


@given(MOVES, st.integers(0, 20))
def test_the_first_is_the_earliest_of_all(moves: list[tuple[DaemonId, int]], now: int) -> None:
    links = {peer: Clock() for peer in PEERS}
    deadlines = Deadlines()
    for peer, at in moves:
        links[peer].at = at
        deadlines.note(peer, at)
        assert deadlines.first(links) == min(link.at for link in links.values())
    woken = deadlines.due(now, links)
    assert woken == sorted(
        (peer for peer in PEERS if links[peer].at <= now), key=lambda peer: (links[peer].at, peer)
    )
    for peer in woken:
        links[peer].at = now + 1
        deadlines.note(peer, now + 1)
    assert deadlines.due(now, links) == []
    assert deadlines.first(links) == min(link.at for link in links.values())


def test_one_that_is_gone_wakes_nobody() -> None:
    deadlines = Deadlines()
    deadlines.note(PEERS[0], 5)
    assert deadlines.first({}) == NEVER
    assert deadlines.due(9, {}) == []


def test_moving_on_costs_no_room() -> None:
    """P4: a deadline that is set anew with each packet leaves nothing behind."""
    link = Clock()
    deadlines = Deadlines()
    for at in range(10, 10_000):
        link.at = at
        deadlines.note(PEERS[0], at)
        assert deadlines.first({PEERS[0]: link}) == at
    assert len(deadlines._heap) == 1
