"""What of a cluster can be seen from one host: ports, paths, and who is in touch with whom."""

import errno
import itertools
import socket
import time
from collections.abc import Iterator, Mapping
from typing import Any

from antiphon.core.errors import ConfigError
from antiphon.daemon.config.config import Config
from antiphon.daemon.config.declaration import DaemonEntry
from antiphon.daemon.datagrams import SocketAddress, resolve
from antiphon.tools.checkup import Found, fine, note, wrong

Statuses = Mapping[str, dict[str, Any]]
"""Of the daemons that answered, by name."""

ANSWER_SECONDS = 1.0
IP_MTU = 14
IPV6_MTU = 24
HEADER_BYTES = {socket.AF_INET: 28, socket.AF_INET6: 48}
CLOCK_APART_MAX_S = 1.0
REMEDIES = {
    errno.EADDRINUSE: "see who has it (ss -lnptu), or use another port",
    errno.EADDRNOTAVAIL: "use an address of this host",
    errno.EACCES: "use a port above 1023, or give the daemon the right to this one",
}
LIFE_BITS = 20
"""Of an incarnation, below the milliseconds of its start."""


def check_cluster(config: Config, me: str | None, statuses: Statuses) -> Iterator[Found]:
    for entry in config.daemons:
        try:
            address = resolve(entry.address.host, entry.address.port)
        except ConfigError as error:
            yield wrong("address", entry.name, error.what, error.remedy)
            continue
        is_here = is_own(address[0])
        if entry.name == me and not is_here:
            remedy = "set the address of this host, or say another --name"
            yield wrong("address", entry.name, f"{address[0]} is not of this host", remedy)
            continue
        if is_here:
            yield from _here(entry, address, statuses)
            if config.is_reached_by_tcp(entry):
                yield _port(entry.name, "tcp", address, statuses)
        else:
            yield _there(entry, address, statuses)
        yield check_path(entry, address, config.packet_bytes)
        if entry.name in statuses:
            yield _wall_clock(entry.name, statuses[entry.name])
    yield from _pairs(statuses)


def is_own(host: str) -> bool:
    """Only an address of this host can be bound."""
    try:
        with _udp(host) as probe:
            probe.bind((host, 0))
    except OSError:
        return False
    return True


def _udp(host: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.socket(family, socket.SOCK_DGRAM)


def _here(entry: DaemonEntry, address: SocketAddress, statuses: Statuses) -> Iterator[Found]:
    yield _port(entry.name, "udp", address, statuses)
    for clients in entry.clients:
        yield _port(entry.name, "tcp", (clients.host, clients.port), statuses)
    yield _to_itself(entry.name, address[0])


def _port(name: str, kind: str, address: SocketAddress, statuses: Statuses) -> Found:
    host, port = address
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    check, subject = "port", f"{name} {kind} {port}"
    with socket.socket(family, socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM) as probe:
        if kind == "tcp":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except OSError as error:
            if error.errno == errno.EADDRINUSE and name in statuses:
                return fine(check, subject, f"used by the daemon, process {statuses[name]['pid']}")
            what = (error.strerror or str(error)).lower()
            return wrong(check, subject, what, REMEDIES.get(error.errno or 0, "use another port"))
    if name in statuses:
        remedy = "the daemon that answers runs with another configuration: restart it"
        return wrong(check, subject, "free, though the daemon runs", remedy)
    return fine(check, subject, "free")


def _to_itself(name: str, host: str) -> Found:
    """A firewall may forbid even this."""
    word = b"antiphon doctor"
    try:
        with _udp(host) as listener, _udp(host) as speaker:
            listener.bind((host, 0))
            listener.settimeout(ANSWER_SECONDS)
            speaker.sendto(word, listener.getsockname())
            if listener.recv(64) == word:
                return fine("udp", name, f"{host} reaches itself")
        what = "something else came"
    except OSError as error:
        what = (error.strerror or str(error)).lower()
    return wrong("udp", name, f"{host} does not reach itself: {what}", "look at the firewall")


def _there(entry: DaemonEntry, address: SocketAddress, statuses: Statuses) -> Found:
    """A host without a daemon says so by ICMP; silence tells nothing."""
    if entry.name in statuses:
        return fine("udp", entry.name, "the daemon answers; who is in touch is told below")
    try:
        with _udp(address[0]) as probe:
            probe.settimeout(ANSWER_SECONDS)
            probe.connect(address)
            probe.send(b"")
            probe.recv(1)
    except ConnectionRefusedError:
        remedy = "start the daemon"
        return note("udp", entry.name, f"{address[0]} is there, no daemon is", remedy)
    except TimeoutError:
        remedy = "run doctor there, or start the daemon and look again"
        return note("udp", entry.name, f"{address[0]} says nothing", remedy)
    except OSError as error:
        what = f"{address[0]}: {(error.strerror or str(error)).lower()}"
        return wrong("udp", entry.name, what, "look at routes and cables")
    return note("udp", entry.name, "something else answers there", "look what uses the port")


def check_path(entry: DaemonEntry, address: SocketAddress, packet_bytes: int) -> Found:
    try:
        with _udp(address[0]) as probe:
            probe.connect(address)
            six = probe.family == socket.AF_INET6
            level, option = (socket.IPPROTO_IPV6, IPV6_MTU) if six else (socket.IPPROTO_IP, IP_MTU)
            room = probe.getsockopt(level, option) - HEADER_BYTES[probe.family]
    except OSError as error:
        what = f"cannot be known: {(error.strerror or str(error)).lower()}"
        return note("mtu", entry.name, what, "look at routes and cables")
    what = f"packets of {packet_bytes:,} bytes, room for {room:,}"
    if packet_bytes > room:
        remedy = f"set network.packet_bytes to {room} or less: larger ones go in fragments"
        return wrong("mtu", entry.name, what, remedy)
    return fine("mtu", entry.name, what)


def _wall_clock(name: str, status: dict[str, Any]) -> Found:
    """An incarnation begins with the time of its start, there; good enough unless the clock
    was set since."""
    there = (status["incarnation"] >> LIFE_BITS) / 1000 + status["uptime_seconds"]
    apart = abs(there - time.time())
    what = f"{apart:.1f} s apart from this host"
    if apart > CLOCK_APART_MAX_S:
        remedy = "run a time service: records of several hosts are compared by it"
        return note("clock", name, what, remedy)
    return fine("clock", name, what)


def _pairs(statuses: Statuses) -> Iterator[Found]:
    """Whoever runs should be in one configuration with all others that run."""
    for one, other in itertools.combinations(sorted(statuses), 2):
        subject = f"{one} and {other}"
        mine, theirs = statuses[one], statuses[other]
        if other in mine["silenced"] or one in theirs["silenced"]:
            yield wrong("pair", subject, "cut by a drill", "antiphon partition clear")
        elif other in mine["members"] and one in theirs["members"]:
            yield fine("pair", subject, "in one configuration")
        else:
            remedy = "allow UDP between their addresses; see `antiphon status` for drops"
            yield wrong("pair", subject, "both run, but not in one configuration", remedy)
