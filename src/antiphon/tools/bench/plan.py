"""What a bench is to do, as its processes are told it."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from antiphon.core.errors import UsageError
from antiphon.core.ids import GroupName
from antiphon.core.service import Service
from antiphon.tools.bench.payload import HEAD
from antiphon.wire.spread.words import NAME_BYTES, SAFE_REST_BYTES_MAX

API = ("asyncio", "blocking")
CLIENTS = ("native", "spread")
"""Of those that `Plan.client` names: the protocols that our daemons speak."""

Role = Literal["sender", "receiver", "idle"]
SPREAD_BYTES_MAX = SAFE_REST_BYTES_MAX - NAME_BYTES


TURN_NS = 1_000_000_000
ACTIVE_NS = 750_000_000
"""Of a turn its flood sends for so long; the rest is for what is under way."""


class Plan(msgspec.Struct, frozen=True):
    senders: int = 1
    receivers: int = 1
    idle: int = 0
    """Sessions beside these, each in a group of its own to which nobody sends."""

    per_process: int = 1
    """Receiving or idle sessions in one process; each sender has one of its own."""

    groups: int = 1
    """Used in turn; every receiver is in all of them."""

    size: int = 100
    services: tuple[Service, ...] = (Service.AGREED,)
    """Given to the senders in turn."""

    seconds: float = 10.0
    warmup: float = 1.0
    """Seconds under load before the measured ones."""

    rate: float = 0.0
    """Messages a second of each sender, with an echo; 0: as fast as flow control permits."""

    pace: float = 0.0
    """The same without an echo, for rates at which a sleep is longer than messages are apart."""

    api: Literal["asyncio", "blocking"] = "asyncio"
    client: Literal["native", "spread", "nats", "zeromq"] = "native"
    """The protocol that senders and receivers speak."""

    await_each: bool = False
    """The loop turns after every message that is sent."""

    receive_each: bool = False
    """Receivers take messages one by one, instead of as many as came together."""

    turns: int = 1
    """So many floods of asyncio clients take turns; the clock tells whose it is."""

    turn: int = 0
    """Which of them this is."""

    records: str = ""
    """Directory in which the clients record; empty: they do not."""

    prefix: str = "bench"
    """Of the group names: two benches in one cluster do not meet."""

    def __post_init__(self) -> None:
        if self.size < HEAD.size:
            raise UsageError(
                "bad_size", f"{self.size} bytes hold no stamp", f"use {HEAD.size} or more"
            )
        if self.await_each and self.api != "asyncio":
            raise UsageError(
                "bad_choice", "a blocking client awaits nothing", "use --await-each with asyncio"
            )
        if self.receive_each and self.api != "asyncio":
            raise UsageError(
                "bad_choice",
                "a blocking client receives each anyway",
                "use --receive-each with asyncio",
            )
        if self.pace and self.api != "asyncio":
            raise UsageError("bad_choice", "a blocking client has no pace", "use asyncio")
        if self.api != "asyncio" and (self.per_process > 1 or self.idle):
            raise UsageError(
                "bad_choice", "a blocking client has one session", "use asyncio for several"
            )
        if self.client == "spread" and self.size > SPREAD_BYTES_MAX:
            raise UsageError(
                "too_long",
                f"{self.size} bytes are too many for Spread's protocol",
                f"use at most {SPREAD_BYTES_MAX}",
            )

    @property
    def group_names(self) -> list[GroupName]:
        return [f"{self.prefix}-{number}" for number in range(self.groups)]

    @property
    def round_ns(self) -> int:
        """From one turn of this flood to its next."""
        return self.turns * TURN_NS

    def turn_began(self, now: int) -> int:
        """The last one of this flood."""
        return now - (now - self.turn * TURN_NS) % self.round_ns

    def service_of(self, sender: int) -> Service:
        return self.services[sender % len(self.services)]

    @property
    def has_one_order(self) -> bool:
        """Whether all receivers get everything in the same order."""
        return min(self.services) >= Service.AGREED


class Post(msgspec.Struct, frozen=True):
    """What one session has to do, and where."""

    plan: Plan
    role: Role
    number: int
    """Among those of its role, from 0."""

    address: str

    @property
    def name(self) -> str:
        return f"{self.role}{self.number}"

    @property
    def short_name(self) -> str:
        """For protocols whose names are short."""
        return f"{self.role[0]}{self.number}"

    @property
    def own_group(self) -> GroupName:
        """Of an idle session."""
        return f"{self.plan.prefix}-{self.name}"


def name_of(posts: Sequence[Post]) -> str:
    """Of the process that has them."""
    first, last = posts[0].name, posts[-1].name
    return first if len(posts) == 1 else f"{first} to {last}"


class Window(msgspec.Struct, frozen=True):
    """When it is measured, in nanoseconds of the clock that all processes of a host share."""

    begin: int
    end: int
    stop: int
    """Senders go on for a moment, so that the end of the window is under load too."""


class Sent(msgspec.Struct, frozen=True, tag=True):
    """A sender's report."""

    messages: int
    round_trips: list[int] = []
    """Nanoseconds."""


class Received(msgspec.Struct, frozen=True, tag=True):
    """A receiver's report."""

    messages: int
    """In the window."""

    nanoseconds: int
    """Of the window, from message to message."""

    all_messages: int
    lost: int
    """Unreliable ones that did not come."""

    order: int
    """Equal at two receivers that got everything in the same order."""

    latencies: list[int]
    """Nanoseconds."""

    rates: list[float] = []
    """Messages a second in each turn of the window, if floods took turns."""


class Idled(msgspec.Struct, frozen=True, tag=True):
    """An idle session's report: it stayed to the end, and no message came to it."""


class Failed(msgspec.Struct, frozen=True, tag=True):
    """A process that could not go on says why."""

    why: str
    parted: bool = False
    """The daemons lost each other; all else that it saw was right."""


Done = Sent | Received | Idled
Report = Done | Failed
