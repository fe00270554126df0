"""Addresses as the file writes them: host:port, [IPv6]:port, or a bare port for clients.

Host names are kept as they are; whoever opens a socket resolves them.
"""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import NamedTuple, NoReturn

from antiphon.daemon.config.findings import Fault

PORT_MAX = 65_535
LOOPBACK = "127.0.0.1"
HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9.])?")
REMEDY = 'write "192.0.2.1:4813", "[2001:db8::1]:4813" or "host.example:4813"'


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        if self.host.lower().rstrip(".") == "localhost":
            return True
        number = _number(self.host)
        return number is not None and number.is_loopback

    @property
    def is_everywhere(self) -> bool:
        """All interfaces of a machine: to listen on, but nobody can send there."""
        number = _number(self.host)
        return number is not None and number.is_unspecified

    @property
    def is_multicast(self) -> bool:
        number = _number(self.host)
        return number is not None and number.is_multicast


def read_address(value: object) -> Address:
    """Where one daemon is reached by the others."""
    address = _split(value)
    if address.is_everywhere:
        raise Fault(f"others cannot send to {address.host}", "name the address they can reach")
    if address.is_multicast:
        raise Fault(f"{address.host} is a multicast address", "use the daemon's own address")
    return address


def read_multicast(value: object) -> Address | None:
    """A multicast group and port; an empty text is none."""
    if value == "":
        return None
    address = _split(value)
    if not address.is_multicast:
        raise Fault(
            f"{address.host} is not a multicast address", 'use one such as "239.192.0.7:4814"'
        )
    return address


def read_listening(value: object) -> Address:
    """Where clients connect. A bare port is on loopback: to be reached from elsewhere is
    something to ask for."""
    if isinstance(value, str) and re.fullmatch("[0-9]+", value):
        return Address(LOOPBACK, _port(value))
    address = _split(value)
    if address.is_multicast:
        raise Fault(f"{address.host} is a multicast address", "use an address of this machine")
    return address


def read_network(value: object) -> str:
    """Where clients may come from: one address, or a network."""
    try:
        return str(ip_network(value)) if isinstance(value, str) else _no_network(value)
    except ValueError:
        return _no_network(value)


def _no_network(value: object) -> NoReturn:
    remedy = 'write "192.0.2.7", "192.0.2.0/24" or "2001:db8::/32"'
    raise Fault(f"{value!r} is not an address or network", remedy)


def _split(value: object) -> Address:
    if not isinstance(value, str):
        raise Fault(f"{value!r} is not an address", REMEDY)
    found = re.fullmatch(r"\[([^]]*)\]:([0-9]+)|([^][:]+):([0-9]+)", value)
    if found is None:
        raise Fault(f"{value!r} is not host:port", REMEDY)
    six, host = found[1], found[3]
    if six is not None and not isinstance(_number(six), IPv6Address):
        raise Fault(f"{six!r} is not an IPv6 address", REMEDY)
    if host is not None and not _is_host(host):
        raise Fault(f"{host!r} is not a host", REMEDY)
    return Address(six or host, _port(found[2] or found[4]))


def _is_host(host: str) -> bool:
    if re.fullmatch("[0-9.]+", host):
        return _number(host) is not None
    return HOST.fullmatch(host) is not None


def _port(digits: str) -> int:
    # Compared as text first: Python refuses to read numbers of thousands of digits.
    port = int(digits) if len(digits) <= 6 else PORT_MAX + 1
    if port > PORT_MAX:
        raise Fault(f"port {digits[:20]} is above {PORT_MAX}", f"use 1 to {PORT_MAX}")
    if port == 0:
        raise Fault("port 0 is nobody's", f"use 1 to {PORT_MAX}")
    return port


def _number(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
