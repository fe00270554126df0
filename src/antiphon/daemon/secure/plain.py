"""What a cluster without a key uses in place of a seal; allowed on loopback."""

from antiphon.core.machine import Instant
from antiphon.daemon.secure.datagram import KINDS
from antiphon.daemon.secure.outcome import Opened, Outcome, Refusal


class Plain:
    overhead = 0

    def seal(self, packet: bytes) -> bytes:
        return packet

    def open(self, now: Instant, datagram: bytes) -> Outcome:
        if datagram and datagram[0] in KINDS:
            return Refusal("sealed")
        return Opened(datagram)
