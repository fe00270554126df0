"""A bundle: messages of one session and one service that travel and are ordered as one.

It takes the place of the paper's message everywhere below the client library: Python pays
per event, not per byte. The body is opaque to ring and ordering.
"""

from typing import NamedTuple

import msgspec

from antiphon.core.ids import Member, SessionId
from antiphon.core.positions import SEGMENT_BITS
from antiphon.core.service import Service

CHANGE_BYTES = 1024
"""What a waiting group change counts in its session's queue: few bytes, but an object."""


class Reach(NamedTuple):
    """A segment that a bundle is for."""

    segment: int
    before: int
    """Sequence of the stream's last bundle before it that is for that segment; 0: none."""

    previous: int
    """The same among the bundles of its session."""


class Bundle(msgspec.Struct, gc=False):
    """Filled in by its sender when stamped; afterwards never changed."""

    sender: Member
    session: int
    """0: the daemon's own group changes; else a client's session."""

    number: int
    """Of its first message. Unreliable messages have a sequence of their own (SP-53)."""

    count: int
    service: Service
    body: bytes
    control: bool = False
    """A group change or group state, read by the daemons themselves."""

    self_discard: bool = False

    sequence: int = 0
    """Place in the site's stream, dense; 0 while unstamped and for unreliable (SP-75, X-33)."""

    stamp: int = 0
    """Lamport time of the stamping (SP-76). Of an unreliable one, and only if there are several
    segments, the time that it comes after."""

    previous: int = 0
    """Sequence of the session's bundle before this one in this configuration."""

    early_past: int = 0
    """Highest sequence of its own stream that the sender had delivered ahead of the order."""

    order_past: int = 0
    """Highest position the sender had delivered in its turn."""

    after_change: int = 0
    """Position of the last group change that the sender had delivered."""

    segment: int = 0
    """Whose stream it is in."""

    early_pasts: tuple[tuple[int, int], ...] = ()
    """(segment, sequence): what the sender had delivered early of other streams."""

    reach: tuple[Reach, ...] = ()
    """The segments it is for, in their order; empty: all, as the one before it in its stream."""

    names: tuple[str, ...] = ()
    """Groups that it is to; known only where it is submitted."""

    everywhere: bool = False
    """Wanted by all daemons, whoever is in its groups; known only where it is submitted."""

    @property
    def position(self) -> int:
        return self.stamp << SEGMENT_BITS | self.segment

    def way_to(self, segment: int) -> tuple[int, int] | None:
        """What of this stream was for a segment before it, and what of its session; None if it
        is not for that segment itself."""
        if not self.reach:
            return self.sequence - 1, self.previous
        for reached in self.reach:
            if reached.segment == segment:
                return reached.before, reached.previous
        return None

    @property
    def origin(self) -> SessionId:
        return SessionId(self.sender.daemon, self.sender.incarnation, self.session)
