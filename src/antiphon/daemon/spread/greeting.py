"""How a client of Spread's protocol is greeted, and how it proves that it may come in.

Each method that the client chooses must be one of those offered, and must hold: NULL asks for
nothing, IP for an address that the configuration lists, TOKEN for a secret of the tokens file.
"""

from collections.abc import Callable, Iterator, Sequence
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TypeVar

from antiphon.core.errors import UsageError
from antiphon.daemon.dialect import Greeting, Say
from antiphon.wire.spread.handshake import (
    IP,
    NULL,
    TOKEN,
    Hello,
    pack_methods,
    read_choice,
    read_hello,
    read_token,
)
from antiphon.wire.spread.words import Code

Network = IPv4Network | IPv6Network
Value = TypeVar("Value")

FIRST_BYTES = range(1, 16)
"""The major version of a client's library; no other protocol of ours begins so."""

FAULTS = {
    Code.REJECT_VERSION: ("client_version", "this version is not known", "use 3.1 to 5"),
    Code.REJECT_ILLEGAL_NAME: (
        "bad_name",
        "this cannot be a private name",
        'use 1 to 10 printable characters without spaces, !, " and #',
    ),
    Code.REJECT_AUTH: (
        "not_authenticated",
        "no method of authentication that is allowed was chosen",
        "choose one of those offered",
    ),
}


def methods_for(
    is_proved: bool, is_free: bool, has_tokens: bool, networks: Sequence[Network]
) -> tuple[str, ...]:
    """What is offered to a client that has proved who it is, or need not prove it. A token may
    make it known as another."""
    found = []
    if is_proved or (is_free and not networks):
        found.append(NULL)
    if networks and not is_proved:
        found.append(IP)
    if has_tokens:
        found.append(TOKEN)
    return tuple(found)


class Reception:
    """Reads what a client says before it is let in; bytes are kept until they are complete."""

    def __init__(
        self, methods: tuple[str, ...], address: str, networks: Sequence[Network], spare_name: str
    ) -> None:
        self._methods = methods
        self._address = address
        self._networks = networks
        self._spare_name = spare_name
        self.hello: Hello | None = None
        self._chosen: tuple[str, ...] | None = None
        self._token = ""
        self.rest = b""
        """What has come and was not used."""

    def hear(self, data: bytes) -> Iterator[Say | Greeting]:
        self.rest += data
        if self.hello is None:
            if self.rest[0] not in FIRST_BYTES:
                raise UsageError(*FAULTS[Code.REJECT_VERSION])
            self.hello = self._take(read_hello)
            if self.hello is None:
                return
            yield from self._offer(self.hello)
        if self._chosen is None:
            self._chosen = self._take(read_choice)
            if self._chosen is None:
                return
            if not set(self._chosen) <= set(self._methods):
                raise UsageError(*FAULTS[Code.REJECT_AUTH])
        if TOKEN in self._chosen:
            token = self._take(read_token)
            if token is None:
                return
            if not token:
                raise UsageError("bad_token", "the token is empty", "check the token")
            self._token = token
        yield self._greeting(self.hello, self._chosen)

    def _offer(self, hello: Hello) -> Iterator[Say]:
        if not self._methods:
            raise UsageError(*FAULTS[Code.REJECT_AUTH])
        if hello.asks_methods:
            yield Say(pack_methods(self._methods))
        else:
            # It cannot choose, and cannot be asked for anything.
            self._chosen = (IP if IP in self._methods else NULL,)
            if self._chosen[0] not in self._methods:
                raise UsageError(*FAULTS[Code.REJECT_AUTH])

    def _greeting(self, hello: Hello, chosen: tuple[str, ...]) -> Greeting:
        if IP in chosen and not self._is_listed():
            what = f"{self._address} is not in spread.addresses"
            raise UsageError("not_authenticated", what, "connect from elsewhere, or list it")
        name = hello.name or self._spare_name
        return Greeting(name, hello.priority, hello.membership, self._token, IP in chosen)

    def _is_listed(self) -> bool:
        address = ip_address(self._address)
        if isinstance(address, IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        return any(address in network for network in self._networks)

    def _take(self, read: Callable[[bytes], tuple[Value | Code, int] | None]) -> Value | None:
        found = read(self.rest)
        if found is None:
            return None
        value, used = found
        self.rest = self.rest[used:]
        if isinstance(value, Code):
            raise UsageError(*FAULTS[value])
        return value
