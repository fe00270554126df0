"""Ways between leaders, and how packets take them."""

import pytest

from antiphon.core.effects import Send
from antiphon.core.ids import ConfigId, Configuration, DaemonId, Incarnation, Member
from antiphon.protocol.membership.graph import reachable
from antiphon.protocol.membership.routes import Routes, forward
from antiphon.protocol.membership.wish import configuration_of, kept_edges
from antiphon.wire.control import HOPS_MAX, Ready, Relayed, pack_control, read_control
from antiphon.wire.packet import Envelope, Tag

CHAIN = {0: {1}, 1: {0, 2}, 2: {1}, 3: set()}


def test_what_is_connected_over_others_is_reached() -> None:
    assert reachable(CHAIN, 0) == {0, 1, 2}
    assert reachable(CHAIN, 3) == {3}


def both_ways(*edges: tuple[int, int]) -> set[tuple[DaemonId, DaemonId]]:
    pairs = {(DaemonId(one), DaemonId(two)) for one, two in edges}
    return pairs | {(two, one) for one, two in pairs}


def test_a_configuration_holds_the_edges_that_lie_on_a_way() -> None:
    """SP-44, SP-110: all compute the same trees from it; what no way uses may come and go."""
    weights = {(10, 30): 9, (30, 10): 9}
    parts = tuple(part[:1] for part in PARTS)
    made = configuration_of(
        CONFIGURATION.id,
        parts,
        both_ways((10, 20), (20, 30), (10, 30)),
        lambda one, two: weights.get((one, two), 1),
    )
    assert made.edges == EDGES
    assert made.parts == parts and made.members == tuple(part[0] for part in parts)


def test_an_edge_has_a_weight_for_each_direction() -> None:
    made = configuration_of(
        CONFIGURATION.id, PARTS[:2], both_ways((10, 20)), lambda one, two: 5 if one < two else 7
    )
    assert made.edges == ((0, 1, 5), (1, 0, 7))


def test_a_configuration_of_one_segment_has_no_edges() -> None:
    made = configuration_of(CONFIGURATION.id, PARTS[:1], set(), lambda one, two: 1)
    assert made == Configuration(CONFIGURATION.id, PARTS[0])


def test_edges_outlive_daemons_and_leaders_with_their_weights() -> None:
    """SP-36, X-29: whatever would be measured now."""
    site = {10: 0, 11: 0, 20: 1, 21: 1, 30: 2, 31: 2, 40: 0}
    edges = ((0, 1, 4), (1, 0, 5), (1, 2, 6), (2, 1, 7))
    installed = Configuration(CONFIGURATION.id, MEMBERS, PARTS, edges)

    def kept(*parts: tuple[int, ...], edges: set[tuple[DaemonId, DaemonId]]) -> object:
        named = tuple(tuple(map(member, part)) for part in parts)
        return kept_edges(named, installed, edges, lambda daemon: site[daemon])

    chain = both_ways((10, 20), (20, 30), (10, 30))
    assert kept((10,), (20, 21), (30,), edges=chain) == edges, "daemons went"
    led = both_ways((11, 20), (20, 30))
    assert kept((11,), (20, 21), (30,), edges=led) == edges, "one has another leader"
    assert kept((10,), (20,), edges=chain) is None, "a site went"
    assert kept((10,), (20,), (21,), (30,), edges=chain) is None, "a site is torn"
    assert kept((10,), (20,), (30,), edges=both_ways((10, 20), (10, 30))) is None, "an edge went"
    moved = kept((20,), (30,), (40,), edges=both_ways((40, 20), (20, 30)))
    assert moved == ((0, 1, 6), (0, 2, 5), (1, 0, 7), (2, 0, 4)), "segments are counted anew"


def member(number: int) -> Member:
    return Member(DaemonId(number), Incarnation(number))


PARTS = tuple(tuple(map(member, part)) for part in ((10, 11), (20, 21), (30, 31)))
MEMBERS = tuple(sorted(one for part in PARTS for one in part))
EDGES = ((0, 1, 1), (1, 0, 1), (1, 2, 1), (2, 1, 1))
CONFIGURATION = Configuration(ConfigId(3, *member(10), 1), MEMBERS, PARTS, EDGES)


@pytest.mark.parametrize(
    ("me", "to", "route"),
    [
        (10, 11, (11,)),
        (10, 20, (20,)),
        (10, 30, (20, 30)),
        (10, 31, (20, 30, 31)),
        (11, 31, (10, 20, 30, 31)),
        (11, 20, (10, 20)),
        (10, 99, (99,)),
    ],
)
def test_between_segments_leaders_pass_packets_on(me: int, to: int, route: tuple[int, ...]) -> None:
    assert Routes(CONFIGURATION, member(me)).route(DaemonId(to)) == route


def test_a_relayed_packet_arrives_as_it_was_sent() -> None:
    packet = pack_control(Envelope(1, member(11)), Ready(CONFIGURATION.id))
    send = Routes(CONFIGURATION, member(11)).address(
        Envelope(1, member(11)), Send(DaemonId(31), packet)
    )
    hops = []
    while True:
        hops.append(int(send.to))
        relayed = read_control(Tag.RELAYED, send.packet)
        assert isinstance(relayed, Relayed)
        if len(relayed.route) == 1:
            break
        send = forward(Envelope(1, member(hops[-1])), relayed)
    assert hops == [10, 20, 30, 31]
    assert relayed.packet == packet


def test_nobody_relays_for_ever() -> None:
    """A way that is longer than messages can name is not tried."""
    count = HOPS_MAX + 2
    parts = tuple((member(number),) for number in range(1, count + 1))
    ways = [(at, at + 1, 1) for at in range(count - 1)] + [
        (at + 1, at, 1) for at in range(count - 1)
    ]
    members = tuple(part[0] for part in parts)
    long = Configuration(CONFIGURATION.id, members, parts, tuple(sorted(ways)))
    send = Send(DaemonId(count), b"")
    assert Routes(long, member(1)).address(Envelope(1, member(1)), send) is send
