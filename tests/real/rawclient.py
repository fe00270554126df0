"""A client without a library: says what no library would, and reads only when it wants."""

import select
import socket
import struct
from types import TracebackType

from antiphon.core.effects import Message
from antiphon.core.service import Service
from antiphon.wire.body import pack_body
from antiphon.wire.client import (
    MAGIC,
    Frame,
    FrameReader,
    Hello,
    JoinFrame,
    MulticastFrame,
    Welcome,
    pack_frame,
    pack_multicast,
    read_frame,
)

PATIENCE_S = 10.0

Read = Frame | MulticastFrame | Message


class RawClient:
    def __init__(self, address: tuple[str, int] | str, receive_bytes: int = 0) -> None:
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.settimeout(PATIENCE_S)
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.connect(address)
        self._reader = FrameReader()
        self._frames: list[Read] = []
        self.ended = False

    def __enter__(self) -> "RawClient":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.socket.close()

    def say(self, *frames: Frame) -> None:
        self.socket.sendall(b"".join(map(pack_frame, frames)))

    def begin(self, hello: Hello) -> None:
        self.socket.sendall(MAGIC + pack_frame(hello))

    def open(self, name: str, token: str = "") -> Welcome:
        self.begin(Hello(2, 3, name, 0, True, token))
        welcome = self.read()
        assert isinstance(welcome, Welcome), welcome
        return welcome

    def join(self, group: str) -> None:
        self.say(JoinFrame(group))

    def send(self, name: str, group: str, payload: bytes) -> None:
        body = pack_body(((group,),), (0,), (0,), (payload,), sender=name)
        self.socket.sendall(pack_multicast(Service.AGREED, 1, [body], False))

    def read(self) -> Read | None:
        """The next frame; None at the end."""
        while not self._frames:
            try:
                data = self.socket.recv(65_536)
            except ConnectionResetError:
                return None
            if not data:
                return None
            self._frames += map(read_frame, self._reader.feed(data))
        return self._frames.pop(0)

    def take(self) -> list[Read]:
        """The frames that are here now, without waiting."""
        found, self._frames = self._frames, []
        while not self.ended and select.select([self.socket], [], [], 0)[0]:
            try:
                data = self.socket.recv(65_536)
            except ConnectionResetError:
                data = b""
            self.ended = not data
            found += map(read_frame, self._reader.feed(data))
        return found

    def reset(self) -> None:
        """Go without a word, so that the other side gets an error and no end."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def read_all(self) -> list[Read]:
        """Everything up to the end."""
        found = []
        while (frame := self.read()) is not None:
            found.append(frame)
        return found
