"""Cuts a stream of Spread's messages, however its bytes were split or merged on their way.

This is the hot path of daemon and client. The first 40 bytes of a header and the names of the
groups repeat from message to message, so they are read once and found again by their bytes; what
is left for each message is a hint, a length and a slice.
"""

from struct import Struct

from antiphon.core.errors import DecodeError
from antiphon.wire.spread.messages import (
    HEADER_BYTES,
    TOP,
    WORD,
    Head,
    SpreadMessage,
    request_fault,
)
from antiphon.wire.spread.words import (
    DELIVERY_BYTES_MAX,
    HINT_FOREIGN,
    MARKER,
    NAME_BYTES,
    REJECT,
    REST_BYTES_MAX,
    read_name,
    read_names,
    swap,
)

HEADER = Struct("<40sII")
"""What repeats, the hint, and the length of the data if it is little-endian."""

REMEMBERED_BYTES_MAX = 256 * 1024
"""Of what repeats, for one stream. A peer that never repeats itself is served all the same."""

NEW_BYTES = 512
"""What remembering something costs beside its own bytes."""


class StreamFault(DecodeError):
    """A stream cannot go on; `before` are the messages that were complete before the fault."""

    def __init__(self, reason: str, detail: str, before: list[SpreadMessage]) -> None:
        super().__init__(reason, detail)
        self.before = before


class Top:
    """The first 40 bytes of a header, read."""

    __slots__ = ("type", "name", "groups", "little", "names_bytes", "size_max", "heads")

    def __init__(self, raw: bytes, rest_bytes_max: int) -> None:
        little = bool(raw[0] & 0x80)
        marked, field, self.groups = TOP[little].unpack(raw)
        if marked & MARKER not in (0, MARKER):
            raise DecodeError("bad_field", "half a marker of the byte order")
        self.type = marked & ~MARKER
        self.name = read_name(field)
        self.little = little
        self.names_bytes = NAME_BYTES * self.groups + (4 if self.type & REJECT else 0)
        """And the type of what was rejected."""

        self.size_max = rest_bytes_max - NAME_BYTES * self.groups
        self.heads: dict[bytes, Head] = {}
        """By the bytes of the names."""


class MessageReader:
    """`own` is the private group of the client whose requests are read; without it the stream
    is a daemon's."""

    def __init__(self, own: str | None = None) -> None:
        self._own = own
        self._rest_bytes_max = DELIVERY_BYTES_MAX if own is None else REST_BYTES_MAX
        self._pieces: list[bytes] = []
        self._size = 0
        self._wanted = HEADER_BYTES
        """So many bytes must have come before anything can be complete."""

        self._tops: dict[bytes, Top] = {}
        self._remembered_bytes = 0

    def feed(self, data: bytes) -> list[SpreadMessage]:
        """The messages that are complete now. Raises StreamFault; then the stream has ended."""
        self._pieces.append(data)
        self._size += len(data)
        if self._size < self._wanted:
            return []
        joined = b"".join(self._pieces) if len(self._pieces) > 1 else data
        found: list[SpreadMessage] = []
        try:
            at = self._cut(joined, found)
        except DecodeError as error:
            raise StreamFault(error.reason, error.detail, found) from None
        rest = joined[at:]
        self._pieces = [rest] if rest else []
        self._size = len(rest)
        return found

    def _cut(self, joined: bytes, found: list[SpreadMessage]) -> int:
        """How many bytes were used."""
        at, end = 0, len(joined)
        unpack, tops, add = HEADER.unpack_from, self._tops, found.append
        while end - at >= HEADER_BYTES:
            raw, hint, size = unpack(joined, at)
            top = tops.get(raw) or self._learn_top(raw)
            if not top.little:
                size = swap(size)
            if size > top.size_max or hint & HINT_FOREIGN:
                raise self._fault(top, hint, size)
            names_at = at + HEADER_BYTES
            data_at = names_at + top.names_bytes
            stop = data_at + size
            if stop > end:
                self._wanted = stop - at
                return at
            names = joined[names_at:data_at]
            head = top.heads.get(names) or self._learn_head(top, names)
            add(SpreadMessage(head, hint, joined[data_at:stop]))
            at = stop
        self._wanted = HEADER_BYTES
        return at

    def _fault(self, top: Top, hint: int, size: int) -> DecodeError:
        if self._own is not None:
            reason = request_fault(top.type, top.name, self._own, top.groups, hint, size)
        else:
            reason = "bad_hint" if hint & HINT_FOREIGN else "too_long"
        return DecodeError(reason, f"hint {hint:#x}, {size} bytes of data, {top.groups} groups")

    def _learn_top(self, raw: bytes) -> Top:
        top = Top(raw, self._rest_bytes_max)
        if self._own is not None:
            reason = request_fault(top.type, top.name, self._own, top.groups, 0, 0)
        else:
            reason = "too_long" if top.size_max < 0 else ""
        if reason:
            detail = f"type {top.type:#x}, {top.groups} groups, of {top.name!r}"
            raise DecodeError(reason, detail)
        self._remember(len(raw))
        self._tops[raw] = top
        return top

    def _learn_head(self, top: Top, names: bytes) -> Head:
        rejected = 0
        listed = names
        if top.type & REJECT:
            rejected = WORD[top.little].unpack_from(names)[0] & ~MARKER
            listed = names[4:]
        head = Head(top.type, top.name, read_names(listed), top.little, rejected)
        self._remember(2 * len(names))
        top.heads[names] = head
        return head

    def _remember(self, size: int) -> None:
        self._remembered_bytes += size + NEW_BYTES
        if self._remembered_bytes > REMEMBERED_BYTES_MAX:
            self._remembered_bytes = 0
            self._tops.clear()
