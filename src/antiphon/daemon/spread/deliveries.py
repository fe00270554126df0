"""What Spread's clients are told of messages and views, packed once for all who are told the same.

What their protocol has no room for is left out and counted, never cut: names that do not fit,
messages that are too long.
"""

from collections import Counter
from typing import NamedTuple

from antiphon.core.effects import Message, View
from antiphon.core.ids import Labelled, SessionId
from antiphon.core.trace import Cause
from antiphon.daemon.spread.names import Names
from antiphon.wire.body import Body, read_body
from antiphon.wire.spread.messages import HEADER_BYTES, WORD, Letterhead, letterhead
from antiphon.wire.spread.views import GroupId, pack_view, pack_view_body
from antiphon.wire.spread.words import (
    NAME_BYTES,
    REST_BYTES_MAX,
    SELF_DISCARD,
    pack_hint,
    service_bit,
)

PACKED_BYTES_MAX = 64 * 1024 * 1024
"""Many small messages to many groups are much longer in this protocol than in a bundle."""

OFFSET_AT = 16
"""Where in a view's body the offset of the receiver's own set is."""


class PackedView(NamedTuple):
    id: GroupId
    before: bytes
    """The offset of the receiver's own set."""

    after: bytes
    offsets: dict[SessionId, int]


class Deliveries:
    def __init__(self, names: Names, counts: Counter[str]) -> None:
        self._names = names
        self._counts = counts
        self._last_message: tuple[Message | None, bytes] = (None, b"")
        self._last_view: tuple[object, PackedView | None] = ((), None)

    def message(self, message: Message) -> bytes:
        last, packed = self._last_message
        if last is None or last.body is not message.body or last != message:
            packed = self._pack_message(message)
            self._last_message = (message, packed)
        return packed

    def view(self, view: View) -> PackedView | None:
        """None if nothing has changed that Spread's clients could be told of."""
        told = (view.group, view.id)
        if told != self._last_view[0]:
            self._last_view = (told, self._pack_view(view))
        return self._last_view[1]

    # Messages.

    def _pack_message(self, message: Message) -> bytes:
        body = read_body(message.body, message.count, message.table)
        count = len(message.chosen) or message.count
        sender = self._names.of_session(body.sender, message.origin.daemon)
        if sender is None:
            return self._omit("name", count)
        names_bytes = NAME_BYTES * max(map(len, body.table))
        if len(message.body) + count * (HEADER_BYTES + names_bytes) > PACKED_BYTES_MAX:
            return self._omit("bulk", count)
        kind = service_bit(message.service) | (SELF_DISCARD if message.self_discard else 0)
        heads = [self._letterhead(kind, sender, groups) for groups in body.table]
        little = not body.big_endian
        hint_of = {kind: pack_hint(kind, little) for kind in set(body.kinds)}
        hints = [hint_of[kind] for kind in body.kinds]
        only = heads[0]
        fits = max(body.lengths) + names_bytes <= REST_BYTES_MAX
        if len(heads) == 1 and only is not None and not message.chosen and fits:
            return b"".join(only.pack_many(hints, body.payloads))
        return self._pack_some(message.chosen or range(count), body, heads, hints)

    def _pack_some(
        self,
        chosen: "tuple[int, ...] | range",
        body: Body,
        heads: list[Letterhead | None],
        hints: list[int],
    ) -> bytes:
        pieces: list[bytes] = []
        payloads, destinations, table = body.payloads, body.destinations, body.table
        for at in chosen:
            where, payload = destinations[at], payloads[at]
            head = heads[where]
            if head is None:
                self._omit("name", 1)
            elif len(payload) + NAME_BYTES * len(table[where]) > REST_BYTES_MAX:
                self._omit("size", 1)
            else:
                pieces += (head.start(hints[at], len(payload)), payload)
        return b"".join(pieces)

    def _letterhead(self, kind: int, sender: str, groups: tuple[str, ...]) -> Letterhead | None:
        """None if a group's name does not fit."""
        theirs = [self._names.theirs(group) for group in groups]
        fitting = tuple([name for name in theirs if name is not None])
        return letterhead(kind, sender, fitting) if len(fitting) == len(groups) else None

    def _omit(self, why: str, count: int) -> bytes:
        self._counts[f"omitted: {why}"] += count
        return b""

    # Views.

    def _pack_view(self, view: View) -> PackedView | None:
        members = self._listed(view.members)
        if len(members) < len(view.members):
            self._omit("member", len(view.members) - len(members))
        sets = [found for found in map(self._listed, view.moved) if found]
        if not sets:
            self._omit("view", 1)
            return None
        id = GroupId(view.era >> 32, view.era & 0xFFFFFFFF, view.index)
        body = pack_view_body(id, [list(found.values()) for found in sets])
        packed = pack_view(view.group, view.cause, list(members.values()), body)
        at = len(packed) - len(body) + OFFSET_AT
        offsets = {}
        if view.cause == Cause.NETWORK:
            offset = 0
            for found in sets:
                offsets.update(dict.fromkeys(found, offset))
                offset += WORD[True].size + NAME_BYTES * len(found)
        return PackedView(id, packed[:at], packed[at + WORD[True].size :], offsets)

    def _listed(self, members: tuple[Labelled, ...]) -> dict[SessionId, str]:
        """Private groups of those whose names fit, by the order of their daemons, then by name."""
        found = []
        for session, name in members:
            private = self._names.of_session(name, session.daemon)
            if private is not None:
                found.append((self._names.order[session.daemon], name, session, private))
        return {session: private for _, _, session, private in sorted(found)}
