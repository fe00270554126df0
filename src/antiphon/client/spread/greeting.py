"""The beginning of a session of Spread's protocol, without I/O, as the client sees it."""

from antiphon.client.errors import Refused
from antiphon.core.codes import CODES
from antiphon.wire.spread.handshake import (
    HAS_PRIORITY,
    IP,
    NULL,
    TOKEN,
    Accept,
    Hello,
    pack_choice,
    pack_hello,
    pack_token,
    read_accept,
    read_methods,
)
from antiphon.wire.spread.words import Code

REFUSALS = {
    Code.REJECT_QUOTA: "too_many_sessions",
    Code.REJECT_NO_NAME: "bad_name",
    Code.REJECT_ILLEGAL_NAME: "bad_name",
    Code.REJECT_NOT_UNIQUE: "name_in_use",
    Code.REJECT_VERSION: "client_version",
}


class Greeting:
    def __init__(self, hello: Hello, token: str) -> None:
        self._hello = hello
        self._token = token
        self._unread = b""
        self._chosen = False
        self.to_send = pack_hello(hello)
        """For the transport, which empties it."""

    def feed(self, data: bytes) -> tuple[Accept, bytes] | None:
        """When the daemon lets us in: what it said, and the bytes behind it. Raises Refused, or
        DecodeError."""
        self._unread += data
        if not self._chosen:
            offered = read_methods(self._unread)
            if offered is None:
                return None
            methods, used = offered
            self._unread = self._unread[used:]
            if isinstance(methods, Code):
                raise self._refused(methods)
            self._choose(methods)
        answer = read_accept(self._unread, self._hello.version)
        if answer is None:
            return None
        accept, used = answer
        if isinstance(accept, Code):
            raise self._refused(accept)
        if self._hello.priority and accept.version < HAS_PRIORITY:
            raise refused("client_version")
        return accept, self._unread[used:]

    def _choose(self, offered: tuple[str, ...]) -> None:
        self._chosen = True
        if self._token:
            if TOKEN not in offered:
                raise refused("bad_token")
            self.to_send += pack_choice((TOKEN,)) + pack_token(self._token)
            return
        for method in (NULL, IP):
            if method in offered:
                self.to_send += pack_choice((method,))
                return
        raise refused("not_authenticated")

    def _refused(self, code: Code) -> Refused:
        auth = "bad_token" if self._token else "not_authenticated"
        return refused(REFUSALS.get(code, auth))


def refused(code: str) -> Refused:
    known = CODES[code]
    return Refused(code, known.summary, known.remedy)
