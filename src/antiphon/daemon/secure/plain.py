"""What a cluster without a key uses in place of a seal; allowed on loopback."""

from antiphon.core.ids import DaemonId, Member
from antiphon.core.machine import Instant
from antiphon.daemon.secure.datagram import KINDS, RANDOM_BYTES
from antiphon.daemon.secure.outcome import Opened, Outcome, Refusal
from antiphon.daemon.secure.stream import Stream


class Plain:
    overhead = 0

    def seal(self, packet: bytes) -> bytes:
        return packet

    def open(self, now: Instant, datagram: bytes) -> Outcome:
        if datagram and datagram[0] in KINDS:
            return Refusal("sealed")
        return Opened(datagram)

    def stream(self, me: Member, called: DaemonId | None) -> Stream:
        return Stream(me, called, None, {}, bytes(RANDOM_BYTES))

    def holds(self, key_id: int) -> bool:
        return True
