"""All client connections of a daemon: letting in, reading, writing, cutting off.

The node decides what a client may do; here are only streams, and who is behind them.
"""

import errno
import os
import select
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice

from antiphon.core.effects import (
    Closed,
    Connect,
    Disconnect,
    Drained,
    Flow,
    Message,
    Notify,
    Word,
)
from antiphon.core.errors import DecodeError, UsageError
from antiphon.core.ids import Member, SessionId
from antiphon.core.machine import SECOND, Instant
from antiphon.daemon.clock import clock
from antiphon.daemon.connection import CLOSING, NEW, OPEN, TLS_HANDSHAKE, Connection, Gone
from antiphon.daemon.dialect import Dialect, Greeting, Heard, Say
from antiphon.daemon.listeners import Tokens, peer_of
from antiphon.daemon.native import Answerer, Native
from antiphon.daemon.spread.spread import Spread

HELLO_US = 10 * SECOND
"""A client that has not said who it is by then is in the way."""

LAST_WORDS_US = 5 * SECOND
"""A client that is told to go and does not read it is cut off then."""

ANSWERS_BYTES_MAX = 1 << 20
"""What may wait for a client beyond its messages: answers, refusals, views."""

REQUESTS_PER_TURN = 64
"""Of one client."""

NO_FILES = (errno.EMFILE, errno.ENFILE)
STRANGERS_MAX = 1024
"""Connections that have not said Hello, at one time."""

Ask = Callable[[Word], None]
"""Hand an event to the node and carry out what it says."""


class Clients:
    def __init__(
        self, me: Member, name: str, epoll: select.epoll, ask: Ask, answer: Answerer
    ) -> None:
        self._me = me
        self._epoll = epoll
        self._ask = ask
        self.tokens = Tokens()
        self.tls: ssl.SSLContext | None = None
        self.counts: Counter[str] = Counter()
        """Refused and broken connections, by reason."""

        self.native = Native(name, answer)
        self.spread = Spread(self.counts)
        self.spread_door: socket.socket | None = None
        """Where nothing else is spoken: everybody may come in there, but not as an admin."""

        self._by_file: dict[int, Connection] = {}
        self._by_session: dict[int, Connection] = {}
        self._strangers: dict[int, Connection] = {}
        self._unwritten: dict[int, Connection] = {}
        self._unheard: dict[Connection, Iterator[Heard]] = {}
        """Requests that were read and have not had their turn: nothing more is read before."""

        self._closing: dict[Connection, Instant] = {}
        """When each of those that end is given up."""

        self.waiting_bytes_max = ANSWERS_BYTES_MAX
        """More than this waits for nobody: whoever does not take it is cut off."""

        self._last_session = 0
        self.letting_in = True
        self._spare = os.open(os.devnull, os.O_RDONLY)
        """A file to give up when there are no more."""

    def __contains__(self, file: int) -> bool:
        return file in self._by_file

    def __iter__(self) -> Iterator[Connection]:
        return iter(list(self._by_session.values()))

    def __len__(self) -> int:
        return len(self._by_session)

    # In.

    def accept(self, listener: socket.socket, now: Instant) -> None:
        while True:
            try:
                accepted, _ = listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                self.counts[f"accept: {error.strerror}"] += 1
                if error.errno in NO_FILES:
                    self._turn_away(listener)
                return
            if not self.letting_in or len(self._strangers) >= STRANGERS_MAX:
                self.counts["too_many_strangers"] += 1
                accepted.close()
                continue
            connection = Connection(accepted, peer_of(accepted), now)
            if listener is self.spread_door:
                ways = self.spread.methods(True, True, bool(self.tokens))
                connection.dialect = self.spread.dialect("", ways)
            self._by_file[connection.fileno()] = connection
            self._strangers[connection.fileno()] = connection
            connection.watched = select.EPOLLIN
            self._epoll.register(connection.fileno(), connection.watched)

    def _turn_away(self, listener: socket.socket) -> None:
        """No file is left. One who is not let in would wake us again and again."""
        os.close(self._spare)
        try:
            listener.accept()[0].close()
        except OSError:
            pass  # gone by itself
        self._spare = os.open(os.devnull, os.O_RDONLY)

    def handle(self, file: int, events: int) -> None:
        connection = self._by_file[file]
        try:
            if events & select.EPOLLOUT:
                self._write(connection)
            if events & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
                self._read(connection)
        except (Gone, DecodeError, UsageError) as fault:
            self._give_up(connection, fault)

    def _give_up(self, connection: Connection, fault: Gone | DecodeError | UsageError) -> None:
        """What is wrong with a client is its own matter."""
        if isinstance(fault, Gone):
            self._lose(connection, str(fault))
        elif isinstance(fault, DecodeError):
            self._refuse(connection, fault.reason, str(fault), "use the client library")
        else:
            self._refuse(connection, fault.code, fault.what, fault.remedy)

    def _read(self, connection: Connection) -> None:
        is_plain = connection.state == NEW and not connection.is_private
        if is_plain and self.tls and connection.starts_with_tls():
            connection.wrap(self.tls)
        if connection.state == TLS_HANDSHAKE and not connection.shake_hands():
            return
        if connection in self._unheard:
            return
        data = connection.read()
        if not data or connection.state == CLOSING:
            return
        dialect = connection.dialect
        if dialect is None:
            dialect = connection.dialect = self._dialect(connection, data[0])
        self._unheard[connection] = dialect.hear(data)
        self._hear(connection, dialect)

    @property
    def waiting(self) -> bool:
        """Whether somebody has asked more than was heard so far."""
        return bool(self._unheard)

    def go_on(self) -> None:
        """Hear some more of those who asked much."""
        for connection in [*self._unheard]:
            assert connection.dialect is not None, "it has said something"
            try:
                self._hear(connection, connection.dialect)
            except (Gone, DecodeError, UsageError) as fault:
                self._give_up(connection, fault)

    def _hear(self, connection: Connection, dialect: Dialect) -> None:
        """As many requests as one client may make in a turn: each costs the daemon the same,
        and others want theirs."""
        count = 0
        if connection.state == CLOSING:
            del self._unheard[connection]
            return
        for heard in islice(self._unheard[connection], REQUESTS_PER_TURN):
            count += 1
            if isinstance(heard, Say):
                self._put(connection, heard.data)
            elif isinstance(heard, Greeting):
                self._let_in(connection, dialect, heard)
            else:
                self._ask(heard)
            if connection.state == CLOSING:
                break
        if count < REQUESTS_PER_TURN or connection.state == CLOSING:
            self._unheard.pop(connection, None)

    def _dialect(self, connection: Connection, first: int) -> Dialect:
        """By the first byte. What begins like nobody's protocol our own refuses."""
        if not self.spread.begins(first):
            return self.native.dialect()
        ways: tuple[str, ...] = ()
        if not self._must_be_secured(connection):
            is_free = self._is_known(connection)
            ways = self.spread.methods(bool(connection.who), is_free, bool(self.tokens))
        return self.spread.dialect(connection.address, ways)

    def _let_in(self, connection: Connection, dialect: Dialect, greeting: Greeting) -> None:
        if not self.letting_in:
            what = "this daemon is being stopped"
            raise UsageError("daemon_stopping", what, "connect to another one")
        if self._must_be_secured(connection):
            what = "this daemon speaks TLS only"
            raise UsageError("not_authenticated", what, "connect with TLS")
        if greeting.token:
            name = self.tokens.name_of(greeting.token)
            if not name:
                raise UsageError("bad_token", "nobody has this token", "check the token")
            connection.who = f"token:{name}"
        if not greeting.trusted and not self._is_known(connection):
            what = "this daemon wants to know who you are"
            raise UsageError("not_authenticated", what, "give a token or a certificate")
        self._last_session += 1
        number = self._last_session
        connection.session = number
        connection.state = OPEN
        self._strangers.pop(connection.fileno(), None)
        self._by_session[number] = connection
        who = connection.who
        self._ask(Connect(number, greeting.name, greeting.priority, greeting.membership, who))
        if number in self._by_session:  # the node has not refused it
            session = SessionId(self._me.daemon, self._me.incarnation, number)
            self._put(connection, dialect.welcome(session, who))

    def _must_be_secured(self, connection: Connection) -> bool:
        return self.tls is not None and not connection.is_private

    def _is_known(self, connection: Connection) -> bool:
        """Or nobody asks who it is."""
        asks_for_certificates = self.tls is not None and self.tls.verify_mode != ssl.CERT_NONE
        return bool(connection.who) or not (self.tokens or asks_for_certificates)

    # Out.

    def notify(self, notify: Notify) -> None:
        connection = self._by_session.get(notify.session)
        if connection is None:
            return
        dialect = connection.dialect
        assert dialect is not None, "nobody has a session before it has said a word"
        news = notify.news
        if isinstance(news, Message):
            connection.queue(dialect.message(news), True, len(news.body))
            self._unwritten[connection.fileno()] = connection
            return
        counted = not isinstance(news, Flow | Closed)
        connection.queue((dialect.tell(news),), counted)
        self._unwritten[connection.fileno()] = connection
        if isinstance(news, Flow):
            connection.reading = news.open and self.letting_in
            self._watch(connection)
        elif isinstance(news, Closed):
            self._end(connection, news.reason)

    def flush(self) -> None:
        """Write what the last steps have brought."""
        while self._unwritten:
            _, connection = self._unwritten.popitem()
            try:
                self._write(connection)
            except Gone as gone:
                self._lose(connection, str(gone))

    def _put(self, connection: Connection, data: bytes) -> None:
        connection.queue((data,))
        self._unwritten[connection.fileno()] = connection

    def _put_end(self, connection: Connection, reason: str) -> None:
        assert connection.dialect is not None, "it has a session"
        self._put(connection, connection.dialect.end(reason))

    def _write(self, connection: Connection) -> None:
        count, size = connection.write()
        if count and connection.session in self._by_session:
            self._ask(Drained(connection.session, count, size))
        if connection.waiting_bytes > self.waiting_bytes_max and connection.state == OPEN:
            self._cut_off(connection)
        if connection.state == CLOSING and not connection.waiting:
            self._drop(connection)
        else:
            self._watch(connection)

    def _watch(self, connection: Connection) -> None:
        if connection.fileno() < 0:
            return
        wanted = select.EPOLLIN if connection.reading else 0
        if connection.waiting:
            wanted |= select.EPOLLOUT
        if wanted != connection.watched:
            connection.watched = wanted
            self._epoll.modify(connection.fileno(), wanted)

    # Ends.

    def expire(self, now: Instant) -> None:
        """Strangers that say nothing, and those that do not take their last words."""
        for connection in list(self._strangers.values()):
            if now - connection.since < HELLO_US:
                break
            self.counts["no_hello"] += 1
            self._drop(connection)
        for connection in list(self._closing):
            if now >= self._closing[connection]:
                self._drop(connection)

    def stop_reading(self) -> None:
        """Nothing more is taken from anybody."""
        self.letting_in = False
        for connection in self:
            connection.reading = False
            self._watch(connection)

    def say_goodbye(self, reason: str) -> None:
        """To everybody, before the node hears that they end."""
        for connection in self:
            self._put_end(connection, reason)
            self._by_session.pop(connection.session)
            self._close(connection)
            self._ask(Disconnect(connection.session))

    def _close(self, connection: Connection) -> None:
        connection.state = CLOSING
        self._closing[connection] = clock() + LAST_WORDS_US

    def _end(self, connection: Connection, reason: str) -> None:
        """The node has closed its session; what it was told last still goes out, if it goes."""
        self.counts[f"closed: {reason}"] += 1
        self._by_session.pop(connection.session, None)
        connection.reading = True
        self._close(connection)

    def _cut_off(self, connection: Connection) -> None:
        """The node bounds what it says to a client, but not answers and the bytes of views."""
        self._put_end(connection, "slow")
        self._end(connection, "slow")
        self._ask(Disconnect(connection.session))

    def _refuse(self, connection: Connection, code: str, what: str, remedy: str) -> None:
        self.counts[code] += 1
        if connection.state == OPEN:
            self._by_session.pop(connection.session)
            self._ask(Disconnect(connection.session))
        self._close(connection)
        assert connection.dialect is not None, "it has said something"
        self._put(connection, connection.dialect.refuse(code, what, remedy))

    def _lose(self, connection: Connection, why: str) -> None:
        """The other end is gone."""
        self.counts[f"lost: {why}"] += 1
        if connection.session in self._by_session:
            del self._by_session[connection.session]
            self._ask(Disconnect(connection.session))
        self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        file = connection.file
        if self._by_file.get(file) is not connection:
            return  # dropped before; the number may be another's by now
        self._unwritten.pop(file, None)
        self._strangers.pop(file, None)
        self._closing.pop(connection, None)
        self._unheard.pop(connection, None)
        del self._by_file[file]
        if connection.fileno() == file:
            self._epoll.unregister(file)
        connection.close()

    def close(self) -> None:
        for connection in list(self._by_file.values()):
            self._drop(connection)
        os.close(self._spare)
