"""What no key can say alone: names and addresses apart, encryption where it is needed, multicast
in one site, and files of secrets that only their owner can read."""

import os
import stat
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from antiphon.core.keeping import KEEP_BYTES_MIN
from antiphon.daemon.config.addresses import Address
from antiphon.daemon.config.declaration import (
    Clients,
    Cluster,
    DaemonEntry,
    Network,
    RetainEntry,
)
from antiphon.daemon.config.findings import Path, spelled
from antiphon.daemon.config.reading import Notes
from antiphon.wire.control import MEMBERS_MAX

SOCKET_PATH_BYTES_MAX = 107
"""What the kernel takes."""

Daemons = Sequence[tuple[int, DaemonEntry]]
"""With their places in the file: entries that cannot be used are not here."""


def all_on_loopback(daemons: Iterable[DaemonEntry]) -> bool:
    return all(daemon.address.is_loopback for daemon in daemons)


def check_daemons(notes: Notes, daemons: Daemons) -> None:
    if len(daemons) > MEMBERS_MAX:
        what = f"{len(daemons)} daemons are too many"
        notes.add(("daemon",), what, f"list {MEMBERS_MAX} at most")
    _check_apart(notes, daemons, "name", lambda daemon: [daemon.name])
    # Two of one name have one id and one socket too, if those are made from the name.
    named = list({daemon.name: (place, daemon) for place, daemon in reversed(daemons)}.values())
    _check_apart(notes, named[::-1], "id", lambda daemon: [daemon.id])
    _check_apart(notes, named[::-1], "socket", _sockets)
    _check_apart(notes, daemons, "address", lambda daemon: [daemon.address])
    _check_listening(notes, daemons)
    for place, daemon in daemons:
        path: Path = ("daemon", place)
        if len(os.fsencode(daemon.socket)) > SOCKET_PATH_BYTES_MAX:
            what = f"the path is longer than {SOCKET_PATH_BYTES_MAX} bytes"
            notes.add((*path, "socket"), what, "use a shorter one")
        if daemon.address.is_loopback and not all_on_loopback(one for _, one in daemons):
            notes.add(
                (*path, "address"),
                f"daemons on other machines cannot reach {daemon.address.host}",
                "use an address of its network",
                warning=True,
            )


def check_multicast(notes: Notes, network: Network | None, daemons: Daemons) -> None:
    """A group that reaches several sites would carry the ring of one to the others."""
    if network is not None and network.multicast and len({one.site for _, one in daemons}) > 1:
        what = "there are several sites"
        notes.add(("network", "multicast"), what, "remove it, or put all daemons in one site")


def check_retain(notes: Notes, entries: Sequence[tuple[int, RetainEntry]]) -> None:
    for place, entry in entries:
        if entry.max_bytes < KEEP_BYTES_MIN:
            what = f"{entry.max_bytes} bytes are less than {KEEP_BYTES_MIN >> 10} KiB"
            notes.add(("retain", place, "max_bytes"), what, "keep more")


def check_encryption(notes: Notes, cluster: Cluster, daemons: Daemons) -> None:
    if cluster.key_file and cluster.encryption == "off":
        what = "is off, but there is a key_file"
        notes.add(("cluster", "encryption"), what, "remove one of the two")
    if cluster.key_file or cluster.encryption == "off" or all_on_loopback(d for _, d in daemons):
        return
    notes.add(
        ("cluster", "key_file"),
        "is missing, and not all daemons are on loopback",
        'make one with `antiphon keys new cluster.key` and name it, or say encryption = "off"',
    )


def check_clients(notes: Notes, clients: Clients) -> None:
    for name, other in (
        ("tls_certificate", "tls_key"),
        ("tls_key", "tls_certificate"),
        ("tls_client_ca", "tls_certificate"),
    ):
        if getattr(clients, name) and not getattr(clients, other):
            notes.add(("clients", name), f"is of no use without {other}", f"add {other}")


def check_files(notes: Notes, cluster: Cluster, clients: Clients) -> None:
    """One that is missing is only told: the file may be checked on another machine."""
    make_key = f"make it: antiphon keys new {cluster.key_file}"
    check_file(notes, ("cluster", "key_file"), cluster.key_file, make_key, secret=True)
    for name, secret in (
        ("tokens_file", True),
        ("tls_certificate", False),
        ("tls_key", True),
        ("tls_client_ca", False),
    ):
        check_file(notes, ("clients", name), getattr(clients, name), "put it there", secret)


def check_file(notes: Notes, path: Path, file: str, remedy: str, secret: bool) -> None:
    if not file:
        return
    try:
        mode = os.stat(file).st_mode
    except OSError as error:
        what = f"{file}: {(error.strerror or str(error)).lower()}"
        notes.add(path, what, f"{remedy}; no daemon starts without it", warning=True)
        return
    if not stat.S_ISREG(mode):
        notes.add(path, f"{file} is not a file", "name a file")
    elif secret and mode & 0o077:
        notes.add(path, f"{file} can be read by others", f"say: chmod 600 {file}")


def _sockets(daemon: DaemonEntry) -> list[tuple[str, str]]:
    return [(_machine(daemon.address), daemon.socket)] if daemon.socket else []


def _machine(address: Address) -> str:
    return "loopback" if address.is_loopback else address.host.lower()


def _check_apart(
    notes: Notes, daemons: Daemons, name: str, of: Callable[[DaemonEntry], list[Any]]
) -> None:
    first: dict[Any, int] = {}
    for place, daemon in daemons:
        for value in of(daemon):
            other = first.setdefault(value, place)
            if other != place:
                _add_twice(notes, ("daemon", place, name), ("daemon", other, name))


def _check_listening(notes: Notes, daemons: Daemons) -> None:
    """Two on one machine cannot listen on one port, unless on different interfaces."""
    taken: dict[tuple[str, int], dict[str, Path]] = {}
    for place, daemon in daemons:
        for number, address in enumerate(daemon.clients):
            path: Path = ("daemon", place, "clients", number)
            port = taken.setdefault((_machine(daemon.address), address.port), {})
            host = "*" if address.is_everywhere else address.host.lower()
            clash = (
                port.get(host) or port.get("*") or (host == "*" and next(iter(port.values()), None))
            )
            if clash:
                _add_twice(notes, path, clash)
            port.setdefault(host, path)


def _add_twice(notes: Notes, path: Path, other: Path) -> None:
    what = f"is the same as {spelled(other)} on line {notes.line(other)}"
    notes.add(path, what, "give each its own")
