"""A simulated host: the node that runs on it, its clocks, its disk, and what waits for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

from antiphon.core.effects import Received
from antiphon.core.ids import DaemonId, Incarnation, Member
from antiphon.core.machine import NEVER, Instant
from antiphon.sim.disk import Disk
from antiphon.wire.packet import Tag

if TYPE_CHECKING:
    from antiphon.sim.link import Link
    from antiphon.sim.session import Session

WALL_START_MS = 1_700_000_000_000
"""What the wall clocks show, more or less, when a world begins."""

WALL_SPREAD_MS = 5_000
MONOTONIC_SPREAD_US = 1 << 40
INBOX_PACKETS = 2_000
"""What the kernel keeps for a process that does not read."""

TOKEN = int(Tag.TOKEN)


class SimulatedNode(Protocol):
    """What a world needs of a node; protocol/node.py has it."""

    def start(self, now: Instant) -> Sequence[Any]: ...

    def handle(self, now: Instant, event: Any) -> Sequence[Any]: ...

    def leave(self) -> Sequence[Any]: ...

    def deadline(self) -> Instant: ...


class Host:
    """State only; the world acts on it. `held` is true while no event may go in."""

    __slots__ = (
        "id",
        "node",
        "member",
        "life",
        "dead",
        "offset",
        "wall_offset_ms",
        "disk",
        "rng",
        "wake",
        "last_wake",
        "spins",
        "held",
        "paused",
        "paused_until",
        "busy",
        "cost",
        "token_first",
        "tokens",
        "packets",
        "poured",
        "requests",
        "link_to",
        "broadcast",
        "sample",
        "oldest",
        "sessions",
        "slots",
        "next_session",
    )

    def __init__(self, id: DaemonId, disk: Disk, rng: Random) -> None:
        self.id = id
        self.node: SimulatedNode | None = None
        self.member = Member(id, Incarnation(0))
        self.life = 0
        self.dead = False  # crashed for good
        self.offset = rng.randrange(MONOTONIC_SPREAD_US)  # node's clock minus the world's
        self.wall_offset_ms = rng.randrange(WALL_SPREAD_MS)
        self.disk = disk
        self.rng = rng
        self.last_wake = 0
        self.spins = 0
        self.held = False
        self.paused = False
        self.busy = False
        self.cost = 0  # microseconds that an event takes
        self.link_to: dict[DaemonId, Link] = {}
        self.broadcast: list[Link] = []
        self.sample = b""  # the last packet that left, for those who inject variations
        self.oldest = b""  # the first one ever
        self.paused_until = 0
        self.slots: dict[int, Session] = {}
        self.clear()

    def clear(self) -> None:
        """What does not survive a crash."""
        self.node = None
        self.token_first = False
        self.tokens: deque[Received] = deque()
        self.packets: deque[Received] = deque()
        self.poured: deque[Callable[[], None]] = deque()  # of pipes: they lose nothing
        self.requests: deque[Callable[[], None]] = deque()
        self.sessions: dict[int, Session] = {}
        self.next_session = 1
        self.wake = NEVER  # by the node's clock: the one wake-up that counts
        self.paused = self.busy = self.held = False

    def new_member(self, now: int) -> Member:
        """The id of the next life, by the wall clock."""
        boot_ms = WALL_START_MS + self.wall_offset_ms + now // 1_000
        return Member(self.id, Incarnation(boot_ms << 20 | self.rng.getrandbits(20)))

    def keep(self, received: Received) -> None:
        """A packet came while the node could not read; beyond the limit it is lost."""
        if len(self.tokens) + len(self.packets) >= INBOX_PACKETS:
            return
        is_token = len(received.packet) > 1 and received.packet[1] == TOKEN
        (self.tokens if is_token else self.packets).append(received)

    def take_kept(self) -> Received | None:
        """What the node reads next: data before the token unless it wished otherwise."""
        first, second = self.packets, self.tokens
        if self.token_first:
            first, second = second, first
        if first:
            return first.popleft()
        return second.popleft() if second else None
