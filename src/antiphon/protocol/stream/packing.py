"""From queues of bundles to full packets: packing, cutting, turns, priorities.

Small bundles share a packet and large ones are cut (SP-100 to SP-102). A bundle gets its
place in the order with its last piece, so a large one holds nobody up while it travels.
Sessions take turns piece by piece; a higher priority goes first, but only here, in the
queue (SP-07, SP-93): order among one session's bundles is never touched.
"""

from collections import deque
from collections.abc import Callable
from typing import Protocol

from antiphon.core.bundle import Bundle
from antiphon.core.service import Service
from antiphon.wire.pieces import Piece
from antiphon.wire.ring import (
    CONTROL,
    LAST,
    ORDER_OVERHEAD,
    PACKET_OVERHEAD,
    PIECE_OVERHEAD,
    SELF_DISCARD,
    pack_piece_head,
)

CUT_BYTES_MIN = 64
"""A smaller rest of a packet is left empty rather than filled with a crumb."""

OWN_SESSION = 0
"""The daemon itself, when it tells its group state: before all clients."""

OWN_PRIORITY = 256
"""Above every client's."""

Parts = tuple[bytes, bytes | memoryview]
"""A piece: what comes before its data, and the data, which is not copied here."""

May = Callable[[Bundle], bool]
"""May this bundle be sent now?"""


class Contents:
    """What goes into one packet."""

    __slots__ = ("reliable", "parts", "mask")

    def __init__(self, reliable: bool) -> None:
        self.reliable = reliable
        self.parts: list[bytes | memoryview] = []
        self.mask: int | None = None
        """Segments that they are for; 0 is all, None while there are none."""

    def add(self, piece: Parts, mask: int) -> None:
        self.parts += piece
        if self.mask is None or not mask:
            self.mask = mask
        elif self.mask:
            self.mask |= mask


Filled = tuple[list[Contents], list[Bundle]]
"""Packets, and the bundles that are complete with them."""


class Queue:
    """Bundles of one session that wait for the token."""

    __slots__ = ("session", "priority", "bundles", "sent_bytes", "sent_pieces", "cuts", "mask")

    def __init__(self, session: int, priority: int) -> None:
        self.session = session
        self.priority = priority
        self.bundles: deque[Bundle] = deque()
        self.sent_bytes = 0
        self.sent_pieces = 0
        self.cuts: list[int] = []
        """How large the pieces of the first bundle are that ever left in this configuration."""

        self.mask = 0
        """Whom the pieces under way are for."""

    def cut_before(self) -> int | None:
        """How large the next piece was when it left before; None if it never did."""
        return self.cuts[self.sent_pieces] if self.sent_pieces < len(self.cuts) else None


class PacketBuilder:
    """Fills at most `packets_max` packets; reliable and unreliable pieces never share one."""

    def __init__(self, packet_bytes: int, packets_max: int) -> None:
        self._room = packet_bytes - PACKET_OVERHEAD
        self._packets_max = packets_max
        self._open: dict[bool, tuple[Contents, int]] = {}
        self.packets: list[Contents] = []

    def room(self, reliable: bool) -> int | None:
        """Bytes left in the open packet of that sort; None if no further one is allowed."""
        if reliable not in self._open:
            if len(self.packets) >= self._packets_max:
                return None
            self.packets.append(Contents(reliable))
            self._open[reliable] = (self.packets[-1], self._room)
        return self._open[reliable][1]

    def fresh(self, reliable: bool) -> bool:
        return not self._open[reliable][0].parts

    def add(self, reliable: bool, piece: Parts, mask: int) -> None:
        contents, room = self._open[reliable]
        contents.add(piece, mask)
        self._open[reliable] = (contents, room - len(piece[0]) - len(piece[1]))

    def close(self, reliable: bool) -> None:
        del self._open[reliable]


class Way(Protocol):
    """Where a bundle goes, decided by the ring."""

    crossing_bytes: int
    """What a packet grows on its way to other segments."""

    def mask(self, bundle: Bundle) -> int:
        """The segments it is for; 0: all."""
        ...

    def far_bytes(self, bundle: Bundle) -> int:
        """Room for what several segments need to know of it."""
        ...

    def stamp(self, bundle: Bundle) -> None:
        """Give it its place."""
        ...


class Outbox:
    """Everything this daemon has accepted and not yet stamped."""

    def __init__(self, packet_bytes: int, large_bundles_max: int, visit_bundles_max: int) -> None:
        self._packet_bytes = packet_bytes
        self._whole_bytes = packet_bytes - PACKET_OVERHEAD - PIECE_OVERHEAD - ORDER_OVERHEAD
        self._large_bundles_max = large_bundles_max
        self._visit_bundles_max = visit_bundles_max
        self._large_under_way = 0
        self._state: Queue | None = None
        self._queues: dict[int, Queue] = {}
        self._turns: dict[int, deque[Queue]] = {}
        self._priorities: list[int] = []
        self._own_number = 0

    def push(self, bundle: Bundle, priority: int) -> None:
        queue = self._queues.get(bundle.session)
        if queue is None:
            queue = self._queues[bundle.session] = Queue(bundle.session, priority)
            self._take_turn(queue)
        queue.bundles.append(bundle)

    def put_state(self, *bundles: Bundle) -> None:
        """Group state that this daemon tells in the new configuration; goes before everything.
        It is numbered on leaving: an unsent one is replaced at the next configuration."""
        self._state = Queue(OWN_SESSION, 0)
        self._state.bundles.extend(bundles)

    def state_waiting(self) -> bool:
        return self._state is not None

    def waiting(self, settled: bool, may: May | None = None) -> bool:
        """Is there anything that a token would take?"""
        if self._state is not None:
            return True
        if not settled or not self._queues:
            return False
        return may is None or self._next(may) is not None

    def coming_changes(self) -> list[Bundle]:
        """Group changes that nothing but changes stands before in their queues."""
        found = []
        for queue in self._queues.values():
            for bundle in queue.bundles:
                if not bundle.control:
                    break
                found.append(bundle)
        return found

    def restart(self) -> None:
        """A new configuration: what was partly sent is sent again from its beginning."""
        self._state = None
        self._large_under_way = 0
        intents = self._queues.pop(OWN_SESSION, None)
        if intents is not None:
            self._turns[OWN_PRIORITY].remove(intents)
        for queue in self._queues.values():
            queue.sent_bytes = queue.sent_pieces = 0
            queue.cuts.clear()

    def fill_state(self, packets_max: int, way: Way) -> Filled:
        """Packets with nothing but the group state."""
        return self._fill(packets_max, way, lambda: self._state)

    def fill(self, packets_max: int, may: May, way: Way) -> Filled:
        """Packets for this visit, with what may be sent."""
        return self._fill(packets_max, way, lambda: self._next(may))

    def _fill(self, packets_max: int, way: Way, choose: Callable[[], Queue | None]) -> Filled:
        builder = PacketBuilder(self._packet_bytes - way.crossing_bytes, packets_max)
        finished: list[Bundle] = []
        while len(finished) < self._visit_bundles_max and (queue := choose()):
            bundle = queue.bundles[0]
            self._set_mask(queue, way.mask(bundle))
            reliable = bundle.service != Service.UNRELIABLE
            room = builder.room(reliable)
            if room is None:
                break
            left = len(bundle.body) - queue.sent_bytes
            cut = room - PIECE_OVERHEAD
            before = queue.cut_before()
            if before is not None and before <= cut:
                builder.add(reliable, self._piece(queue, bundle, before, 0), queue.mask)
                self._rotate(queue)
            elif before is not None:
                builder.close(reliable)
            elif left + ORDER_OVERHEAD + way.far_bytes(bundle) <= cut:
                way.stamp(bundle)
                builder.add(reliable, self._piece(queue, bundle, left, LAST), queue.mask)
                finished.append(bundle)
                self._finish(queue)
            elif left and (
                builder.fresh(reliable) or (cut >= CUT_BYTES_MIN and self._may_cut(queue))
            ):
                # If the rest fits but its place in the order does not, the last piece is empty.
                builder.add(reliable, self._piece(queue, bundle, min(cut, left), 0), queue.mask)
                self._rotate(queue)
            else:
                assert not builder.fresh(reliable), "a place in the order fits a packet"
                builder.close(reliable)
        return [packet for packet in builder.packets if packet.parts], finished

    def _set_mask(self, queue: Queue, mask: int) -> None:
        """Who got the first pieces gets the last. If others want it by now, it begins again, in
        the same pieces: some have those, and put old and new together."""
        if not queue.sent_pieces:
            queue.mask = mask
        elif queue.mask and (not mask or mask & ~queue.mask):
            self._large_under_way -= 1
            queue.sent_bytes = queue.sent_pieces = 0
            queue.mask = mask

    def _next(self, may: May) -> Queue | None:
        for priority in self._priorities:
            for queue in self._turns[priority]:
                head = queue.bundles[0]
                if not may(head):
                    continue
                if len(head.body) <= self._whole_bytes or self._may_cut(queue):
                    return queue
        return None

    def _may_cut(self, queue: Queue) -> bool:
        """Receivers keep what is under way: not too many at a time."""
        return bool(queue.sent_pieces) or self._large_under_way < self._large_bundles_max

    def _piece(self, queue: Queue, bundle: Bundle, size: int, last: int) -> Parts:
        start = queue.sent_bytes
        if bundle.session == OWN_SESSION and not start:
            self._own_number += 1
            bundle.number = self._own_number
        flags = last | CONTROL * bundle.control | SELF_DISCARD * bundle.self_discard
        piece = Piece(
            flags,
            bundle.service,
            bundle.session,
            bundle.number,
            bundle.count,
            queue.sent_pieces,
            b"",
            bundle.sequence,
            bundle.stamp,
            bundle.previous,
            bundle.early_past,
            bundle.order_past,
            bundle.after_change,
            bundle.early_pasts,
            bundle.reach,
        )
        self._large_under_way += not last and not queue.sent_pieces
        if not last and queue.cut_before() is None:
            queue.cuts.append(size)
        queue.sent_bytes += size
        queue.sent_pieces += 1
        body = bundle.body
        data = body if size == len(body) else memoryview(body)[start : start + size]
        return pack_piece_head(piece, size), data

    def _finish(self, queue: Queue) -> None:
        self._large_under_way -= queue.sent_pieces > 1
        queue.bundles.popleft()
        queue.sent_bytes = queue.sent_pieces = 0
        queue.cuts.clear()
        if queue.bundles:
            self._rotate(queue)
        elif queue is self._state:
            self._state = None
        else:
            del self._queues[queue.session]
            self._turns[queue.priority].remove(queue)

    def _take_turn(self, queue: Queue) -> None:
        if queue.priority not in self._turns:
            self._turns[queue.priority] = deque()
            self._priorities = sorted(self._turns, reverse=True)
        self._turns[queue.priority].append(queue)

    def _rotate(self, queue: Queue) -> None:
        if queue is not self._state:
            turns = self._turns[queue.priority]
            turns.remove(queue)
            turns.append(queue)
