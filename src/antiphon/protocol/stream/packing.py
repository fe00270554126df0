"""From queues of bundles to full packets: packing, cutting, turns, priorities.

Small bundles share a packet and large ones are cut (SP-100 to SP-102). A bundle gets its
place in the order with its last piece, so a large one holds nobody up while it travels.
Sessions take turns piece by piece; a higher priority goes first, but only here, in the
queue (SP-07, SP-93): order among one session's bundles is never touched.
"""

from collections import deque
from collections.abc import Callable

from antiphon.core.bundle import Bundle
from antiphon.core.service import Service
from antiphon.wire.ring import (
    CONTROL,
    LAST,
    ORDER_OVERHEAD,
    PACKET_OVERHEAD,
    PIECE_OVERHEAD,
    SELF_DISCARD,
    Piece,
    pack_piece,
)

CUT_BYTES_MIN = 64
"""A smaller rest of a packet is left empty rather than filled with a crumb."""

OWN_SESSION = 0
"""The daemon itself, when it tells its group state: before all clients."""

Stamp = Callable[[Bundle], None]
Filled = tuple[list[tuple[bool, list[bytes]]], list[Bundle]]
"""(reliable, pieces) per packet, and the bundles that are complete with them."""


class Queue:
    """Bundles of one session that wait for the token."""

    __slots__ = ("session", "priority", "bundles", "sent_bytes", "sent_pieces")

    def __init__(self, session: int, priority: int) -> None:
        self.session = session
        self.priority = priority
        self.bundles: deque[Bundle] = deque()
        self.sent_bytes = 0
        self.sent_pieces = 0


class PacketBuilder:
    """Fills at most `packets_max` packets; reliable and unreliable pieces never share one."""

    def __init__(self, packet_bytes: int, packets_max: int) -> None:
        self._room = packet_bytes - PACKET_OVERHEAD
        self._packets_max = packets_max
        self._open: dict[bool, tuple[list[bytes], int]] = {}
        self.packets: list[tuple[bool, list[bytes]]] = []

    def room(self, reliable: bool) -> int | None:
        """Bytes left in the open packet of that sort; None if no further one is allowed."""
        if reliable not in self._open:
            if len(self.packets) >= self._packets_max:
                return None
            pieces: list[bytes] = []
            self.packets.append((reliable, pieces))
            self._open[reliable] = (pieces, self._room)
        return self._open[reliable][1]

    def fresh(self, reliable: bool) -> bool:
        return not self._open[reliable][0]

    def add(self, reliable: bool, piece: bytes) -> None:
        pieces, room = self._open[reliable]
        pieces.append(piece)
        self._open[reliable] = (pieces, room - len(piece))

    def close(self, reliable: bool) -> None:
        del self._open[reliable]


class Outbox:
    """Everything this daemon has accepted and not yet stamped."""

    def __init__(self, packet_bytes: int, large_bundles_max: int) -> None:
        self._packet_bytes = packet_bytes
        self._whole_bytes = packet_bytes - PACKET_OVERHEAD - PIECE_OVERHEAD - ORDER_OVERHEAD
        self._large_bundles_max = large_bundles_max
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

    def put_state(self, bundle: Bundle) -> None:
        """Group state of this daemon for the new configuration; goes before everything. It
        is numbered on leaving: an unsent one is replaced at the next configuration."""
        self._state = Queue(OWN_SESSION, 0)
        self._state.bundles.append(bundle)

    def state_waiting(self) -> bool:
        return self._state is not None

    def waiting(self, settled: bool) -> bool:
        """Is there anything that a token would take?"""
        return self._state is not None or (settled and bool(self._queues))

    def restart(self) -> None:
        """A new configuration: what was partly sent is sent again from its beginning."""
        self._state = None
        self._large_under_way = 0
        for queue in self._queues.values():
            queue.sent_bytes = queue.sent_pieces = 0

    def fill_state(self, packets_max: int, stamp: Stamp) -> Filled:
        """Packets with nothing but the group state."""
        return self._fill(packets_max, stamp, lambda changed: self._state)

    def fill(self, packets_max: int, messages: bool, stamp: Stamp) -> Filled:
        """Packets for this visit. Without `messages`, and after a group change of our own,
        only group changes: a message is sent in the views its daemon has delivered (D2)."""
        return self._fill(packets_max, stamp, lambda changed: self._next(messages and not changed))

    def _fill(
        self, packets_max: int, stamp: Stamp, choose: Callable[[bool], Queue | None]
    ) -> Filled:
        builder = PacketBuilder(self._packet_bytes, packets_max)
        finished: list[Bundle] = []
        changed = False
        while queue := choose(changed):
            bundle = queue.bundles[0]
            reliable = bundle.service != Service.UNRELIABLE
            room = builder.room(reliable)
            if room is None:
                break
            left = len(bundle.body) - queue.sent_bytes
            cut = room - PIECE_OVERHEAD
            if left + ORDER_OVERHEAD <= cut:
                stamp(bundle)
                changed |= bundle.control
                builder.add(reliable, self._piece(queue, bundle, left, LAST))
                finished.append(bundle)
                self._finish(queue)
            elif builder.fresh(reliable) or (cut >= CUT_BYTES_MIN and self._may_cut(queue)):
                # If the rest fits but its place in the order does not, the last piece is empty.
                builder.add(reliable, self._piece(queue, bundle, min(cut, left), 0))
                self._rotate(queue)
            else:
                builder.close(reliable)
        return [packet for packet in builder.packets if packet[1]], finished

    def _next(self, messages: bool) -> Queue | None:
        for priority in self._priorities:
            for queue in self._turns[priority]:
                head = queue.bundles[0]
                if not messages and not head.control:
                    continue
                if len(head.body) <= self._whole_bytes or self._may_cut(queue):
                    return queue
        return None

    def _may_cut(self, queue: Queue) -> bool:
        """Receivers keep what is under way: not too many at a time."""
        return bool(queue.sent_pieces) or self._large_under_way < self._large_bundles_max

    def _piece(self, queue: Queue, bundle: Bundle, size: int, last: int) -> bytes:
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
            bundle.body[start : start + size],
            bundle.sequence,
            bundle.stamp,
            bundle.previous,
            bundle.early_past,
            bundle.order_past,
            bundle.after_change,
        )
        self._large_under_way += not last and not queue.sent_pieces
        queue.sent_bytes += size
        queue.sent_pieces += 1
        return pack_piece(piece)

    def _finish(self, queue: Queue) -> None:
        self._large_under_way -= queue.sent_pieces > 1
        queue.bundles.popleft()
        queue.sent_bytes = queue.sent_pieces = 0
        if queue is self._state:
            self._state = None
        elif queue.bundles:
            self._rotate(queue)
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
