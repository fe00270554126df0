"""A bundle: messages of one session and one service that travel and are ordered as one.

It takes the place of the paper's message everywhere below the client library: Python pays
per event, not per byte. The body is opaque to ring and ordering.
"""

from antiphon.core.ids import Member, SessionId
from antiphon.core.positions import SEGMENT_BITS
from antiphon.core.reach import Reach
from antiphon.core.service import Service

CHANGE_BYTES = 1024
"""What a waiting group change counts in its session's queue: few bytes, but an object."""


FIELDS = (
    *("sender", "session", "number", "count", "service", "body", "control", "self_discard"),
    *("sequence", "stamp", "previous", "early_past", "order_past", "after_change", "segment"),
    *("early_pasts", "reach", "names", "everywhere"),
)


class Bundle:
    """Filled in by its sender when stamped; afterwards never changed. Its fields are looked at more
    often than those of any other word, so it is a class that can be compiled."""

    __slots__ = (*FIELDS, "checksum")

    def __init__(
        self,
        sender: Member,
        session: int,
        number: int,
        count: int,
        service: Service,
        body: bytes,
        control: bool = False,
        self_discard: bool = False,
        sequence: int = 0,
        stamp: int = 0,
        previous: int = 0,
        early_past: int = 0,
        order_past: int = 0,
        after_change: int = 0,
        segment: int = 0,
        early_pasts: tuple[tuple[int, int], ...] = (),
        reach: tuple[Reach, ...] = (),
        names: tuple[str, ...] = (),
        everywhere: bool = False,
    ) -> None:
        self.sender = sender
        self.session = session
        """0: the daemon's own group changes; else a client's session."""

        self.number = number
        """Of its first message. Unreliable messages have a sequence of their own (SP-53)."""

        self.count = count
        self.service = service
        self.body = body
        self.control = control
        """A group change or group state, read by the daemons themselves."""

        self.self_discard = self_discard
        self.checksum = -1  # of all its payloads, once a record has told it; others tell it, too
        self.sequence = sequence
        """Place in the site's stream, dense; 0 while unstamped and for unreliable (SP-75, X-33)."""

        self.stamp = stamp
        """Lamport time of the stamping (SP-76). Of an unreliable one, and only if there are several
        segments, the time that it comes after."""

        self.previous = previous
        """Sequence of the session's bundle before this one in this configuration."""

        self.early_past = early_past
        """Highest sequence of its own stream that the sender had delivered ahead of the order."""

        self.order_past = order_past
        """Highest position the sender had delivered in its turn."""

        self.after_change = after_change
        """Position of the last group change that the sender had delivered."""

        self.segment = segment
        """Whose stream it is in."""

        self.early_pasts = early_pasts
        """(segment, sequence): what the sender had delivered early of other streams."""

        self.reach = reach
        """The segments it is for, in their order; empty: all, as that before it in its stream."""

        self.names = names
        """Groups that it is to; known only where it is submitted."""

        self.everywhere = everywhere
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

    def _fields(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in FIELDS}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bundle) and self._fields() == other._fields()

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value!r}" for name, value in self._fields().items())
        return f"Bundle({told})"
