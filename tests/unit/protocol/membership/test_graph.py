"""Ways between leaders, and how packets take them."""

from itertools import permutations
from random import Random

import pytest

from antiphon.core.effects import Send
from antiphon.core.ids import ConfigId, Configuration, DaemonId, Incarnation, Member
from antiphon.protocol.membership.graph import paths, reachable, used
from antiphon.protocol.membership.routes import Routes, forward
from antiphon.wire.control import HOPS_MAX, Ready, Relayed, pack_control, read_control
from antiphon.wire.packet import Envelope, Tag

CHAIN = {0: {1: 1}, 1: {0: 1, 2: 1}, 2: {1: 1}, 3: {}}


def both_ways(*edges: tuple[int, int, int]) -> dict[int, dict[int, int]]:
    graph: dict[int, dict[int, int]] = {}
    for one, two, weight in edges:
        graph.setdefault(one, {})[two] = weight
        graph.setdefault(two, {})[one] = weight
    return graph


def test_what_is_connected_over_others_is_reached() -> None:
    assert reachable(CHAIN, 0) == {0, 1, 2}
    assert reachable(CHAIN, 3) == {3}


def test_the_cheapest_way_is_taken_and_each_direction_has_its_own() -> None:
    """SP-44: weights are directed."""
    graph = {0: {1: 9, 2: 1}, 1: {0: 1, 2: 9}, 2: {0: 9, 1: 1}}
    assert paths(graph, 0)[1] == (2, (0, 2, 1))
    assert paths(graph, 1)[0] == (1, (1, 0))


def test_of_equal_ways_the_one_with_fewer_nodes_then_the_lowest_is_taken() -> None:
    """SP-110: everybody must choose the same."""
    square = both_ways((0, 1, 1), (0, 2, 1), (1, 3, 1), (2, 3, 1), (0, 3, 2))
    assert paths(square, 0)[3] == (2, (0, 3))
    del square[0][3], square[3][0]
    assert paths(square, 0)[3] == (2, (0, 1, 3))


@pytest.mark.parametrize("seed", range(20))
def test_ways_are_those_that_trying_all_would_find(seed: int) -> None:
    random = Random(seed)
    nodes = range(5)
    graph: dict[int, dict[int, int]] = {node: {} for node in nodes}
    for one in nodes:
        for two in range(one):
            if random.random() < 0.6:
                graph[one][two], graph[two][one] = random.randint(1, 4), random.randint(1, 4)
    found = paths(graph, 0)
    for goal in nodes:
        tried = []
        for middle in (way for size in range(4) for way in permutations(nodes, size)):
            way = (0, *middle, goal) if goal else (0,)
            steps = list(zip(way, way[1:], strict=False))
            if len(set(way)) == len(way) and all(two in graph[one] for one, two in steps):
                tried.append((sum(graph[one][two] for one, two in steps), len(way), way))
        if tried:
            cost, _, way = min(tried)
            assert found[goal] == (cost, way)
        else:
            assert goal not in found


def test_an_edge_that_lies_on_no_way_is_not_used() -> None:
    triangle = both_ways((0, 1, 1), (1, 2, 1), (0, 2, 9))
    assert used(triangle) == {(0, 1), (1, 0), (1, 2), (2, 1)}


# Routes.


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
