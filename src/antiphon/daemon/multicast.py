"""Whether IP multicast reaches the others: it is used for those that have said so lately.

Each daemon sends a probe by multicast now and then; who hears it by multicast answers by
unicast. A network that swallows multicast, or begins to, costs nothing but the probes.
"""

from struct import Struct, error

from antiphon.core.ids import DaemonId
from antiphon.core.machine import SECOND, Instant

MARK = 0xFE
"""First byte; no version of the wire is so high."""

PROBE, HEARD = 1, 2
WORD = Struct(">BBQ")
PROBE_US = SECOND
BELIEVED_US = 3 * SECOND
"""A daemon whose answer is older is sent to by unicast again."""


Answer = tuple[DaemonId, bytes]


class Reach:
    def __init__(self, me: DaemonId) -> None:
        self._me = me
        self._probe_at: Instant = 0
        self._answered: dict[DaemonId, Instant] = {}

    def probe(self, now: Instant) -> bytes | None:
        """A packet to be sent by multicast, if it is time for one."""
        if now < self._probe_at:
            return None
        self._probe_at = now + PROBE_US
        return WORD.pack(MARK, PROBE, self._me)

    def hear(
        self, now: Instant, packet: bytes, by_multicast: bool
    ) -> tuple[DaemonId, bytes] | None:
        """An answer and whom it is for, if one is due."""
        try:
            _, kind, sender = WORD.unpack(packet)
        except error:
            return None
        if kind == PROBE and by_multicast and sender != self._me:
            return DaemonId(sender), WORD.pack(MARK, HEARD, self._me)
        if kind == HEARD and not by_multicast:
            self._answered[DaemonId(sender)] = now
        return None

    def reached(self, now: Instant) -> frozenset[DaemonId]:
        answered = self._answered.items()
        self._answered = {daemon: at for daemon, at in answered if now - at <= BELIEVED_US}
        return frozenset(self._answered)
