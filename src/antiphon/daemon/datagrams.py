"""UDP between daemons: many packets in one system call where the kernel can.

Segmentation offload sends a run of packets of one size (the last may be shorter) as one
buffer; receive offload hands such a run back in one piece. Both carry plain UDP packets on
the wire, so daemons with and without them understand each other.
"""

import errno
import socket
from collections import Counter
from collections.abc import Iterable, Mapping
from struct import Struct

from antiphon.core.errors import ConfigError
from antiphon.core.ids import DaemonId

UDP_SEGMENT = 103
UDP_GRO = 104
SEGMENT_SIZE = Struct("=H")
GRO_SIZE = Struct("=i")
ANCILLARY_BYTES = socket.CMSG_SPACE(GRO_SIZE.size)

RUN_BYTES_MAX = 65_000
RUN_PACKETS_MAX = 64
READ_BYTES = 65_536
READS_MAX = 64
"""In one turn: then others get theirs."""

BUFFER_BYTES = 8 << 20
SO_RCVBUFFORCE = 33
SO_SNDBUFFORCE = 32

SocketAddress = tuple[str, int]
Datagram = tuple[bool, bytes]
"""Whether it came by multicast, and the bytes."""


class Datagrams:
    """The socket of a daemon, and where the others are; and one more if it hears multicast."""

    def __init__(
        self, address: SocketAddress, offload: bool, multicast: SocketAddress | None = None
    ) -> None:
        self.counts: Counter[str] = Counter()
        """Datagrams and bytes, in and out, and those that could not be sent, by reason."""

        self._peers: dict[DaemonId, SocketAddress] = {}
        self._waiting: dict[DaemonId, list[bytes]] = {}
        self._far: frozenset[DaemonId] = frozenset()
        self._silenced: frozenset[DaemonId] = frozenset()
        self._address = address
        self._multicast = multicast
        self._reached: frozenset[DaemonId] = frozenset()
        self._for_all: list[bytes] = []
        self._socket = _bound(address)
        self._sockets = [self._socket]
        if multicast is not None:
            self._sockets.insert(0, _listening_to(multicast, address))
            interface = socket.inet_aton(address[0])
            self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, interface)
        self.segmentation = offload and _can_segment(self._socket)
        self.coalescing = offload and all([_can_coalesce(one) for one in self._sockets])

    @property
    def buffer_bytes(self) -> int:
        """What waits for us at most, by the system's count."""
        return min(one.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) for one in self._sockets)

    def files(self) -> list[int]:
        return [one.fileno() for one in self._sockets]

    def close(self) -> None:
        for one in self._sockets:
            one.close()

    def know(self, peers: Mapping[DaemonId, SocketAddress], far: Iterable[DaemonId] = ()) -> None:
        """All other daemons, from now on; what is for all is not for those that are far."""
        self._peers = dict(peers)
        self._far = frozenset(far)
        self._waiting = {daemon: self._waiting.get(daemon, []) for daemon in peers}

    def silence(self, daemons: Iterable[DaemonId]) -> None:
        """Neither send to these nor hear them: a drill."""
        self._silenced = frozenset(daemons)
        self.reach(self._reached)

    @property
    def reached(self) -> frozenset[DaemonId]:
        return self._reached

    @property
    def silenced(self) -> frozenset[DaemonId]:
        return self._silenced

    # Out.

    def send(self, to: DaemonId, datagram: bytes) -> None:
        waiting = self._waiting.get(to)
        if waiting is not None:
            waiting.append(datagram)

    def broadcast(self, datagram: bytes) -> None:
        """To all of the site: by multicast to those it reaches, one by one to the others."""
        if self._reached:
            self._for_all.append(datagram)
        for daemon, waiting in self._waiting.items():
            if daemon not in self._reached and daemon not in self._far:
                waiting.append(datagram)

    def by_multicast(self, datagram: bytes) -> None:
        self._for_all.append(datagram)

    def reach(self, daemons: frozenset[DaemonId]) -> None:
        """Whom multicast reaches; a drill that silences somebody needs unicast."""
        self._reached = frozenset() if self._silenced else daemons.intersection(self._waiting)

    def flush(self) -> None:
        if self._for_all:
            assert self._multicast is not None
            for_all, self._for_all = self._for_all, []
            self._send_all(self._multicast, for_all)
        for daemon, waiting in self._waiting.items():
            if waiting:
                self._waiting[daemon] = []
                if daemon not in self._silenced:
                    self._send_all(self._peers[daemon], waiting)

    def _send_all(self, address: SocketAddress, datagrams: list[bytes]) -> None:
        at = 0
        while at < len(datagrams):
            run = run_length(datagrams, at) if self.segmentation else 1
            self._send_run(address, datagrams[at : at + run])
            at += run

    def _send_run(self, address: SocketAddress, run: list[bytes]) -> None:
        try:
            if len(run) == 1:
                size = self._socket.sendto(run[0], address)
            else:
                segment = SEGMENT_SIZE.pack(len(run[0]))
                control = [(socket.SOL_UDP, UDP_SEGMENT, segment)]
                size = self._socket.sendmsg(run, control, 0, address)
        except OSError as error:
            if len(run) > 1 and error.errno in (errno.EINVAL, errno.EIO, errno.EMSGSIZE):
                self.segmentation = False  # this path cannot: plain packets from now on
                for datagram in run:
                    self._send_run(address, [datagram])
                return
            reason = errno.errorcode.get(error.errno or 0, "unknown").lower()
            self.counts[f"unsent_{reason}"] += len(run)
            return
        self.counts["sent"] += len(run)
        self.counts["sent_bytes"] += size

    # In.

    def receive(self) -> list[Datagram]:
        """Everything that is there, within reason."""
        found: list[Datagram] = []
        unheard = {self._peers[daemon] for daemon in self._silenced if daemon in self._peers}
        if self._multicast is not None:
            unheard.add(self._address)  # what I said to all comes back to me
        for one in self._sockets:
            self._read(one, one is not self._socket, unheard, found)
        self.counts["received"] += len(found)
        return found

    def _read(
        self,
        one: socket.socket,
        by_multicast: bool,
        unheard: set[SocketAddress],
        found: list[Datagram],
    ) -> None:
        for _ in range(READS_MAX):
            try:
                data, control, _, source = one.recvmsg(READ_BYTES, ANCILLARY_BYTES)
            except BlockingIOError:
                return
            except OSError as error:
                # Somebody's port is closed; nothing was read.
                self.counts[f"unread_{errno.errorcode.get(error.errno or 0, '')}".lower()] += 1
                continue
            self.counts["received_bytes"] += len(data)
            if unheard and source[:2] in unheard:
                continue
            size = _segment_size(control) or len(data) or 1
            found += [(by_multicast, data[at : at + size]) for at in range(0, len(data) or 1, size)]


def run_length(datagrams: list[bytes], start: int) -> int:
    """How many from `start` on can leave as one buffer."""
    size = len(datagrams[start])
    total = 0
    for place in range(start, min(len(datagrams), start + RUN_PACKETS_MAX)):
        length = len(datagrams[place])
        total += length
        if length > size or total > RUN_BYTES_MAX:
            return max(1, place - start)
        if length < size:
            return place - start + 1
    return min(len(datagrams) - start, RUN_PACKETS_MAX)


def resolve(host: str, port: int) -> SocketAddress:
    """By the system's own means, once."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    except OSError as error:
        raise ConfigError(
            "daemon.address", f"{host}: {error.strerror}", "name a known host"
        ) from None
    address = found[0][4]
    return str(address[0]), int(address[1])


def _bound(address: SocketAddress) -> socket.socket:
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    made = socket.socket(family, socket.SOCK_DGRAM)
    made.setblocking(False)
    for forced, usual in ((SO_RCVBUFFORCE, socket.SO_RCVBUF), (SO_SNDBUFFORCE, socket.SO_SNDBUF)):
        try:
            made.setsockopt(socket.SOL_SOCKET, forced, BUFFER_BYTES)
        except OSError:  # only root may pass the system's limit
            made.setsockopt(socket.SOL_SOCKET, usual, BUFFER_BYTES)
    try:
        made.bind(address)
    except OSError:
        made.close()
        raise
    return made


def _listening_to(group: SocketAddress, address: SocketAddress) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setblocking(False)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # several daemons on one host
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    membership = socket.inet_aton(group[0]) + socket.inet_aton(address[0])
    try:
        made.bind(group)
        made.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
    except OSError:
        made.close()
        raise
    return made


def _can_segment(made: socket.socket) -> bool:
    try:
        made.setsockopt(socket.SOL_UDP, UDP_SEGMENT, 0)
    except OSError:
        return False
    return True


def _can_coalesce(made: socket.socket) -> bool:
    try:
        made.setsockopt(socket.SOL_UDP, UDP_GRO, 1)
    except OSError:
        return False
    return True


def _segment_size(control: list[tuple[int, int, bytes]]) -> int:
    for level, kind, data in control:
        if level == socket.SOL_UDP and kind == UDP_GRO:
            return int(GRO_SIZE.unpack_from(data)[0])
    return 0
