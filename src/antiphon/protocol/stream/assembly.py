"""From pieces back to bundles, all or nothing."""

from antiphon.core.bundle import Bundle
from antiphon.core.ids import Member
from antiphon.core.machine import Instant
from antiphon.core.ranges import RangeSet
from antiphon.core.service import Service
from antiphon.wire.pieces import Piece
from antiphon.wire.ring import BUNDLE_BYTES_MAX, CONTROL, LAST, SELF_DISCARD

PARTIALS_MAX = 1024
"""Unreliable bundles in parts at one time; the oldest goes first."""

REMEMBERED = 1024
"""How far back an unreliable bundle is known to have been delivered already."""

TOKEN_LIFE = 10_000
"""An unreliable packet is too late when the token has made so many hops since."""

SESSIONS_MAX = 1024
"""Above so many sessions, those silent for that long are forgotten."""

Key = tuple[Member, int, int]


class Partial:
    """Parts of one bundle, by index; `last` is the piece that carries the order."""

    __slots__ = ("parts", "last", "size", "since")

    def __init__(self, since: Instant) -> None:
        self.parts: dict[int, bytes] = {}
        self.last: Piece | None = None
        self.size = 0
        self.since = since


class Assembly:
    """Collects the pieces of one configuration."""

    def __init__(self) -> None:
        self._ordered: dict[Key, Partial] = {}
        self._unreliable: dict[Key, Partial] = {}

    def add(self, now: Instant, sender: Member, piece: Piece, segment: int = 0) -> Bundle | None:
        """The bundle, if this piece completes it. A piece that cannot belong where it
        claims to is ignored: its sender is broken, and its bundle never completes."""
        if piece.flags & LAST and not piece.index:
            return _bundle(sender, piece, piece.data, segment)
        key = (sender, piece.session, piece.number)
        reliable = piece.service != Service.UNRELIABLE
        partials = self._ordered if reliable else self._unreliable
        partial = partials.get(key)
        if partial is None:
            if not reliable and len(partials) == PARTIALS_MAX:
                del partials[next(iter(partials))]
            partial = partials[key] = Partial(now)
        if piece.index in partial.parts or partial.size + len(piece.data) > BUNDLE_BYTES_MAX:
            return None
        partial.parts[piece.index] = piece.data
        partial.size += len(piece.data)
        if piece.flags & LAST:
            partial.last = piece
        last = partial.last
        if last is None or len(partial.parts) <= last.index:
            return None
        del partials[key]
        if len(partial.parts) != last.index + 1 or last.index not in partial.parts:
            return None
        parts = [partial.parts.get(index) for index in range(last.index + 1)]
        whole = b"".join(part for part in parts if part is not None)
        return _bundle(sender, last, whole, segment)

    def expire(self, now: Instant, life: Instant) -> int:
        """Drop unreliable bundles whose first part came too long ago (SP-55)."""
        old = [key for key, partial in self._unreliable.items() if partial.since + life <= now]
        for key in old:
            del self._unreliable[key]
        return len(old)

    def unreliable_partials(self) -> bool:
        return bool(self._unreliable)


def _bundle(sender: Member, piece: Piece, body: bytes, segment: int) -> Bundle:
    return Bundle(
        sender,
        piece.session,
        piece.number,
        piece.count,
        piece.service,
        body,
        bool(piece.flags & CONTROL),
        bool(piece.flags & SELF_DISCARD),
        piece.sequence,
        piece.stamp,
        piece.previous,
        piece.early_past,
        piece.order_past,
        piece.after_change,
        segment,
        piece.early_pasts,
        piece.reach,
    )


class DuplicateFilter:
    """Which unreliable bundles came already: the network may double a packet (SP-54).

    Packets are refused when the token has made TOKEN_LIFE hops since they were sent, so
    what a session sent longer ago can be forgotten.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[Member, int], tuple[RangeSet, int]] = {}

    def first_time(self, bundle: Bundle, token_sequence: int) -> bool:
        key = (bundle.sender, bundle.session)
        seen, latest = self._seen.get(key, (RangeSet(), 0))
        number = bundle.number
        if number in seen or (seen and number <= seen.last() - REMEMBERED):
            return False
        seen.add(number)
        seen.remove_run(1, seen.last() - REMEMBERED)
        self._seen[key] = (seen, max(latest, token_sequence))
        if len(self._seen) > SESSIONS_MAX:
            horizon = token_sequence - TOKEN_LIFE
            self._seen = {key: entry for key, entry in self._seen.items() if entry[1] > horizon}
        return True
