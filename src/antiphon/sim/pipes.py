"""Pipes between simulated hosts, as TCP gives them: in order and whole, until they break.

A pipe has two ends, and each learns for itself what became of it. What a link loses comes
later; while a link is down nothing comes, and after a while the pipe is broken. What is on its
way then is lost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from antiphon.core.effects import PipeDown, PipeRoom, PipeUp, Received
from antiphon.core.ids import DaemonId
from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.sim.gates import Ways
from antiphon.sim.host import Host
from antiphon.sim.link import Link

if TYPE_CHECKING:
    from antiphon.sim.engine import Engine

ROOM_BYTES = 32_768
"""What a host keeps of what was poured and was not read at the other end."""

LOOK_US = 200 * MILLISECOND
"""Between two looks at a pipe: what waits is tried again, what is broken is told."""

RESEND_US = 200 * MILLISECOND
"""What is lost comes later by this and a round trip; lost again, by twice that."""

LOSS_MAX = 0.7
"""Above this nothing would ever come."""

BREAK_US = 1_200 * MILLISECOND
"""So long a link may be down under a pipe with something on its way."""

IDLE_BREAK_US = 4 * SECOND
"""And under one that is idle."""


class End:
    """One end of a pipe, with what goes from here to the other."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.host = link.source
        self.life = link.source.life
        self.peer: End
        self.up = False
        """The node has it, and knows."""

        self.waiting: deque[bytes] = deque()
        """The link was down when it should have left."""

        self.held_bytes = 0
        self.told = ROOM_BYTES
        """What the node believes that it may pour."""

        self.last_arrival = 0
        self.trouble_us = 0
        """So long the way was not there, or the other end, as far as anybody looked."""

    @property
    def to(self) -> DaemonId:
        return self.link.target.id

    @property
    def is_cut(self) -> bool:
        return self.link.down or self.peer.link.down


class Pipes:
    """All pipes of a world."""

    def __init__(self, engine: Engine, rng: Random) -> None:
        self._engine = engine
        self._random = rng.random
        self._ends: dict[tuple[DaemonId, DaemonId], End] = {}
        """By whose it is, and to whom."""

        self._dials: dict[tuple[DaemonId, DaemonId], End] = {}

    # What a node asks.

    def dial(self, host: Host, to: DaemonId) -> None:
        """Where nobody runs it is refused; where nothing gets through, nothing is heard."""
        self.hang_up(host, to)
        network = self._engine.network
        end, called = End(network.link(host.id, to)), End(network.link(to, host.id))
        end.peer, called.peer = called, end
        self._dials[host.id, to] = end
        if not end.is_cut:
            trip_us = self._way_us(end.link) + self._way_us(called.link)
            answer = self._refused if called.host.node is None else self._answered
            self._hand_at(self._engine.now + trip_us, end, partial(answer, end))

    def pour(self, host: Host, to: DaemonId, packet: bytes) -> None:
        end = self._ends.get((host.id, to))
        if end is None:
            return
        end.held_bytes += len(packet)
        end.told -= len(packet)
        if end.waiting or end.link.down:
            end.waiting.append(packet)
        else:
            self._carry(end, packet)

    def hang_up(self, host: Host, to: DaemonId) -> None:
        """What was poured before still arrives, if all goes well."""
        self._dials.pop((host.id, to), None)
        end = self._ends.get((host.id, to))
        if end is not None:
            self._let_go(end, end.last_arrival)

    # What befalls hosts and links.

    def host_gone(self, host: Host) -> None:
        """Its kernel ends its pipes; what it had to send may be lost."""
        for place in [place for place in self._dials if place[0] == host.id]:
            del self._dials[place]
        for end in [end for end in self._ends.values() if end.host is host]:
            self._let_go(end, end.last_arrival if self._random() < 0.5 else 0)

    def snap(self, ways: Ways) -> None:
        """Whatever goes these ways is broken at once, for both ends."""
        for end in list(self._ends.values()):
            if ways.cover(end.host.id, end.to):
                for one in (end, end.peer):
                    self._hand_at(self._engine.now, one, partial(self._lose, one))

    # The way of a packet.

    def _way_us(self, link: Link) -> int:
        """Of one packet, repeated until it gets through."""
        way_us = link.latency + (int(self._random() * link.jitter) if link.jitter else 0)
        chance = min(LOSS_MAX, link.loss + link.corrupt)
        again_us = RESEND_US + 2 * link.latency
        while chance and self._random() < chance:
            way_us += again_us
            again_us *= 2
        return way_us

    def _carry(self, end: End, packet: bytes) -> None:
        link, leaves = end.link, self._engine.now
        if link.byte_us:
            leaves = max(leaves, link.line_free) + int(len(packet) * link.byte_us)
            link.line_free = leaves
        end.last_arrival = max(end.last_arrival, leaves + self._way_us(link))
        self._hand_at(end.last_arrival, end.peer, partial(self._arrive, end, packet))

    def _arrive(self, end: End, packet: bytes) -> None:
        """At the other end."""
        if not end.peer.up:
            return
        end.held_bytes -= len(packet)
        self._engine.handle(end.peer.host, Received(packet))
        room = ROOM_BYTES - end.held_bytes
        if end.up and end.told < ROOM_BYTES // 2 <= room:
            end.told = room
            self._hand(end, partial(self._tell_room, end, room))

    def _tell_room(self, end: End, room: int) -> None:
        if end.up:
            self._engine.handle(end.host, PipeRoom(end.to, room))

    def _hand_at(self, at: int, end: End, action: Callable[[], None]) -> None:
        self._engine.call_at(at, partial(self._hand, end, action))

    def _hand(self, end: End, action: Callable[[], None]) -> None:
        """To the host of an end: what it cannot read now waits there."""
        host = end.host
        if host.node is None or host.life != end.life:
            return
        if host.held:
            host.poured.append(partial(self._hand, end, action))
        else:
            action()

    # The life of a pipe.

    def _refused(self, end: End) -> None:
        if self._dials.get((end.host.id, end.to)) is end:
            del self._dials[end.host.id, end.to]
            self._engine.handle(end.host, PipeDown(end.to))

    def _answered(self, end: End) -> None:
        """The caller has it; the called one a little later, before anything that is poured."""
        if self._dials.get((end.host.id, end.to)) is not end or end.is_cut:
            return
        del self._dials[end.host.id, end.to]
        end.last_arrival = self._engine.now + self._way_us(end.link)
        self._hand_at(end.last_arrival, end.peer, partial(self._accept, end.peer))
        self._engine.call_at(self._engine.now + LOOK_US, partial(self._look, end))
        self._own(end)

    def _accept(self, end: End) -> None:
        if end.peer.up and not end.is_cut:
            self._own(end)

    def _own(self, end: End) -> None:
        """In place of any earlier one."""
        old = self._ends.get((end.host.id, end.to))
        if old is not None:
            self._let_go(old, old.last_arrival)
        self._ends[end.host.id, end.to] = end
        end.up = True
        self._engine.handle(end.host, PipeUp(end.peer.host.member, ROOM_BYTES))

    def _let_go(self, end: End, at: int) -> None:
        """This end has it no more, and knows; the other hears of it if it can."""
        self._close(end)
        if not end.link.down:
            at = max(at, self._engine.now + end.link.latency)
            self._hand_at(at, end.peer, partial(self._lose, end.peer))

    def _lose(self, end: End) -> None:
        """This end learns that the pipe is broken."""
        if end.up:
            self._close(end)
            self._engine.handle(end.host, PipeDown(end.to))

    def _close(self, end: End) -> None:
        if self._ends.get((end.host.id, end.to)) is end:
            del self._ends[end.host.id, end.to]
        end.up = False
        end.waiting.clear()

    def _look(self, caller: End) -> None:
        """Now and then: what could not leave leaves, what is broken is found to be."""
        for end in (caller, caller.peer):
            if not end.up:
                continue
            while end.waiting and not end.link.down:
                self._carry(end, end.waiting.popleft())
            in_trouble = end.is_cut or not end.peer.up
            end.trouble_us = end.trouble_us + LOOK_US if in_trouble else 0
            if end.trouble_us > (BREAK_US if end.held_bytes else IDLE_BREAK_US):
                self._hand(end, partial(self._lose, end))
        if caller.up or caller.peer.up:
            self._engine.call_at(self._engine.now + LOOK_US, partial(self._look, caller))
