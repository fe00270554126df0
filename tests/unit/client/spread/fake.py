"""A daemon of Spread's protocol for the client's tests: real sockets, one thread for each client.

It orders by a lock. Members are told views, messages reach members and private groups. It answers
big-endian if it is told to, as a daemon on another machine would.
"""

import socket
import threading
from pathlib import Path

from antiphon.core.trace import Cause
from antiphon.wire.spread import handshake, views, words
from antiphon.wire.spread.messages import SpreadMessage, letterhead, pack_reject
from antiphon.wire.spread.stream import MessageReader, StreamFault
from antiphon.wire.spread.views import GroupId
from antiphon.wire.spread.words import Code

PATIENCE_S = 10.0
"""No test waits so long unless it has failed already."""


class Client:
    def __init__(self, sock: socket.socket, hello: handshake.Hello, own: str) -> None:
        self.sock = sock
        self.hello = hello
        self.own = own
        self.token = ""
        self.taken: list[SpreadMessage] = []

    def write(self, data: bytes) -> None:
        try:
            self.sock.sendall(data)
        except OSError:
            pass  # its own thread will see it


class FakeSpread:
    def __init__(
        self,
        path: Path | None = None,
        methods: tuple[str, ...] = ("NULL",),
        version: handshake.Version = handshake.OURS,
        little: bool = True,
        refuse: Code | None = None,
    ) -> None:
        self.methods = methods
        self.version = version
        self.little = little
        self.refuse = refuse
        self.tokens = {"geheim"}
        self.forbidden: set[str] = set()
        self.silent: set[str] = set()
        """Groups whose joins are never ordered."""

        self.hears = threading.Event()
        """While it is not set, nothing is read from anybody."""

        self.hears.set()

        self.changed = threading.Condition(threading.RLock())
        self.clients: dict[str, Client] = {}
        self.members: dict[str, list[str]] = {}
        self._views = 0
        self._all: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_INET if path is None else socket.AF_UNIX)
        self._listener.bind(("127.0.0.1", 0) if path is None else str(path))
        self._listener.listen()
        self.address = f"{self._listener.getsockname()[1]}@127.0.0.1" if path is None else str(path)
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> "FakeSpread":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self.hears.set()
        with self.changed:
            for sock in (self._listener, *self._all):
                try:
                    sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
                sock.close()
            self._all.clear()

    def tell(self, data: bytes) -> None:
        """The same bytes to all."""
        with self.changed:
            for client in self.clients.values():
                client.write(data)

    def transition(self, group: str) -> None:
        with self.changed:
            id = GroupId(7, 8, self._views)
            self._to_members(group, views.pack_transition(group, id, self.little))

    def partition(self, group: str, *survivors: str) -> None:
        """Those who are not among them are lost, by a change of the network."""
        with self.changed:
            self.members[group] = [name for name in self.members[group] if name in survivors]
            self._view(group, Cause.NETWORK, [list(survivors)])

    def wait_for(self, sent: int) -> list[SpreadMessage]:
        """Until so many messages have come from all."""

        def taken() -> list[SpreadMessage]:
            return [message for client in self.clients.values() for message in client.taken]

        with self.changed:
            assert self.changed.wait_for(lambda: len(taken()) >= sent, PATIENCE_S)
            return taken()

    # One thread for each client.

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            with self.changed:
                self._all.append(sock)
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        try:
            client = self._greet(sock)
            if client is not None:
                self._talk(client)
        except OSError:
            pass  # the test has ended
        finally:
            sock.close()

    def _greet(self, sock: socket.socket) -> Client | None:
        buffer = sock.recv(4096)
        while (read := handshake.read_hello(buffer)) is None:
            buffer += self._more(sock)
        hello, used = read
        buffer = buffer[used:]
        code = hello if isinstance(hello, Code) else self.refuse
        if code is not None:
            sock.sendall(handshake.pack_rejection(code))
            return None
        assert isinstance(hello, handshake.Hello)
        token = ""
        if hello.asks_methods:
            sock.sendall(handshake.pack_methods(self.methods))
            while (choice := handshake.read_choice(buffer)) is None:
                buffer += self._more(sock)
            buffer = buffer[choice[1] :]
            if choice[0] == ("TOKEN",):
                while (secret := handshake.read_token(buffer)) is None:
                    buffer += self._more(sock)
                token = str(secret[0])
                if token not in self.tokens:
                    sock.sendall(handshake.pack_rejection(Code.REJECT_AUTH))
                    return None
        own = f"#{hello.name or 'r6736-12'}#d1"
        with self.changed:
            if own in self.clients:
                sock.sendall(handshake.pack_rejection(Code.REJECT_NOT_UNIQUE))
                return None
            client = self.clients[own] = Client(sock, hello, own)
            client.token = token
        for byte in handshake.pack_accept(hello.version, own, self.version):
            sock.sendall(bytes([byte]))  # the real one too sends it in pieces
        return client

    def _more(self, sock: socket.socket) -> bytes:
        data = sock.recv(4096)
        if not data:
            raise OSError("gone")
        return data

    def _talk(self, client: Client) -> None:
        reader = MessageReader(client.own)
        try:
            while data := client.sock.recv(65_536):
                self.hears.wait()
                for message in reader.feed(data):
                    with self.changed:
                        client.taken.append(message)
                        self.changed.notify_all()
                        if message.head.type & words.KILL:
                            return
                        self._take(client, message)
        except StreamFault:
            pass  # the daemon ends the session, as it would
        finally:
            with self.changed:
                self.clients.pop(client.own, None)
                for group, members in self.members.items():
                    if client.own in members:
                        members.remove(client.own)
                        self._view(group, Cause.DISCONNECT, [[client.own]])

    def _take(self, client: Client, message: SpreadMessage) -> None:
        head = message.head
        if head.type & (words.JOIN | words.LEAVE):
            group = head.groups[0]
            members = self.members.setdefault(group, [])
            if group in self.forbidden:
                client.write(pack_reject(head, client.own, message.hint, b"", self.little))
            elif head.type & words.JOIN and group not in self.silent:
                members.append(client.own)
                members.sort()
                self._view(group, Cause.JOIN, [[client.own]])
            elif client.own in members:
                members.remove(client.own)
                if client.hello.membership:
                    client.write(views.pack_self_leave(group, self.little))
                self._view(group, Cause.LEAVE, [[client.own]])
            return
        if self.forbidden & {*head.groups}:
            client.write(pack_reject(head, client.own, message.hint, message.data, self.little))
            return
        reached = {name for group in head.groups for name in self.members.get(group, [group])}
        packed = letterhead(head.type, head.name, head.groups, self.little)
        for name in sorted(reached & self.clients.keys()):
            if not (head.self_discard and name == client.own):
                self.clients[name].write(packed.pack(message.hint, message.data))

    def _view(self, group: str, cause: Cause, sets: list[list[str]]) -> None:
        self._views += 1
        body = views.pack_view_body(GroupId(7, 8, self._views), sets, 0, self.little)
        members = self.members[group]
        self._to_members(group, views.pack_view(group, cause, members, body, self.little))

    def _to_members(self, group: str, data: bytes) -> None:
        for name in self.members[group]:
            client = self.clients.get(name)
            if client is not None and client.hello.membership:
                client.write(data)
