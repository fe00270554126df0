"""Nodes that hand each other their packets: a cluster without sockets, clients and clocks.

What is measured on it is the protocol alone.
"""

from collections import deque
from dataclasses import replace
from random import Random

from antiphon.core.effects import (
    Broadcast,
    Connect,
    Drained,
    Join,
    Message,
    Multicast,
    Notify,
    Received,
    Send,
    Word,
)
from antiphon.core.ids import DaemonId, Incarnation, Member, SessionId
from antiphon.core.machine import SECOND, WAKEUP
from antiphon.core.service import Service
from antiphon.protocol.node import Node
from antiphon.protocol.presets import LAN
from antiphon.wire.body import pack_body

BUNDLE_BYTES = 60_000
PACKET_BYTES = 65_000
"""As on loopback."""

START_US = 20 * SECOND
HOP_US = 20
GROUP = "group"
SENDER, RECEIVER = 1, 2
"""Sessions: one sends at the first daemon, one receives at each."""


def bundle_body(size: int) -> tuple[bytes, int]:
    """A full bundle of messages of that size, and how many they are."""
    count = max(1, BUNDLE_BYTES // (size + 8))
    zeros = (0,) * count
    return pack_body(((GROUP,),), zeros, zeros, (bytes(size),) * count, "sender"), count


class Direct:
    def __init__(self, daemons: int, size: int) -> None:
        self._body, self._count = bundle_body(size)
        everybody = tuple(DaemonId(number) for number in range(1, daemons + 1))
        stream = replace(LAN.stream, packet_bytes=PACKET_BYTES)
        settings = replace(LAN, daemons=everybody, stream=stream)
        self._nodes = {
            daemon: Node(Member(daemon, Incarnation(1)), settings, Random(daemon))
            for daemon in everybody
        }
        self._now = SECOND
        self._events: deque[tuple[DaemonId, Word]] = deque()
        self.taken = 0
        for daemon, node in self._nodes.items():
            self._carry_out(daemon, node.start(self._now))
        self._run_until(self._now + START_US)
        self._events.append((everybody[0], Connect(SENDER, "sender", 0, False, "")))
        for daemon in everybody:
            self._events.append((daemon, Connect(RECEIVER, "receiver", 0, True, "")))
            self._events.append((daemon, Join(RECEIVER, GROUP)))
        self._run_until(self._now + SECOND)

    @staticmethod
    def message(body: bytes, count: int) -> Message:
        origin = SessionId(DaemonId(1), Incarnation(1), 1)
        return Message(origin, 1, count, Service.AGREED, body, False, ())

    def bundle(self) -> int:
        """One bundle, from the sender's session to every receiver's."""
        due = self.taken + len(self._nodes)
        request = Multicast(SENDER, Service.AGREED, self._count, self._body, False)
        self._events.append((DaemonId(1), request))
        while self.taken < due:
            self._step()
        return 1

    def _run_until(self, end: int) -> None:
        while self._now < end:
            self._step()

    def _step(self) -> None:
        """What has been said is heard; time passes only when there is nothing to hear."""
        if not self._events:
            self._now = max(self._now + 1, min(node.deadline() for node in self._nodes.values()))
            for daemon, node in self._nodes.items():
                if node.deadline() <= self._now:
                    self._carry_out(daemon, node.handle(self._now, WAKEUP))
            return
        self._now += HOP_US
        daemon, event = self._events.popleft()
        self._carry_out(daemon, self._nodes[daemon].handle(self._now, event))

    def _carry_out(self, daemon: DaemonId, effects: list[Word]) -> None:
        for effect in effects:
            if isinstance(effect, Broadcast):
                for other in self._nodes:
                    if other != daemon:
                        self._events.append((other, Received(effect.packet)))
            elif isinstance(effect, Send):
                self._events.append((effect.to, Received(effect.packet)))
            elif isinstance(effect, Notify) and isinstance(effect.news, Message):
                self.taken += 1
                drained = Drained(effect.session, 1, len(effect.news.body))
                self._events.append((daemon, drained))
