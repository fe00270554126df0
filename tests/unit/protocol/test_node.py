"""A node: where packets go, and what is refused at the door."""

from dataclasses import replace
from random import Random

import pytest

from antiphon.core.effects import (
    Broadcast,
    Connect,
    Emit,
    Join,
    Message,
    Multicast,
    Notify,
    Received,
    Send,
    Word,
)
from antiphon.core.errors import ConfigError
from antiphon.core.ids import ConfigId, DaemonId, Incarnation, Member
from antiphon.core.machine import WAKEUP
from antiphon.core.service import Service
from antiphon.core.trace import Kind
from antiphon.protocol.links.settings import EdgeSettings
from antiphon.protocol.node import Node
from antiphon.protocol.presets import LAN, SIMULATION
from antiphon.wire.body import letters, pack_body
from antiphon.wire.control import Hello, Relayed, SiteReady, pack_control, read_control
from antiphon.wire.packet import WIRE_VERSION, Envelope, Tag

ME = Member(DaemonId(1), Incarnation(5))
PEER = Member(DaemonId(2), Incarnation(6))
SETTINGS = replace(SIMULATION, daemons=(DaemonId(1), DaemonId(2), DaemonId(3)))
CONFIG = ConfigId(9, *ME, 1)
HELLO = Hello(
    ConfigId(1, *PEER, 1), PEER.daemon, True, "", DaemonId(0), 1, (ME,), (ME.daemon, PEER.daemon)
)


def node() -> Node:
    made = Node(ME, SETTINGS, Random(1))
    made.start(0)
    return made


def hello(sender: Member = PEER, cluster: int = SETTINGS.cluster) -> bytes:
    return pack_control(Envelope(cluster, sender), HELLO)


def drops(effects: list[Word]) -> list[tuple[str, str]]:
    return [
        (effect.record.reason, effect.record.detail)
        for effect in effects
        if isinstance(effect, Emit) and effect.record.kind == Kind.DROP
    ]


@pytest.mark.parametrize(
    ("packet", "reason"),
    [
        (b"", "too_short"),
        (bytes([WIRE_VERSION + 1]) + hello()[1:], "wire_version"),
        (hello(cluster=SETTINGS.cluster + 1), "other_cluster"),
        (hello(Member(DaemonId(9), PEER.incarnation)), "unknown_daemon"),
        (hello(ME), "own"),
        (hello(Member(ME.daemon, Incarnation(77))), "twin"),
        (hello() + b"\0", "malformed"),
        (hello()[:1] + b"\xfa" + hello()[2:], "unknown_tag"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_does_not_belong_here_is_dropped_with_its_reason(packet: bytes, reason: str) -> None:
    """SP-14, SP-185: the node goes on as if nothing had come."""
    made = node()
    due = made.deadline()
    assert [one for one, _ in drops(made.handle(1, Received(packet)))] == [reason]
    assert made.deadline() == due


# Relays.

OTHER = Member(DaemonId(3), Incarnation(7))
READY = pack_control(Envelope(SETTINGS.cluster, OTHER), SiteReady(CONFIG))


def relayed(packet: bytes, *route: int) -> Received:
    told = Relayed(tuple(map(DaemonId, route)), packet)
    return Received(pack_control(Envelope(SETTINGS.cluster, PEER), told))


def test_a_relayed_packet_goes_on_to_the_next_of_its_route() -> None:
    (send,) = node().handle(1, relayed(READY, 1, 3, 2))
    assert isinstance(send, Send) and send.to == 3
    onward = read_control(Tag.RELAYED, send.packet)
    assert onward == Relayed((DaemonId(3), DaemonId(2)), READY)


def test_at_its_end_a_relayed_packet_is_opened_as_if_it_had_come_directly() -> None:
    """It is of whom its own header names, not of the last relay."""
    effects = node().handle(1, relayed(READY, 1))
    (drop,) = [effect.record for effect in effects if isinstance(effect, Emit)]
    assert (drop.reason, drop.peer) == ("other_attempt", OTHER.daemon)


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (relayed(READY, 3, 1), "bad_route"),
        (relayed(READY, 1, 9), "bad_route"),
        (relayed(hello(), 1), "not_relayed"),
        (relayed(relayed(READY, 1).packet, 1), "not_relayed"),
        (relayed(pack_control(Envelope(SETTINGS.cluster, ME), SiteReady(CONFIG)), 1), "own"),
        (relayed(READY[:10], 1), "too_short"),
    ],
    ids=["another is next", "a stranger", "a greeting", "relayed twice", "my own", "cut"],
)
def test_what_cannot_have_been_relayed_is_refused(event: Received, reason: str) -> None:
    """Leaders know by greetings whom they hear: those must not come over others."""
    assert [one for one, _ in drops(node().handle(1, event))] == [reason]


def test_sites_have_each_daemon_once() -> None:
    one, two = (DaemonId(1), DaemonId(2)), (DaemonId(3),)
    assert replace(SETTINGS, sites=(one, two)).sites == (one, two)
    for wrong in ({"sites": (one,)}, {"sites": (one, one, two)}):
        with pytest.raises(ConfigError) as caught:
            replace(SETTINGS, **wrong)
        assert caught.value.key == "sites"


def test_each_edge_joins_two_of_the_sites_once() -> None:
    """Settings of its own for each pair of sites (SP-169), and weights for both ways (SP-112)."""
    sites = ((DaemonId(1), DaemonId(2)), (DaemonId(3),))
    edge = EdgeSettings(0, 1, weight=5)
    assert replace(SETTINGS, sites=sites, edges=(edge,)).weights == ((0, 1, 5),)
    large = replace(edge, hop=replace(edge.hop, packet_bytes=SETTINGS.hop.packet_bytes + 1))
    for wrong in ([replace(edge, two=2)], [edge, EdgeSettings(1, 0)], [large]):
        with pytest.raises(ConfigError) as caught:
            replace(SETTINGS, sites=sites, edges=tuple(wrong))
        assert caught.value.key == "edges"


def test_packets_that_grow_before_they_leave_are_made_smaller_everywhere() -> None:
    sites = ((DaemonId(1), DaemonId(2)), (DaemonId(3),))
    usual = replace(SETTINGS, sites=sites, edges=(EdgeSettings(0, 1, weight_back=2),))
    small = usual.with_room_for(40)
    assert small.stream.packet_bytes == usual.stream.packet_bytes - 40
    hops = (usual.hop, small.hop, small.edges[0].hop)
    assert [hop.packet_bytes for hop in hops] == [1400, 1360, 1360]
    assert small.weights == usual.weights == ((1, 0, 2),)


def test_a_packet_of_a_peer_is_heard() -> None:
    made = node()
    later = SETTINGS.membership.look_gap_us + 1
    assert drops(made.handle(later, Received(hello()))) == []
    assert PEER in made.membership._site.picture.mutual


def test_a_lone_daemon_serves_its_clients_at_once() -> None:
    """X-39, TR-75."""
    made = node()
    made.handle(1, Connect(1, "anna"))
    made.handle(2, Join(1, "alpha"))
    body = pack_body((("alpha",),), (0,), (7,), (b"to myself",), "anna")
    effects = made.handle(3, Multicast(1, Service.SAFE, 1, body))
    told = [
        effect.news
        for effect in effects
        if isinstance(effect, Notify) and isinstance(effect.news, Message)
    ]
    (letter,) = letters(told[0])
    assert (letter.payload, letter.kind, len(told)) == (b"to myself", 7, 1)


def test_words_between_machines_do_not_leave_the_node() -> None:
    made = node()
    effects = made.handle(1, Received(hello()))
    while made.deadline() < 2_000_000:
        effects += made.handle(made.deadline(), WAKEUP)
    assert {type(effect) for effect in effects} <= {Emit, Send, Broadcast, Notify}


def test_a_node_that_stood_still_blames_nobody() -> None:
    """The process did not run; the others did not fall silent."""
    made = node()
    made.handle(1, Received(hello()))
    pause = 10 * SETTINGS.membership.hear_us
    made.handle(made.deadline() + pause, WAKEUP)
    assert PEER in made.membership._site.counted(made.deadline())


def test_garbage_after_a_pause_moves_the_timers_once() -> None:
    """Otherwise a stream of garbage would move them away for ever."""
    made = node()
    late = made.deadline() + SETTINGS.pause_us + 1
    made.handle(late, Received(b""))
    once = made.membership.deadline()
    made.handle(late, Received(b""))
    assert made.membership.deadline() == once


def test_a_pause_that_hides_a_token_loss_is_a_mistake_of_the_configuration() -> None:
    with pytest.raises(ConfigError):
        replace(LAN, pause_us=LAN.stream.token_loss_us)


class Pair:
    """Two nodes on a wire."""

    def __init__(self) -> None:
        self.nodes = {one.daemon: Node(one, SETTINGS, Random(one.daemon)) for one in (ME, PEER)}
        self.now = 1_000
        self.air: list[tuple[int, int, bytes]] = []
        self.told: dict[int, list[Message]] = {daemon: [] for daemon in self.nodes}
        self.tags: set[int] = set()
        for daemon, made in self.nodes.items():
            self._perform(daemon, made.start(self.now))

    def tell(self, daemon: int, event: Word) -> None:
        self._perform(daemon, self.nodes[DaemonId(daemon)].handle(self.now, event))

    def run(self, us: int) -> None:
        end = self.now + us
        while True:
            due, daemon = min((one.deadline(), daemon) for daemon, one in self.nodes.items())
            at = self.air[0][0] if self.air else end + 1
            if min(due, at) > end:
                self.now = end
                return
            self.now = max(self.now, min(due, at))
            if at <= due:
                _, to, packet = self.air.pop(0)
                self.tell(to, Received(packet))
            else:
                self._perform(daemon, self.nodes[daemon].handle(self.now, WAKEUP))

    def _perform(self, daemon: int, effects: list[Word]) -> None:
        other = PEER.daemon if daemon == ME.daemon else ME.daemon
        for effect in effects:
            if isinstance(effect, Broadcast) or (isinstance(effect, Send) and effect.to == other):
                self.tags.add(effect.packet[1])
                self.air.append((self.now + 100, other, effect.packet))
            elif isinstance(effect, Notify) and isinstance(effect.news, Message):
                self.told[daemon].append(effect.news)


def test_a_node_is_busy_until_the_other_holds_what_was_submitted() -> None:
    pair = Pair()
    pair.tell(1, Connect(1, "n1"))
    pair.run(2_000_000)
    assert not pair.nodes[ME.daemon].busy()
    body = pack_body((("alpha",),), (0,), (0,), (b"x",), "n1")
    pair.tell(1, Multicast(1, Service.AGREED, 1, body))
    assert pair.nodes[ME.daemon].busy()
    pair.air = [one for one in pair.air if one[2][1] != Tag.DATA]  # lost, and to be repeated
    pair.run(150)
    assert not pair.nodes[ME.daemon].stream._outbox.waiting(True), "it was sent"
    assert pair.nodes[ME.daemon].busy() and not pair.nodes[PEER.daemon].busy()
    pair.run(100_000)
    assert not pair.nodes[ME.daemon].busy()


def test_two_nodes_meet_and_deliver_the_same_in_one_order() -> None:
    """P1, S5: everything between them is packets."""
    pair = Pair()
    for daemon in (1, 2):
        pair.tell(daemon, Connect(1, f"n{daemon}"))
        pair.tell(daemon, Join(1, "alpha"))
    pair.run(2_000_000)
    ids = {made.membership.installed.id for made in pair.nodes.values()}
    assert len(ids) == 1
    for number in range(20):
        for daemon in (1, 2):
            payload = b"%d %d" % (daemon, number)
            body = pack_body((("alpha",),), (0,), (0,), (payload,), f"n{daemon}")
            pair.tell(daemon, Multicast(1, Service.AGREED, 1, body))
    pair.run(500_000)
    orders = [[letters(one)[0].payload for one in told] for told in pair.told.values()]
    assert len(orders[0]) == 40 and orders[0] == orders[1]
    assert {Tag.DATA, Tag.TOKEN, Tag.HELLO, Tag.PROPOSE, Tag.COMMIT} <= pair.tags
