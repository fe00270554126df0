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
from antiphon.protocol.node import Node
from antiphon.protocol.presets import LAN, SIMULATION
from antiphon.wire.body import pack_body
from antiphon.wire.control import Hello, pack_control
from antiphon.wire.packet import WIRE_VERSION, Envelope

ME = Member(DaemonId(1), Incarnation(5))
PEER = Member(DaemonId(2), Incarnation(6))
SETTINGS = replace(SIMULATION, daemons=(DaemonId(1), DaemonId(2), DaemonId(3)))
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


def test_a_packet_of_a_peer_is_heard() -> None:
    made = node()
    assert drops(made.handle(1, Received(hello()))) == []
    assert PEER in made.membership._picture.mutual


def test_a_lone_daemon_serves_its_clients_at_once() -> None:
    """X-39, TR-75."""
    made = node()
    made.handle(1, Connect(1, "anna"))
    made.handle(2, Join(1, "alpha"))
    body = pack_body((("alpha",),), (0,), (7,), (b"to myself",))
    effects = made.handle(3, Multicast(1, Service.SAFE, 1, body))
    told = [
        effect.news
        for effect in effects
        if isinstance(effect, Notify) and isinstance(effect.news, Message)
    ]
    assert [(one.payloads, one.kinds) for one in told] == [((b"to myself",), (7,))]


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
    assert PEER in made.membership._counted(made.deadline())


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
