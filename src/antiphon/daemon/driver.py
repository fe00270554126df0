"""The driver: runs a node on real sockets, disk and clock. It holds nothing of the protocol.

One thread, one loop. A turn waits for sockets or the node's deadline, hands the node what
came, and carries out what it says, in order. What was recorded is in the journal before the
packets that tell of it leave.
"""

import select
import socket
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from antiphon.core.effects import (
    Append,
    Broadcast,
    Dial,
    Discard,
    Emit,
    HangUp,
    Notify,
    Pour,
    ReadFirst,
    Received,
    Send,
    Word,
)
from antiphon.core.ids import DaemonId
from antiphon.core.machine import SECOND, WAKEUP, Instant, Wakeup
from antiphon.core.trace import Kind, Record
from antiphon.daemon.clients import Clients
from antiphon.daemon.clock import clock
from antiphon.daemon.datagrams import Datagrams
from antiphon.daemon.multicast import Reach, is_probe
from antiphon.daemon.pipes import Pipes
from antiphon.daemon.secure.outcome import Opened, Refusal, Reply
from antiphon.daemon.secure.plain import Plain
from antiphon.daemon.secure.seal import Seal
from antiphon.daemon.store import Store
from antiphon.protocol.node import Node
from antiphon.wire.client import Query
from antiphon.wire.packet import Tag, fault_at_sight

TIDY_US = SECOND // 4
"""Between looks at what has grown old. Nobody is woken up for it: it is done when there is a
turn anyway."""

Hear = Callable[[Record], None]
"""Whoever wants to know what is recorded: the log, the recorder."""


class Driver:
    def __init__(
        self,
        node: Node,
        name: str,
        datagrams: Datagrams,
        seal: Seal | Plain,
        hear: Hear,
        answer: Callable[[str, Query], Any],
        store: Store | None = None,
    ) -> None:
        self.node = node
        self.store = store
        """Where there are groups that are kept."""

        self.datagrams = datagrams
        self.seal = seal
        self.drops: Counter[str] = Counter()
        """What was refused of others' packets, by the seal or the node, by reason."""

        self._told: Counter[str] = Counter()
        """And how many of them a record has told of."""

        self.stalls: Counter[str] = Counter()
        """How often this process did not run when it should have, and for how long."""

        self.spill: Callable[[], None] = _nothing
        """Called before packets leave."""

        self.tidy: Callable[[Instant], None] = _ignore
        """Called at the end of every turn."""

        self.busy_poll_us = 0
        """So long it looks for more before it sleeps, if something came the last time."""

        self._came = False
        self._hear = hear
        self._epoll = select.epoll()
        self._datagram_files = frozenset(datagrams.files())
        for file in self._datagram_files:
            self._epoll.register(file, select.EPOLLIN)
        self.reach: Reach | None = None
        """Set where multicast is configured."""

        self._listeners: dict[int, socket.socket] = {}
        self.clients = Clients(node.me, name, self._epoll, self.step, answer)
        self.pipes = Pipes(node.me, self._epoll, seal, self._refuse)
        self._token_first = False
        self._cluster = node.cluster.to_bytes(8, "big")
        self._tidy_at: Instant = clock()
        self._perform: dict[type, Callable[[Any], None]] = {
            Send: self._send,
            Broadcast: self._broadcast,
            Notify: self.clients.notify,
            Emit: self._emit,
            ReadFirst: self._read_first,
            Pour: self._pour,
            Dial: self._dial,
            HangUp: self._hang_up,
        }
        if store is not None:
            self._perform |= {Append: store.append, Discard: store.discard}

    def listen(self, listener: socket.socket) -> None:
        self._listeners[listener.fileno()] = listener
        self._epoll.register(listener.fileno(), select.EPOLLIN)

    def watch(self, file: int) -> None:
        """Wake up when there is something to read there; whoever gave it reads it."""
        self._epoll.register(file, select.EPOLLIN)

    def silence(self, daemons: Iterable[DaemonId]) -> None:
        """Neither speak to these nor hear them: a drill."""
        silenced = frozenset(daemons)
        self.datagrams.silence(silenced)
        self.pipes.silence(silenced)

    def start(self) -> None:
        self._tidy_at = clock() + TIDY_US
        self._carry_out(self.node.start(clock()))
        self._flush()

    def turn(self, latest: Instant) -> None:
        """Wait for something, until `latest` at most, and do what is to be done."""
        now = clock()
        unheard = self.store is not None and self.store.answers
        hurried = self.pipes.waiting or self.clients.waiting or unheard
        until = now if hurried else min(self.node.deadline(), latest)
        events = self._wait(now, until)
        self._note_stall(until)
        self.clients.go_on()
        for file, mask in events:
            if file in self._datagram_files:
                self._receive()
            elif file in self.clients:
                self.clients.handle(file, mask)
            elif file in self._listeners:
                self.clients.accept(self._listeners[file], clock())
            elif file in self.pipes:
                self.pipes.handle(file, mask)
        for word in self.pipes.news():
            self.step(word)
        if self.store is not None:
            self._hear_store(self.store)
        now = clock()
        if now >= self.node.deadline():
            self.step(WAKEUP)
        self._flush()
        if now >= self._tidy_at:
            self._tidy_at = now + TIDY_US
            self.clients.expire(now)
            self.pipes.expire(now)
            self._probe_multicast(now)
        self.tidy(now)

    def _wait(self, now: Instant, until: Instant) -> list[tuple[int, int]]:
        """What came, after `until` perhaps nothing. To be woken takes longer than to look."""
        if self._came and self.busy_poll_us:
            awake = min(until, now + self.busy_poll_us)
            while now < awake:
                events = self._epoll.poll(0)
                if events:
                    return events
                now = clock()
        # Rounded up: epoll counts milliseconds, and too early is a turn for nothing.
        events = self._epoll.poll(max(0, until - now + 999) // 1_000 / 1_000)
        self._came = bool(events)
        return events

    def stop_listening(self) -> None:
        for file, listener in self._listeners.items():
            self._epoll.unregister(file)
            listener.close()
        self._listeners.clear()

    def leave(self) -> None:
        """Tell the other daemons; nothing is said after this."""
        self._carry_out(self.node.leave())
        self._flush()

    def close(self) -> None:
        self.stop_listening()
        self.clients.close()
        self.pipes.close()
        self.datagrams.close()
        if self.store is not None:
            self.store.close()
        self._epoll.close()

    # The node.

    def step(self, event: Word | Wakeup) -> None:
        self._carry_out(self.node.handle(clock(), event))

    def _carry_out(self, effects: list[Word]) -> None:
        perform = self._perform
        for effect in effects:
            perform[type(effect)](effect)

    def _send(self, effect: Send) -> None:
        self.datagrams.send(effect.to, self.seal.seal(effect.packet))

    def _broadcast(self, effect: Broadcast) -> None:
        self.datagrams.broadcast(self.seal.seal(effect.packet))

    def _emit(self, effect: Emit) -> None:
        if effect.record.kind == Kind.DROP:
            self._drop(effect.record)
        else:
            self._hear(effect.record)

    def _read_first(self, effect: ReadFirst) -> None:
        self._token_first = effect.token

    def _pour(self, effect: Pour) -> None:
        self.pipes.pour(effect.to, effect.packet)

    def _dial(self, effect: Dial) -> None:
        self.pipes.dial(effect.to)

    def _hang_up(self, effect: HangUp) -> None:
        self.pipes.hang_up(effect.to)

    def _hear_store(self, store: Store) -> None:
        """What came meanwhile goes to the files in one piece; so once in a turn."""
        answers, store.answers = store.answers, []
        for answer in answers:
            self.step(answer)

    # Packets.

    def _receive(self) -> None:
        """Data before the token, unless the node wished otherwise: a token that overtakes what
        was sent before it would make us ask for what is already here."""
        data: list[bytes] = []
        tokens: list[bytes] = []
        now = clock()
        for by_multicast, datagram in self.datagrams.receive():
            outcome = self.seal.open(now, datagram)
            if type(outcome) is Opened:
                packet = outcome.packet
                if self.reach is not None and is_probe(packet):
                    self._hear_probe(now, packet, by_multicast)
                    continue
                if self._is_more_noise(packet):
                    continue
                is_token = len(packet) > 1 and packet[1] == Tag.TOKEN
                (tokens if is_token else data).append(packet)
            elif type(outcome) is Reply:
                self.datagrams.send(DaemonId(outcome.to), outcome.datagram)
            elif type(outcome) is Refusal:
                self._refuse(outcome.reason)
        for packet in tokens + data if self._token_first else data + tokens:
            self.step(Received(packet))

    def _is_more_noise(self, packet: bytes) -> bool:
        """Counted, if the node has refused such a one before and need not tell of it again: a
        flood must not take the time of those who belong here."""
        reason = fault_at_sight(packet, self._cluster)
        if not reason or self.drops[reason] + 1 >= 2 * self._told[reason]:
            return False
        self.drops[reason] += 1
        return True

    def _probe_multicast(self, now: Instant) -> None:
        if self.reach is None:
            return
        probe = self.reach.probe(now)
        if probe is not None:
            self.datagrams.by_multicast(self.seal.seal(probe))
        self.datagrams.reach(self.reach.reached(now))

    def _hear_probe(self, now: Instant, packet: bytes, by_multicast: bool) -> None:
        assert self.reach is not None
        answer = self.reach.hear(now, packet, by_multicast)
        if answer is not None:
            self.datagrams.send(answer[0], self.seal.seal(answer[1]))

    def _refuse(self, reason: str) -> None:
        record = Record(Kind.DROP, clock(), *self.node.me)
        record.reason = reason
        record.value = 1
        self._drop(record)

    def _drop(self, record: Record) -> None:
        """Counted; told when it is new, and then whenever the count has doubled: a flood must
        not become a flood of records. What is told says how many it stands for."""
        reason = record.reason
        self.drops[reason] += record.value
        count = self.drops[reason]
        if count >= 2 * self._told[reason]:
            record.value = count - self._told[reason]
            self._told[reason] = count
            self._hear(record)

    def _flush(self) -> None:
        """Packets first: the ring waits for them. What is recorded is kept before anybody
        hears of it."""
        self.spill()
        self.datagrams.flush()
        self.pipes.flush()
        self.clients.flush()
        self.spill()  # what clients have taken may have moved the node
        self.datagrams.flush()
        self.pipes.flush()

    def _note_stall(self, until: Instant) -> None:
        late = clock() - until
        if late > self.node.pause_us:
            self.stalls["times"] += 1
            self.stalls["us"] += late
            self.stalls["longest_us"] = max(self.stalls["longest_us"], late)


def _nothing() -> None:
    pass


def _ignore(now: Instant) -> None:
    pass
