"""TCP between daemons: who is called, who calls, and what comes and goes on each connection.

The node asks for pipes and is told what became of them, in the order in which it happened. It
has at most one to a daemon. Whoever calls has little time to prove who it is.
"""

import select
import socket
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping

from antiphon.core.effects import PipeDown, PipeRoom, PipeUp, Received, Word
from antiphon.core.ids import DaemonId, Member
from antiphon.core.machine import SECOND, Instant
from antiphon.daemon.clock import clock
from antiphon.daemon.datagrams import SocketAddress
from antiphon.daemon.pipe import ROOM_BYTES, Broken, Pipe, calling, prepare
from antiphon.daemon.secure.plain import Plain
from antiphon.daemon.secure.seal import Seal
from antiphon.daemon.secure.stream import Untrusted

PROVE_US = 5 * SECOND
"""Who has not proven by then who it is, is in the way."""

STRANGERS_MAX = 64
"""Callers that have not; beyond that the oldest has to go."""

ACCEPTS_MAX = 16
"""In one turn: then others get theirs."""

Refuse = Callable[[str], None]
"""Count what was wrong with others."""


class Pipes:
    def __init__(self, me: Member, epoll: select.epoll, seal: Seal | Plain, refuse: Refuse) -> None:
        self.counts: Counter[str] = Counter()
        """Connections by what became of them."""

        self._me = me
        self._epoll = epoll
        self._seal = seal
        self._refuse = refuse
        self._address: SocketAddress = ("", 0)
        self._listener: socket.socket | None = None
        self._peers: Mapping[DaemonId, SocketAddress] = {}
        self._silenced: frozenset[DaemonId] = frozenset()
        self._files: dict[int, Pipe] = {}
        self._to: dict[DaemonId, Pipe] = {}
        """What the node has, or has asked for."""

        self._news: deque[tuple[DaemonId, Word]] = deque()
        self._dirty: dict[int, Pipe] = {}
        """Those that may have something to write."""

    def listen(self, listener: socket.socket) -> None:
        self._listener = listener
        self._address = listener.getsockname()[:2]
        self._epoll.register(listener.fileno(), select.EPOLLIN)

    def know(self, peers: Mapping[DaemonId, SocketAddress]) -> None:
        """All other daemons, from now on, and the keys they may use."""
        self._peers = dict(peers)
        for pipe in list(self._files.values()):
            wrong = pipe.peer is not None and pipe.peer.daemon not in peers
            if wrong or not self._seal.holds(pipe.stream.key_id):
                self._break(pipe, "unknown")

    def silence(self, daemons: Iterable[DaemonId]) -> None:
        """Neither call these nor hear them: a drill."""
        self._silenced = frozenset(daemons)
        for daemon in self._silenced & self._to.keys():
            self._break(self._to[daemon], "silenced")

    def close(self) -> None:
        for pipe in list(self._files.values()):
            self._drop(pipe)
        if self._listener is not None:
            self._epoll.unregister(self._listener.fileno())
            self._listener.close()
            self._listener = None

    # What the node asks.

    def dial(self, to: DaemonId) -> None:
        """One who is silenced does not answer."""
        self.hang_up(to)
        if to not in self._peers or to in self._silenced:
            return
        try:
            made = calling(self._address, self._peers[to])
        except OSError:
            self.counts["unreachable"] += 1
            self._news.append((to, PipeDown(to)))
        else:
            self._to[to] = self._admit(made, to)

    def pour(self, to: DaemonId, packet: bytes) -> None:
        pipe = self._to.get(to)
        if pipe is not None and pipe.up:
            pipe.pour(packet)
            self._dirty[pipe.file] = pipe

    def hang_up(self, to: DaemonId) -> None:
        """Nothing is heard of it any more."""
        self._news = deque((about, word) for about, word in self._news if about != to)
        pipe = self._to.pop(to, None)
        if pipe is not None:
            self._try_to_write(pipe)
            self._drop(pipe)

    # What the sockets bring.

    def __contains__(self, file: int) -> bool:
        listens = self._listener is not None and file == self._listener.fileno()
        return listens or file in self._files

    def handle(self, file: int, mask: int) -> None:
        pipe = self._files.get(file)
        if pipe is None:
            self._accept()
            return
        try:
            if pipe.connecting:
                pipe.finish_connecting()
            elif mask & ~select.EPOLLOUT:
                self._read(pipe)
        except Broken as error:
            self._break(pipe, str(error))
        except Untrusted as error:
            self._refuse(str(error))
            self._break(pipe, "untrusted")
        else:
            self._dirty[file] = pipe

    def news(self) -> Iterator[Word]:
        """What the node has to be told, one by one: it may hang up meanwhile."""
        while self._news:
            yield self._news.popleft()[1]

    def flush(self) -> None:
        """Write what waits; who gets room again is told in the next turn."""
        if not self._dirty:
            return
        dirty, self._dirty = self._dirty, {}
        for pipe in dirty.values():
            self._try_to_write(pipe)
            room = pipe.new_room() if pipe.up else 0
            if room and pipe.peer is not None:
                self._news.append((pipe.peer.daemon, PipeRoom(pipe.peer.daemon, room)))

    @property
    def waiting(self) -> bool:
        """There is news: the next turn must not wait."""
        return bool(self._news)

    def expire(self, now: Instant) -> None:
        for pipe in list(self._files.values()):
            if pipe.peer is None and now - pipe.since > PROVE_US:
                self._refuse("unproven")
                self._break(pipe, "slow")

    # One connection.

    def _accept(self) -> None:
        assert self._listener is not None
        for _ in range(ACCEPTS_MAX):
            try:
                made, _ = self._listener.accept()
            except OSError:
                return  # none is there, or it is gone, or there are no files left
            strangers = [
                one for one in self._files.values() if one.peer is None and one.called is None
            ]
            if len(strangers) >= STRANGERS_MAX:
                self._refuse("too_many_strangers")
                self._break(strangers[0], "pushed_out")
            try:
                prepare(made)
            except OSError:
                made.close()
                continue
            self._admit(made, None)

    def _admit(self, made: socket.socket, called: DaemonId | None) -> Pipe:
        pipe = Pipe(made, called, self._seal.stream(self._me, called), clock())
        self._files[pipe.file] = pipe
        pipe.watched = pipe.connecting
        self._epoll.register(pipe.file, select.EPOLLIN | select.EPOLLOUT * pipe.watched)
        self._dirty[pipe.file] = pipe
        return pipe

    def _read(self, pipe: Pipe) -> None:
        packets = pipe.read()
        if pipe.peer is not None and not pipe.up:
            self._come_up(pipe, pipe.peer)
        if pipe.up and pipe.daemon is not None:
            self._news.extend((pipe.daemon, Received(packet)) for packet in packets)

    def _come_up(self, pipe: Pipe, peer: Member) -> None:
        """The lower daemon calls, so that two never cross."""
        if pipe.called is None:
            if peer.daemon not in self._peers or peer.daemon in self._silenced:
                raise Broken("silenced")
            if peer.daemon > self._me.daemon:
                raise Untrusted("misdirected")
            self.hang_up(peer.daemon)
            self._to[peer.daemon] = pipe
        pipe.up = True
        self.counts["up"] += 1
        self._news.append((peer.daemon, PipeUp(peer, ROOM_BYTES)))

    def _try_to_write(self, pipe: Pipe) -> None:
        try:
            pipe.write()
        except Broken as error:
            self._break(pipe, str(error))
            return
        if pipe.wants_to_write != pipe.watched:
            pipe.watched = not pipe.watched
            mask = select.EPOLLIN | (select.EPOLLOUT if pipe.watched else 0)
            self._epoll.modify(pipe.file, mask)

    def _break(self, pipe: Pipe, reason: str) -> None:
        """It has ended; the node hears of it if it knew, after all that came before."""
        self.counts[reason] += 1
        daemon = pipe.daemon
        known = daemon is not None and self._to.get(daemon) is pipe
        self._drop(pipe)
        if daemon is not None and known:
            self._news.append((daemon, PipeDown(daemon)))

    def _drop(self, pipe: Pipe) -> None:
        if self._files.get(pipe.file) is not pipe:
            return
        self._epoll.unregister(pipe.file)
        del self._files[pipe.file]
        self._dirty.pop(pipe.file, None)
        if pipe.daemon is not None and self._to.get(pipe.daemon) is pipe:
            del self._to[pipe.daemon]
        pipe.up = False
        pipe.socket.close()
