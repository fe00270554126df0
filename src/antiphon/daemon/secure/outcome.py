"""What can come of a datagram: exactly one of these, whatever its bytes were."""

import msgspec

from antiphon.core.ids import DaemonId, Member


class Opened(msgspec.Struct, frozen=True, gc=False):
    """For the node."""

    packet: bytes


class Reply(msgspec.Struct, frozen=True, gc=False):
    """To be sent to that daemon's configured address, as it is. Not to where the datagram
    came from: whoever replays a packet from elsewhere must not get the answer."""

    to: DaemonId
    datagram: bytes


class Proven(msgspec.Struct, frozen=True, gc=False):
    """This life answered our challenge; from now on its packets are opened."""

    life: Member


class Refusal(msgspec.Struct, frozen=True, gc=False):
    """Dropped, to be counted; docs/security.md has the reasons."""

    reason: str


Outcome = Opened | Reply | Proven | Refusal
