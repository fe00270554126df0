"""Each link has the settings of its edge, and the way it was found to be is kept by edge."""

from dataclasses import replace

import pytest

from antiphon.core.effects import Forward, Neighbours
from antiphon.core.errors import ConfigError
from antiphon.core.ids import DaemonId, Incarnation, Member
from antiphon.core.weights import WEIGHT_MAX
from antiphon.protocol.links.edges import Edges
from antiphon.protocol.links.links import Links
from antiphon.protocol.links.settings import EdgeSettings, HopSettings, LinkKind
from antiphon.wire.packet import Envelope

SITES = ((DaemonId(10), DaemonId(11)), (DaemonId(20),), (DaemonId(30),))
USUAL = HopSettings(rate_bytes=5_000)
SLOW = EdgeSettings(2, 0, hop=replace(USUAL, rate_bytes=1_000))
ELSEWHERE = EdgeSettings(1, 2, hop=replace(USUAL, rate_bytes=3_000))


def seen_by(me: int) -> list[int]:
    """The rates of the links to everybody else."""
    edges = Edges(DaemonId(me), SITES, (SLOW, ELSEWHERE), USUAL)
    others = [daemon for site in SITES for daemon in site if daemon != me]
    return [edges.to(daemon).hop.rate_bytes for daemon in others]


def test_both_ends_of_an_edge_have_its_settings() -> None:
    assert seen_by(10) == [5_000, 5_000, 1_000], "a torn site is joined as usual"
    assert seen_by(20) == [5_000, 5_000, 3_000]
    assert seen_by(30) == [1_000, 1_000, 3_000]


def test_without_sites_everybody_is_joined_as_usual() -> None:
    assert Edges(DaemonId(10), (), (), USUAL).to(DaemonId(20)).hop == USUAL


def test_a_link_is_made_with_the_settings_of_its_edge() -> None:
    """SP-165: the rate belongs to the edge."""
    me = Member(DaemonId(10), Incarnation(1))
    links = Links(me, Edges(me.daemon, SITES, (SLOW,), USUAL), Envelope(1, me))
    peers = tuple(Member(daemon, Incarnation(1)) for daemon in (SITES[1][0], SITES[2][0]))
    links.handle(0, Neighbours(1, peers))
    rates = [links._links[peer.daemon].rate.rate_bytes for peer in peers]
    assert rates == [5_000, 1_000]


def test_links_tell_how_they_are_doing() -> None:
    me = Member(DaemonId(10), Incarnation(1))
    tcp = EdgeSettings(0, 1, link=LinkKind.TCP)
    links = Links(me, Edges(me.daemon, SITES, (SLOW, tcp), USUAL), Envelope(1, me))
    assert links.standings() == []
    peers = tuple(Member(daemon, Incarnation(1)) for daemon in (SITES[2][0], SITES[1][0]))
    links.handle(0, Neighbours(1, peers))
    for _ in range(20):
        links.handle(0, Forward(peers[0].daemon, bytes(1_000), True))
    piped, slow = links.standings()
    assert (piped.peer, piped.kind, piped.rate_bytes) == (20, "tcp", None)
    assert piped.state == "dialling"
    assert (slow.peer, slow.kind, slow.state, slow.rate_bytes) == (30, "hop", "up", 1_000)
    assert slow.round_trip_us is None and slow.loss == 0.0
    assert slow.waiting_bytes + 1_000 * slow.open_objects == 20_000 and slow.waiting_bytes


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("edges", {"two": 0}),
        ("edges", {"one": -1}),
        ("weight", {"weight": 0}),
        ("weight", {"weight_back": WEIGHT_MAX + 1}),
    ],
)
def test_an_edge_that_cannot_be_is_refused(key: str, wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError) as refused:
        EdgeSettings(**{"one": 0, "two": 1} | wrong)
    assert refused.value.key == key
