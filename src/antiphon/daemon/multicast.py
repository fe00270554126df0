"""Whether IP multicast reaches the others: it is used for those that have said so lately.

Each daemon sends a probe by multicast now and then; who hears it by multicast answers by
unicast. A network that swallows multicast, or begins to, costs nothing but the probes.
"""

from antiphon.core.errors import DecodeError
from antiphon.core.ids import DaemonId, Member
from antiphon.core.machine import SECOND, Instant
from antiphon.wire.packet import HEADER, WIRE_VERSION, open_header

PROBE, HEARD = 250, 251
"""In the place of a packet's tag: between drivers, no node sees them."""

PROBE_US = SECOND
BELIEVED_US = 3 * SECOND
"""A daemon whose answer is older is sent to by unicast again."""

Answer = tuple[DaemonId, bytes]


def is_probe(packet: bytes) -> bool:
    return len(packet) == HEADER.size and packet[1] in (PROBE, HEARD)


class Reach:
    def __init__(self, cluster: int, me: Member) -> None:
        self._cluster = cluster
        self._me = me
        self._probe = HEADER.pack(WIRE_VERSION, PROBE, cluster, *me)
        self._heard = HEADER.pack(WIRE_VERSION, HEARD, cluster, *me)
        self._probe_at: Instant = 0
        self._answered: dict[DaemonId, Instant] = {}

    def probe(self, now: Instant) -> bytes | None:
        """A packet to be sent by multicast, if it is time for one."""
        if now < self._probe_at:
            return None
        self._probe_at = now + PROBE_US
        return self._probe

    def hear(self, now: Instant, packet: bytes, by_multicast: bool) -> Answer | None:
        """An answer and whom it is for, if one is due."""
        try:
            kind, sender, _ = open_header(packet, self._cluster)
        except DecodeError:
            return None  # of another cluster that uses the same group
        if kind == PROBE and by_multicast and sender != self._me.daemon:
            return sender, self._heard
        if kind == HEARD and not by_multicast:
            self._answered[sender] = now
        return None

    def reached(self, now: Instant) -> frozenset[DaemonId]:
        answered = self._answered.items()
        self._answered = {daemon: at for daemon, at in answered if now - at <= BELIEVED_US}
        return frozenset(self._answered)
