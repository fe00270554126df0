"""A daemon of one machine for the client's tests: real sockets, one thread for each client.

It orders by a lock and knows nothing of rings. `silent`, `deaf`, `flow` and `kill` do what a
real one does in trouble.
"""

import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path

from antiphon.core import effects
from antiphon.core.errors import DecodeError
from antiphon.core.ids import ConfigId, DaemonId, Incarnation, SessionId, ViewId
from antiphon.core.service import Service
from antiphon.core.trace import Cause
from antiphon.wire.client import (
    MAGIC,
    Answer,
    Close,
    FlowFrame,
    Frame,
    FrameReader,
    Goodbye,
    Hello,
    JoinedFrame,
    JoinFrame,
    LeaveFrame,
    LeftFrame,
    MulticastFrame,
    Query,
    Refuse,
    ViewFrame,
    Welcome,
    pack_deliver,
    pack_frame,
    read_frame,
)

PATIENCE_S = 10.0
"""No test waits so long unless it has failed already."""


class Client:
    def __init__(self, sock: socket.socket, id: SessionId, hello: Hello) -> None:
        self.sock = sock
        self.id = id
        self.hello = hello
        self.sent = self.sent_unreliable = 0
        self.taken: list[Frame | MulticastFrame | effects.Message] = []

    def write(self, data: bytes) -> None:
        try:
            self.sock.sendall(data)
        except OSError:
            pass  # its own thread will see it


class FakeDaemon:
    def __init__(
        self, number: int = 1, path: Path | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self.number = number
        self._tls = tls
        self.changed = threading.Condition()
        self.clients: dict[int, Client] = {}
        self.members: dict[str, list[int]] = {}
        self.position = 0
        self.refuse: Refuse | None = None
        self.forbidden: set[str] = set()
        self.silent: set[str] = set()
        """Groups whose joins are never ordered."""

        self.deaf = False
        """Delivers nothing more to anybody."""

        self._next = 0
        self._all: list[socket.socket] = []
        family = socket.AF_INET if path is None else socket.AF_UNIX
        self._listener = socket.socket(family, socket.SOCK_STREAM)
        self._listener.bind(("127.0.0.1", 0) if path is None else str(path))
        self._listener.listen()
        port = 0 if path else self._listener.getsockname()[1]
        self.address = str(path) if path else f"{port}@127.0.0.1"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> "FakeDaemon":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    # What tests do to it.

    def kill(self) -> None:
        with self.changed:
            for sock in (self._listener, *self._all):
                try:
                    sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
                sock.close()
            self.clients.clear()

    def tell(self, *frames: Frame, name: str = "") -> None:
        """To all clients, or to the one of that name."""
        with self.changed:
            for client in self.clients.values():
                if not name or client.hello.name == name:
                    client.write(b"".join(pack_frame(frame) for frame in frames))

    def flow(self, is_open: bool) -> None:
        self.tell(FlowFrame(is_open))

    def until(self, done: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(done, PATIENCE_S), "the fake waited in vain"

    def bundles(self, name: str) -> list[MulticastFrame]:
        return [one for one in self.taken(name) if isinstance(one, MulticastFrame)]

    def taken(self, name: str) -> list[Frame | MulticastFrame | effects.Message]:
        return [
            frame
            for client in self.clients.values()
            if client.hello.name == name
            for frame in client.taken
        ]

    def view_id(self) -> ViewId:
        config = ConfigId(1, DaemonId(self.number), Incarnation(7), 1)
        return ViewId(config, self.position, 0)

    # What it does.

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
        reader = FrameReader()
        client: Client | None = None
        try:
            if self._tls is not None:
                sock = self._tls.wrap_socket(sock, server_side=True)
                with self.changed:
                    self._all.append(sock)
            assert sock.recv(len(MAGIC)) == MAGIC
            while data := sock.recv(65_536):
                for packed in reader.feed(data):
                    frame = read_frame(packed)
                    with self.changed:
                        if client is None:
                            assert isinstance(frame, Hello)
                            client = self._welcome(sock, frame)
                            if client is None:
                                return
                        else:
                            client.taken.append(frame)
                            self._take(client, frame)
                        self.changed.notify_all()
        except (OSError, DecodeError):
            pass
        finally:
            sock.close()
            with self.changed:
                if client is not None:
                    self._end(client)
                self.changed.notify_all()

    def _welcome(self, sock: socket.socket, hello: Hello) -> Client | None:
        if self.refuse is not None:
            sock.sendall(pack_frame(self.refuse))
            return None
        self._next += 1
        id = SessionId(DaemonId(self.number), Incarnation(7), self._next)
        client = self.clients[self._next] = Client(sock, id, hello)
        client.write(pack_frame(Welcome(3, id, f"d{self.number}", 1 << 20)))
        return client

    def _take(self, client: Client, frame: Frame | MulticastFrame | effects.Message) -> None:
        number = client.id.number
        match frame:
            case JoinFrame(group=group):
                if group in self.forbidden:
                    client.write(pack_frame(Refuse("not_allowed", "no", "ask", group)))
                    return
                client.sent += 1
                if group in self.silent:
                    return
                self.members.setdefault(group, []).append(number)
                self._tell_view(group, Cause.JOIN, newcomer=number)
            case LeaveFrame(group=group):
                client.sent += 1
                self.members[group].remove(number)
                client.write(pack_frame(LeftFrame(group)))
                self._tell_view(group, Cause.LEAVE)
            case MulticastFrame():
                self._multicast(client, frame)
            case Query(number=query, what=what, arguments=arguments):
                error = "" if what == "echo" else "unknown question"
                client.write(pack_frame(Answer(query, error, arguments)))
            case Goodbye():
                client.write(pack_frame(Close("client")))
                client.sock.shutdown(socket.SHUT_RDWR)

    def _multicast(self, client: Client, frame: MulticastFrame) -> None:
        if frame.service == Service.UNRELIABLE:
            first = client.sent_unreliable + 1
            client.sent_unreliable += frame.count
        else:
            first = client.sent + 1
            client.sent += frame.count
        told = effects.Message(client.id, first, frame.count, frame.service, frame.body, False)
        if self.deaf:
            return
        for number in sorted({one for members in self.members.values() for one in members}):
            if not (frame.self_discard and number == client.id.number):
                self.clients[number].write(b"".join(pack_deliver(told)))

    def _tell_view(self, group: str, cause: Cause, newcomer: int = 0) -> None:
        self.position += 1
        members = [self.clients[one] for one in self.members[group]]
        labelled = tuple((one.id, one.hello.name) for one in members)
        for one in members:
            if one.hello.membership:
                view = ViewFrame(group, self.view_id(), labelled, (one.id,), cause, "")
                one.write(pack_frame(view))
            elif one.id.number == newcomer:
                one.write(pack_frame(JoinedFrame(group)))

    def _end(self, client: Client) -> None:
        self.clients.pop(client.id.number, None)
        for group, members in self.members.items():
            if client.id.number in members:
                members.remove(client.id.number)
                self._tell_view(group, Cause.DISCONNECT)
