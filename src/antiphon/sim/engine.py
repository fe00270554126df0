"""The engine of a world: one queue of what will happen, and the steps of the nodes.

    heap entry   (time, counter, kind, target, item)
    ARRIVE       a packet reaches a host
    WAKE         a node's deadline has come
    REQUEST      a session's request reaches its daemon
    TIMER        an application's timer
    CALL         anything else

It runs every node as the daemon does, carries out its effects in order, and writes down
their records with its own time. It knows nothing of what the packets mean.
"""

import traceback
from collections.abc import Callable, Sequence
from functools import partial
from heapq import heappop, heappush
from random import Random
from typing import Any

import msgspec

from antiphon.core.effects import (
    Append,
    Appended,
    Broadcast,
    Dial,
    Discard,
    Emit,
    HangUp,
    Multicast,
    Notify,
    Persist,
    Persisted,
    Pour,
    ReadFirst,
    Received,
    Send,
)
from antiphon.core.ids import NOBODY, DaemonId, Incarnation, Member
from antiphon.core.machine import NEVER, WAKEUP
from antiphon.core.trace import Kind, Record
from antiphon.sim.host import Host, SimulatedNode
from antiphon.sim.network import ARRIVE, Network
from antiphon.sim.pipes import Pipes
from antiphon.sim.session import Request, Session

NO_MEMBER = Member(NOBODY, Incarnation(0))

WAKE = 1
REQUEST = 2
TIMER = 3
CALL = 4

REQUEST_US = 30
"""From an application to its daemon."""

SPINS_MAX = 1_000
"""A node that wakes so often without letting time pass will never stop."""

Watcher = Callable[[Record], bool]


class Bug(msgspec.Struct, frozen=True):
    """A node raised: its fault, never a peer's."""

    time: int
    node: DaemonId
    error: str
    trace: str


class Engine:
    """Events in the order of their time, and what nodes answer to them."""

    def __init__(self, network: Network, rng: Random, collect: Callable[[Record], None]) -> None:
        self.now = 0
        self.events = 0
        """Calls of `node.handle`."""

        self.events_max = 1 << 62
        self.messages = 0
        """Messages that applications submitted."""

        self.bugs: list[Bug] = []
        self.network = network
        self.pipes = Pipes(self, rng)
        self._heap = network.heap
        self._collect = collect
        self._watchers: dict[Kind, list[Watcher]] = {}

    # Time.

    def run(self, until: int) -> None:
        """Let everything happen up to and including `until`."""
        heap = self._heap
        handle = self.handle
        while heap and heap[0][0] <= until and self.events < self.events_max:
            self.now, _, kind, target, item = heappop(heap)
            if kind == ARRIVE:
                if target.held:
                    target.keep(item)
                else:
                    handle(target, item)
            elif kind == WAKE:
                self._wake(target, item)
            elif kind == REQUEST:
                self._take_request(target, item)
            elif kind == TIMER:
                if target.live:
                    target.app.on_timer(target)
            else:
                item()
        if self.events < self.events_max:
            self.now = max(self.now, until)

    def call_at(self, at: int, action: Callable[[], None]) -> None:
        self._push(at, CALL, None, action)

    def set_timer(self, session: Session, delay_us: int) -> None:
        self._push(self.now + delay_us, TIMER, session, None)

    def request(self, session: Session, request: Request) -> None:
        self._push(self.now + REQUEST_US, REQUEST, session, request)

    def _push(self, at: int, kind: int, target: Any, item: Any) -> None:
        network = self.network
        network.counter = counter = network.counter + 1
        heappush(self._heap, (at, counter, kind, target, item))

    # A node's step.

    def handle(self, host: Host, event: Any) -> None:
        """Hand an event to a node that runs, and carry out what it answers."""
        node = host.node
        if node is None:
            return
        self.events += 1
        try:
            effects = node.handle(self.now + host.offset, event)
        except Exception as error:
            self._found_bug(host, error)
            return
        if effects:
            self._perform(host, effects)
            if host.node is not node:
                return
        due = node.deadline()
        if due < host.wake:
            self._schedule_wake(host, due)
        if host.cost:
            self._occupy(host)

    def _perform(self, host: Host, effects: Sequence[Any]) -> None:
        now = self.now
        network = self.network
        transmit = network.transmit
        node = host.node
        for effect in effects:
            kind = type(effect)
            if kind is Emit:
                record = effect.record
                record.time = now
                self._collect(record)
                if self._watchers and self._watched(host, record, node):
                    return
            elif kind is Broadcast:
                received = Received(effect.packet)
                host.sample = effect.packet
                if not host.oldest:
                    host.oldest = effect.packet
                for link in host.broadcast:
                    transmit(now, link, received)
            elif kind is Send:
                way = host.link_to.get(effect.to) or network.first_link(host, effect.to)
                if way is not None:
                    transmit(now, way, Received(effect.packet))
            elif kind is Notify:
                session = host.sessions.get(effect.session)
                if session is not None:
                    session.notify(effect.news)
            elif kind is Persist:
                self._persist(host, effect, effects)
                return
            elif kind is ReadFirst:
                host.token_first = effect.token
            elif kind is Append:
                self._append(host, effect)
            elif kind is Discard:
                host.disk.discard(effect.key)
            else:
                self._perform_on_pipes(host, effect)

    def _perform_on_pipes(self, host: Host, effect: Any) -> None:
        if isinstance(effect, Pour):
            self.pipes.pour(host, effect.to, effect.packet)
        elif isinstance(effect, Dial):
            self.pipes.dial(host, effect.to)
        elif isinstance(effect, HangUp):
            self.pipes.hang_up(host, effect.to)
        else:
            raise AssertionError(f"no driver knows {effect!r}")

    def _persist(self, host: Host, persist: Persist, effects: Sequence[Any]) -> None:
        """The rest of the step waits for the disk."""
        at = next(index for index, effect in enumerate(effects) if effect is persist)
        rest = effects[at + 1 :]
        ticket, done = host.disk.begin(self.now, persist.key, persist.data)
        life = host.life

        def resume_step() -> None:
            if host.life == life and host.node is not None:
                self._perform(host, rest)
                self.handle(host, Persisted(persist.key))

        def synced() -> None:
            if host.life != life or host.node is None:
                return
            host.disk.finish(ticket)
            if host.held:
                host.requests.append(resume_step)
            else:
                resume_step()

        self.call_at(done, synced)

    def _append(self, host: Host, append: Append) -> None:
        """Nothing waits for it; the node is told when it is there, or that it is not."""
        ticket, done = host.disk.begin(self.now, append.key, append.data, append=True)
        life = host.life

        def appended() -> None:
            if host.life != life or host.node is None:
                return
            fault = "no space" if host.disk.fails() else ""
            host.disk.fail(ticket) if fault else host.disk.finish(ticket)
            answer = partial(self.handle, host, Appended(append.key, fault))
            if host.held:
                host.requests.append(answer)
            else:
                answer()

        self.call_at(done, appended)

    # Wake-ups: one entry per host counts, the one whose item is `host.wake`.

    def _schedule_wake(self, host: Host, due: int) -> None:
        host.wake = due
        self._push(max(self.now, due - host.offset), WAKE, host, due)

    def _wake(self, host: Host, item: int) -> None:
        if item != host.wake:
            return  # an earlier deadline took its place
        host.wake = NEVER
        if host.node is None or host.held:
            return
        due = host.node.deadline()
        if due > self.now + host.offset:
            if due < NEVER:
                self._schedule_wake(host, due)
            return
        host.spins = host.spins + 1 if host.last_wake == self.now else 0
        host.last_wake = self.now
        if host.spins > SPINS_MAX:
            self._found_bug(host, AssertionError("the node wakes up without end"))
            return
        self.handle(host, WAKEUP)

    def _watch_deadline(self, host: Host) -> None:
        if host.node is not None and not host.held:
            due = host.node.deadline()
            if due < NEVER:
                self._schedule_wake(host, due)

    # A host that cannot take events.

    def _take_request(self, session: Session, request: Request) -> None:
        host = session.host
        if host.life != session.life or host.node is None:
            return
        if type(request) is Multicast:
            self.messages += request.count
        if host.held:
            host.requests.append(partial(self.handle, host, request))
        else:
            self.handle(host, request)

    def _occupy(self, host: Host) -> None:
        """The step took a while."""
        host.busy = host.held = True
        self.call_at(self.now + host.cost, partial(self._release, host, host.life))

    def _release(self, host: Host, life: int) -> None:
        if host.life == life and host.busy:
            host.busy = False
            host.held = host.paused
            self._drain(host)

    def _drain(self, host: Host) -> None:
        """Packets, then pipes, then what applications asked, then the clock."""
        while not host.held and host.node is not None:
            received = host.take_kept()
            if received is not None:
                self.handle(host, received)
            elif host.poured:
                host.poured.popleft()()
            elif host.requests:
                host.requests.popleft()()
            else:
                break
        self._watch_deadline(host)

    # The end of a life.

    def stop(self, host: Host, reason: str, detail: str = "") -> None:
        """The node is gone; its disk and its applications are told."""
        self.write(Kind.STOP, host.member, reason=reason, detail=detail)
        host.disk.crash()
        self.pipes.host_gone(host)
        sessions = list(host.sessions.values())
        host.clear()
        for session in sessions:
            session.fail("daemon_stopped")

    def _found_bug(self, host: Host, error: Exception) -> None:
        text = "".join(traceback.format_exception(error))
        what = f"{type(error).__name__}: {error}"
        self.bugs.append(Bug(self.now, host.id, what, text))
        host.dead = True
        self.stop(host, "bug", what)

    # Records.

    def write(
        self,
        kind: Kind,
        member: Member = NO_MEMBER,
        reason: str = "",
        detail: str = "",
        members: tuple[Member, ...] = (),
    ) -> None:
        """A row of the driver's own."""
        self._collect(
            Record(kind, self.now, *member, members=members, reason=reason, detail=detail)
        )

    def watch(self, kind: Kind, watcher: Watcher) -> None:
        """Call `watcher` with each record of this kind, in the midst of the step that made
        it, until it returns true."""
        self._watchers.setdefault(kind, []).append(watcher)

    def unwatch_all(self) -> None:
        self._watchers.clear()

    def _watched(self, host: Host, record: Record, node: SimulatedNode | None) -> bool:
        """Tell the watchers; true if the node did not survive that. A watcher is not called
        for what it does itself: a host that it starts may write the same kind of record."""
        for watcher in list(self._watchers.get(record.kind, ())):
            watching = self._watchers.get(record.kind, [])
            if watcher not in watching:
                continue  # another one has ended the watch
            watching.remove(watcher)
            if not watcher(record):
                self.watch(record.kind, watcher)
        if not self._watchers.get(record.kind, True):
            del self._watchers[record.kind]
        return host.node is not node
