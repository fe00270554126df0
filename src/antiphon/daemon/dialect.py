"""What a client's protocol must bring to be spoken at the daemon's end.

A dialect is one client's: it makes requests of the bytes that come and bytes of what the client
is told. Who is let in, and what is read and written when, does not depend on it.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from antiphon.core.effects import (
    Closed,
    Define,
    Defined,
    Disconnect,
    Flow,
    Join,
    Joined,
    Leave,
    Left,
    Message,
    Multicast,
    Refused,
    Transition,
    View,
)
from antiphon.core.ids import SessionId

News = View | Joined | Defined | Transition | Left | Refused | Flow | Closed
Request = Join | Leave | Define | Multicast | Disconnect


class Greeting(NamedTuple):
    """Who wants to be let in."""

    name: str
    priority: int
    membership: bool
    token: str = ""
    """A secret that may prove who it is."""

    trusted: bool = False
    """It has proved in another way that it may come in."""


class Say(NamedTuple):
    """An answer that needs nobody else."""

    data: bytes


Heard = Greeting | Say | Request


class Dialect(Protocol):
    def hear(self, data: bytes) -> Iterator[Heard]:
        """What the bytes mean, one after the other: each is acted upon before the next is
        read. DecodeError and UsageError end the connection."""

    def welcome(self, session: SessionId, who: str) -> bytes:
        """The greeting was accepted; requests are this session's from now on."""

    def message(self, message: Message) -> tuple[bytes, ...]:
        """What the client is told in most cases, in pieces. Empty if it can not be told."""

    def tell(self, news: News) -> bytes:
        """What it is told else. Empty if this protocol has no word for it."""

    def refuse(self, code: str, what: str, remedy: str) -> bytes:
        """The last words to a client that is not let in, or broke the protocol."""

    def end(self, reason: str) -> bytes:
        """The last words to any other."""
