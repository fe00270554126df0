"""Edges and shapes: what the file says about pairs of sites, and what it cannot say."""

import pytest

from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.core.weights import LAST_RESORT
from antiphon.daemon.config.reload import restart_needed
from antiphon.daemon.config.writing import write_toml
from antiphon.protocol.links.settings import EdgeSettings, LinkKind
from tests.unit.daemon.config.test_config import SMALL, findings, read

SITES = (
    SMALL
    + """site = "west"
[[daemon]]
name = "three"
address = "127.0.0.1:4817"
clients = []
site = "north"
"""
)
"""Main, west, north; fifteen lines."""


def edges(text: str) -> tuple[EdgeSettings, ...]:
    return read(SITES + text).node_settings("one").edges


def weights(text: str) -> dict[tuple[int, int], int]:
    told = read(SITES + text).node_settings("one").weights
    return {(one, two): weight for one, two, weight in told}


def test_an_edge_says_only_what_is_different() -> None:
    """SP-165, SP-166, SP-169: each pair of sites may be tuned for itself."""
    (edge,) = edges(
        """
[hop]
rate = "8Mbit"
ack_long = 30
nack = "0ms"
[[edge]]
between = ["north", "main"]
rate = "auto"
window_objects = 100
send = "2ms"
weight_back = 9
"""
    )
    usual = read(SITES + "[hop]\nrate = '8Mbit'\nack_long = 30\nnack = '0ms'\n")
    assert usual.node_settings("one").hop.rate_bytes == 1_000_000
    assert (edge.one, edge.two, edge.weight, edge.weight_back) == (2, 0, None, 9)
    hop = edge.hop
    assert (hop.rate_bytes, hop.window_objects, hop.send_us) == (0, 100, 2 * MILLISECOND)
    assert (hop.ack_long_us, hop.nack_us, hop.packet_bytes) == (30 * MILLISECOND, 0, 8900)


def test_one_weight_is_for_both_ways() -> None:
    """SP-112."""
    assert weights("[[edge]]\nbetween = ['main', 'west']\nweight = 4\n") == {(0, 1): 4, (1, 0): 4}
    both = "[[edge]]\nbetween = ['main', 'west']\nweight = 4\nweight_back = 7\n"
    assert weights(both) == {(0, 1): 4, (1, 0): 7}


@pytest.mark.parametrize(
    ("shape", "inside"),
    [
        ("shape = 'chain'", {(0, 1), (1, 2)}),
        ("shape = 'chain'\nsites = ['west', 'main', 'north']", {(0, 1), (0, 2)}),
        ("shape = 'ring'", {(0, 1), (0, 2), (1, 2)}),
        ("shape = 'tree'\nedges = [['north', 'main'], ['north', 'west']]", {(0, 2), (1, 2)}),
    ],
)
def test_a_shape_is_weights(shape: str, inside: set[tuple[int, int]]) -> None:
    """SP-113."""
    found = weights(f"[overlay]\n{shape}\n")
    assert {pair for pair, weight in found.items() if weight == 1 and pair < pair[::-1]} == inside
    assert len(found) == 6 and set(found.values()) <= {1, LAST_RESORT}


def test_a_fan_out_needs_no_weights() -> None:
    """SP-114."""
    assert edges("[overlay]\nshape = 'fan-out'\n") == ()


def test_weights_may_be_measured() -> None:
    """SP-44. What is set by hand stays."""
    edge = "[[edge]]\nbetween = ['main', 'west']\nweight = 4\n"
    settings = read(SITES + "[overlay]\nweights = 'measured'\n" + edge).node_settings("one")
    assert settings.membership.measured_weights and settings.weights == ((0, 1, 4), (1, 0, 4))
    assert not read(SITES).node_settings("one").membership.measured_weights


def test_an_edge_of_a_shape_keeps_its_settings() -> None:
    text = "[overlay]\nshape = 'chain'\n[[edge]]\nbetween = ['west', 'main']\nrate = '1Mbit'\n"
    by_pair = {frozenset((edge.one, edge.two)): edge for edge in edges(text)}
    edge = by_pair[frozenset((0, 1))]
    assert (edge.hop.rate_bytes, edge.weight, edge.weight_back) == (125_000, 1, 1)
    assert by_pair[frozenset((0, 2))].hop.rate_bytes == 0


def test_a_tcp_link_has_numbers_of_its_own() -> None:
    text = "[[edge]]\nbetween = ['main', 'west']\nlink = 'tcp'\n[tcp]\ndead = '20s'\nack = '9ms'\n"
    (edge,) = edges(text)
    assert edge.link is LinkKind.TCP
    assert (edge.tcp.dead_us, edge.tcp.ack_us) == (20 * SECOND, 9 * MILLISECOND)
    written = write_toml(read(SITES + text))
    assert read(written).node_settings("one").edges == (edge,)
    reached = [one.name for one in read(written).daemons if read(written).is_reached_by_tcp(one)]
    assert reached == ["one", "two"], "the third site has no such edge"


EDGE = "[[edge]]\nbetween = ['main', 'west']\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[edge]]\nrate = '1Mbit'\n", "c.toml:16: edge[1].between: is missing; add it"),
        ("[[edge]]\nbetween = ['main']\n", "c.toml:17: edge[1].between: ['main'] is not two sites"),
        ("[[edge]]\nbetween = ['west', 'west']\n", "edge[1].between: ['west', 'west'] is not two"),
        (
            "[[edge]]\nbetween = ['main', 'south']\n",
            "edge[1].between: no daemon is in the site 'south'; use main, west, north",
        ),
        (
            EDGE + "[[edge]]\nbetween = ['west', 'main']\n",
            "c.toml:19: edge[2].between: is the same edge as edge[1] on line 16; write one",
        ),
        (
            EDGE + "link = 'tcp'\nnack = '5ms'\n",
            "c.toml:19: edge[1].nack: a TCP link has no such number",
        ),
        (EDGE + "link = 'wire'\n", "edge[1].link: 'wire' is not a choice here; write one of hop"),
        (EDGE + "rate = 10\n", "c.toml:18: edge[1].rate: 10 is not a rate; write a rate such as"),
        (EDGE + "weight = 0\n", "c.toml:18: edge[1].weight: 0 is below 1"),
        (EDGE + "speed = 1\n", "c.toml:18: edge[1].speed: there is no such key"),
        (
            EDGE + "rate = '1Gbit'\n",
            "edge[1].burst_bytes: is less than the rate gives in send; raise it or lower send",
        ),
        (EDGE + "nack = '2ms'\nnack_max = '1ms'\n", "c.toml:18: edge[1].nack: is above nack_max"),
        ("[tcp]\nsilence = '9s'\n", "c.toml:17: tcp.silence: is not between ack and dead"),
        ("[hop]\nack_short = '30ms'\n", "c.toml:17: hop.ack_short: is not within ack_long"),
        ("[hop]\nrate_min = '2Gbit'\n", "hop.rate: no rate lies between its limits"),
        (
            "[overlay]\nweights = 'measured'\nshape = 'ring'\n",
            "c.toml:17: overlay.weights: ring has its own weights; write",
        ),
        ("[overlay]\nsites = ['main']\n", "c.toml:17: overlay.sites: free has no order"),
        (
            "[overlay]\nshape = 'ring'\nsites = ['main', 'west']\n",
            "c.toml:18: overlay.sites: does not name each site once; name main, west, north",
        ),
        ("[overlay]\nedges = [['main', 'west']]\n", "overlay.edges: free needs none; remove it"),
        (
            "[overlay]\nshape = 'tree'\nedges = [['main', 'west'],\n['main', 'south']]\n",
            "c.toml:19: overlay.edges[2]: no daemon is in the site 'south'",
        ),
        (
            "[overlay]\nshape = 'tree'\nedges = [['main', 'west']]\n",
            "c.toml:18: overlay.edges: the edges are no tree; join all sites without a circle",
        ),
        (
            EDGE + "weight = 3\n[overlay]\nshape = 'chain'\n",
            "c.toml:18: edge[1].weight: the shape of [overlay] is chain, which has its own weights",
        ),
    ],
)
def test_what_does_not_fit_is_told_with_its_line(text: str, told: str) -> None:
    (found,) = findings(SITES + text)
    assert found.startswith(told) or told in found


def test_the_effective_file_keeps_edges_and_shapes() -> None:
    for text in (
        EDGE + "rate = '2.5Mbit'\nweight = 3\n[hop]\nnack_max = '1ms'\n",
        "[overlay]\nshape = 'tree'\nedges = [['main', 'west'], ['west', 'north']]\n",
        "[network]\npacket_bytes = 60000\n" + EDGE,
    ):
        config = read(SITES + text)
        again = read(config.effective_toml())
        assert again.effective_toml() == config.effective_toml()
        assert again.node_settings("one") == config.node_settings("one")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[hop]\nrate = '1Mbit'\n", "hop.rate"),
        ("[overlay]\nshape = 'chain'\n", "overlay.shape"),
        (EDGE + "dead = '9s'\n", "edge"),
    ],
)
def test_a_link_that_runs_is_not_changed(text: str, key: str) -> None:
    assert restart_needed(read(SITES), read(SITES + text), "one") == (key,)


@pytest.mark.parametrize("site", ["west", "south"])
def test_daemons_and_sites_come_and_go_by_a_reload(site: str) -> None:
    """But a second site, or the step back to one, takes a restart."""
    entry = '[[daemon]]\nname = "four"\naddress = "127.0.0.1:4819"\nclients = []\n'
    entry += f'site = "{site}"\n'
    assert restart_needed(read(SITES), read(SITES + entry), "one") == ()
    assert restart_needed(read(SITES + entry), read(SITES), "one") == ()
    needed = {"daemon.site", "network.packet_bytes"}
    assert {*restart_needed(read(SMALL), read(SITES), "one")} == needed
    assert {*restart_needed(read(SITES), read(SMALL), "one")} == needed


def test_a_cluster_of_one_site_may_say_how_links_would_be() -> None:
    one_site = read(SMALL + "[hop]\nrate = '1Mbit'\n[network]\npacket_bytes = 250\n")
    assert one_site.node_settings("one").hop.rate_bytes == 125_000
    assert one_site.node_settings("one").edges == ()


def test_a_hundred_sites_may_have_a_shape() -> None:
    daemons = "".join(
        f'[[daemon]]\nname = "d{at}"\naddress = "127.0.0.1:{5000 + at}"\nclients = []\n'
        f'site = "s{at}"\n'
        for at in range(100)
    )
    config = read(f'[cluster]\nname = "x"\n{daemons}[overlay]\nshape = "ring"\n')
    assert len(config.node_settings("d0").edges) == 4950


def test_links_carry_what_the_ring_of_this_life_sends() -> None:
    """A file may say otherwise by now; packets keep their length until the next start."""
    settings = read(SITES).node_settings("one").with_packets(30_000)
    hops = [settings.hop, *(edge.hop for edge in settings.edges)]
    assert settings.stream.packet_bytes == 30_000
    assert all(hop.packet_bytes == 30_000 <= hop.burst_bytes for hop in hops)
