"""What a session of Spread's protocol has to send, in the order of asking.

A message is two pieces: its header with the names of its groups, which repeats and is kept, and
its payload. The transport takes all that waits in one piece.
"""

import sys

from antiphon.client.destinations import Groups
from antiphon.client.outbox import KINDS, Payload, join_payload
from antiphon.core.errors import UsageError
from antiphon.core.service import Service
from antiphon.wire.spread.messages import Letterhead
from antiphon.wire.spread.words import (
    GROUPS_MAX,
    NAME_BYTES,
    SAFE_REST_BYTES_MAX,
    SELF_DISCARD,
    fits_field,
    pack_hint,
    service_bit,
)

LITTLE = sys.byteorder == "little"
REMEMBERED = 1024

Key = tuple[Groups, Service, bool]


class Outbox:
    def __init__(self) -> None:
        self.own = ""
        """The session's private group, once it is known."""

        self.size = 0
        """Bytes that wait."""

        self.messages = 0
        """Multicasts that wait."""

        self._pieces: list[bytes] = []
        self._heads: dict[Key, tuple[Letterhead, int]] = {}
        """And how many bytes a payload under it may have."""

        self._hints: dict[int, int] = {}

    def multicast(
        self, groups: Groups, payload: Payload, service: Service, kind: int, self_discard: bool
    ) -> None:
        if type(groups) is list:
            groups = tuple(groups)
        head, room = self._heads.get((groups, service, self_discard)) or self._learn(
            groups, service, self_discard
        )
        data = payload if type(payload) is bytes else join_payload(payload)
        hint = self._hints.get(kind)
        if hint is None:
            hint = self._learn_hint(kind)
        size = len(data)
        if size > room:
            raise UsageError(
                "too_long", f"a message of {size} bytes", f"send at most {room} at a time"
            )
        start = head.start(hint, size)
        self._pieces.append(start)
        self._pieces.append(data)
        self.size += len(start) + size
        self.messages += 1

    def ask(self, packed: bytes) -> None:
        """Something in line with the multicasts before it."""
        self._pieces.append(packed)
        self.size += len(packed)

    def take(self) -> bytes:
        """All that waits."""
        data = b"".join(self._pieces)
        self._pieces.clear()
        self.size = self.messages = 0
        return data

    def _learn(self, groups: Groups, service: Service, discard: bool) -> tuple[Letterhead, int]:
        names = (groups,) if isinstance(groups, str) else tuple(groups)
        if not 0 < len(names) <= GROUPS_MAX:
            raise UsageError(
                "bad_group", f"a message to {len(names)} groups", f"name 1 to {GROUPS_MAX} groups"
            )
        for name in names:
            if not isinstance(name, str) or not name or not fits_field(name):
                raise UsageError(
                    "bad_group", f"{name!r} is no group name", "use 1 to 31 bytes without NUL"
                )
        bits = service_bit(Service(service)) | (SELF_DISCARD if discard else 0)
        head = Letterhead(bits, self.own, names, LITTLE)
        if len(self._heads) >= REMEMBERED:
            self._heads.clear()
        room = SAFE_REST_BYTES_MAX - NAME_BYTES * len(names)
        self._heads[groups, service, discard] = head, room
        return head, room

    def _learn_hint(self, kind: int) -> int:
        if kind not in KINDS:
            raise UsageError("bad_kind", f"{kind!r} is no kind", "use -32768 to 32767")
        if len(self._hints) >= REMEMBERED:
            self._hints.clear()
        hint = self._hints[kind] = pack_hint(kind, LITTLE)
        return hint
